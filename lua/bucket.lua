-- Shared by token_bucket and leaky_bucket: a level that rises by `unit` for each
-- unit of cost and falls by `leak` a tick of `res` us, 1 or 1000. All are whole
-- numbers, so that nothing drifts. For a token bucket the level is what is
-- missing.
-- Value: "<tick> <level at that tick> <unit> <leak> <res>".
local TOP=4503599627370496 -- 2^52, the highest level

local function open_bucket(k,cost,p)
  local cap,unit,leak,res=num(A[p]),num(A[p+1]),num(A[p+2]),num(A[p+3])
  if not cap or not unit or not leak or not res or unit<1 or leak<1
    or res~=1 and res~=1000 or cap*unit>TOP then return nil end
  local c={k=k,cost=cost,cap=cap,unit=unit,leak=leak,res=res,at=ceil(now/res),level=0,
    ok=false,dirty=false,delay=0,wait=-1,bounded=false,brim=cap*unit}
  local s=call('GET',k)
  if s then
    local t,level,u,l,r=string.match(s,'^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    t,level,u,l,r=num(t),num(level),num(u),num(l),num(r)
    if not t or not level or not u or not l or u<1 or l<1 or r~=1 and r~=1000 then
      return nil,'the stored value is not a bucket'
    end
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
  call('SET',c.k,string.format('%.0f %.0f %.0f %.0f %.0f',c.at,c.level,c.unit,c.leak,c.res),
    'PX',string.format('%.0f',ceil(ceil(c.level/c.leak)*c.res/1000)+SKEW))
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
