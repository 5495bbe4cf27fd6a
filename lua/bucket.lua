-- Shared by token_bucket and leaky_bucket: a level that rises by `unit` for each
-- unit of cost and falls by `leak` a tick of `res` us, 1 or 1000. All are whole
-- numbers, so that nothing drifts. For a token bucket the level is what is
-- missing.
--
-- Value: tick (7 bytes), level at that tick (7), when the key expires, ms (7),
-- unit (7), leak (7), res (2).

local function open_bucket(k,cost,p)
  local cap,unit,leak,res=num(A[p]),num(A[p+1]),num(A[p+2]),num(A[p+3])
  if not cap or not unit or not leak or not res or unit<1 or leak<1
    or res~=1 and res~=1000 or cap*unit>TOP then return nil end
  local c={k=k,cost=cost,cap=cap,unit=unit,leak=leak,res=res,at=ceil(now/res),level=0,
    ok=false,dirty=false,delay=0,wait=-1,bounded=false,brim=cap*unit}
  local s=call('GET',k)
  if s then
    if #s~=37 then return nil,'the stored value is not a bucket' end
    local $vars7(t),$vars7(v),_,_,_,_,_,_,_,$vars7(u),$vars7(l),$vars2(r)=byte(s,1,37)
    local t,level,u,l,r=$num7(t),$num7(v),$num7(u),$num7(l),$num2(r)
    if level>TOP or u<1 or l<1 or r~=1 and r~=1000 then return nil,'the stored value is not a bucket' end
    local at=floor(now/r)
    if at<t then
      -- After a small step back time stands still, after a large one the level
      -- falls on from now.
      if ceil(t*r/1000)-ms<=SKEW then at=t else c.dirty=true end
    else
      level=max(level-(at-t)*l,0)
    end
    if level>0 and (u~=unit or l~=leak or r~=res) then
      level=min(ceil(level*unit/u),TOP)
      t,at=ceil(at*r/res),floor(now/res)
      if at<t then at=t else level=max(level-(at-t)*leak,0) end
      c.dirty=true
    end
    if level>0 then c.at,c.level=at,level else c.dirty=false end
  end
  return c
end

local function save_bucket(c)
  if c.level==0 then
    call('DEL',c.k)
    return
  end
  local at,level,unit,leak,res=c.at,c.level,c.unit,c.leak,c.res
  local need=ceil(ceil(level/leak)*res/1000)+SKEW
  local px=need+floor(need/8)+10000 -- some more, so that the short way seldom renews it
  local expiry=ms+px
  call('SET',c.k,char($bytes7(at),$bytes7(level),$bytes7(expiry),$bytes7(unit),$bytes7(leak),$bytes2(res)),
    'PX',string.format('%.0f',px))
end

local function take_bucket(c,cost)
  c.level=c.level+min(cost,floor((TOP-c.level)/c.unit))*c.unit
  save_bucket(c)
end

-- A refused request that counts fills the bucket to its brim.
local function refuse_bucket(c)
  c.level=max(c.level,c.brim)
  save_bucket(c)
end

local function give_bucket(c,cost)
  if c.level==0 then return end
  c.level=max(c.level-cost*c.unit,0)
  save_bucket(c)
end

-- What the others' units were at since leaks first; as long as those last, the
-- units that are undone only stand on top. After that they leak themselves, and
-- only the rest is there to be returned.
local function undo_bucket(c,cost,since,was)
  local leaked=max(ceil(now/c.res)-floor(since/c.res),0)
  local below=max(was-1-cost,0)*c.unit
  local rest=cost*c.unit
  if leaked>below/c.leak then rest=rest-min(leaked*c.leak-below,rest) end
  if rest<=0 or c.level==0 then return end
  c.level=max(c.level-rest,0)
  save_bucket(c)
end

-- ms until the level has fallen to target.
local function fall(c,target)
  local ticks,ahead=ceil((c.level-target)/c.leak),c.at*c.res-now
  if c.res==1000 then return max(ticks+ceil(ahead/1000),0) end
  return max(ceil((ticks+ahead)/1000),0)
end

local function show_bucket(c)
  local level,unit,cap=c.level,c.unit,c.cap
  local current=ceil(level/unit)
  local remaining=max(cap-current,0)
  local cost=max(c.cost,1)
  local target,room=(cap-remaining-1)*unit,(cap-cost)*unit
  if c.wait>=0 then
    -- A queue: what it takes is bounded by how long the last one would wait.
    local slots=level>c.wait and 0 or floor((c.wait-level)/unit)+1
    if c.bounded then
      remaining=min(remaining,slots)
      target=min(c.wait-remaining*unit,(cap-remaining-1)*unit)
      room=min(c.wait,room)
    else
      remaining=slots
      target=c.wait-remaining*unit
      room=c.wait
    end
  end
  local reset,retry=0,-1
  if level>0 then reset=fall(c,max(target,0)) end
  if cost<=cap then retry=fall(c,room) end
  return current,remaining,reset,retry
end
--@short
-- The level of a bucket (bucket.lua) whose numbers didn't change; its arguments
-- begin at A[at].
local cap,unit,leak,res=num(A[at]),num(A[at+1]),num(A[at+2]),num(A[at+3])
if not cap or not unit or not leak or not res or cap<0 or cap%1~=0 or unit<1 or unit>MAX or unit%1~=0
  or leak<1 or leak>MAX or leak%1~=0 or res~=1 and res~=1000 or cap*unit>TOP then return end
local tick,level,expiry=(now+-now%res)/res,0,0
if s==nil then s=call('GET',k) end
if s then
  local $vars7(t),$vars7(v),$vars7(e),$vars7(u),$vars7(l),$vars2(r)=string.byte(s,1,37)
  if #s~=37 or $num7(u)~=unit or $num7(l)~=leak or $num2(r)~=res then return end
  local stored=$num7(t)
  local past=(now-now%res)/res-stored
  if past<0 then
    -- Time stands still; a step back of more than a second needs care.
    if past*res<-1000000 then return end
    past=0
  end
  local left=$num7(v)-past*leak
  if left>0 then tick,level=stored+past,left end
  if own then expiry=$num7(e) end
end
local after=level+cost*unit
if after<=cap*unit then
  level=after
  retry=0
  y=string.char($bytes7(tick),$bytes7(level))
  -- In ticks of a ms as they are: times 1000 they could be no whole number any more.
  local need=(level+-level%leak)/leak
  if res==1 then need=(need+-need%1000)/1000 end
  need=need+SKEW
  if expiry>=ms+need then
    x='0'
  else
    px=need+(need-need%8)/8+10000
    expiry=ms+px
    y=y..string.char($bytes7(expiry),$bytes7(unit),$bytes7(leak),$bytes2(res))
  end
end
current=(level+-level%unit)/unit
remaining=cap>current and cap-current or 0
-- ms until the level has fallen to room for one unit more, and for the cost.
local ahead,fall=tick*res-now,0
if res==1000 then ahead=(ahead+-ahead%1000)/1000 end
if level>0 then
  local to=(cap-remaining-1)*unit
  fall=level-(to>0 and to or 0)
  fall=(fall+-fall%leak)/leak+ahead
  if res==1 then fall=(fall+-fall%1000)/1000 end
end
reset=fall>0 and fall or 0
if not y then
  retry=-1
  if cost<=cap then
    fall=after-cap*unit
    fall=(fall+-fall%leak)/leak+ahead
    if res==1 then fall=(fall+-fall%1000)/1000 end
    retry=fall>0 and fall or 0
  end
end
