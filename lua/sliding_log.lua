-- sliding_log, storage compact: an exact log of hits whose stamps are rounded
-- up to the end of their tick, as (tick, count) buckets in one string.
--
-- A hit at t has the stamp ceil(t/tick)*tick and counts while now < stamp +
-- window: it never leaves early, and leaves at most one tick late.
--
--   bytes 1-4   tick, ms            24-25 label of the newest bucket
--         5-6   cap: 0 = linear,    26-27 position of the oldest closed bucket
--               else ring size      28-29 how many closed buckets
--         7-12  expiry, ms          30-31 newest stamp - oldest stamp, ticks
--         13-17 when the tick was   32-37 count of the newest (open) bucket
--               last changed, s     38-44 count of all
--         18-23 newest stamp, ticks 45-   closed buckets: label (2), count (6)
--
-- A bucket's label is its stamp modulo 65536, counted from the newest one's, so
-- that all stamps shift at once by changing the newest. Short logs are read and
-- written whole. Longer ones are rings that change in place: a call touches the
-- header, one bucket when a new tick starts, a few when old ones expire.
local HEAD,LINEAR=44,26
local HUGE=math.huge
local HOLD=60 -- s between two changes of the tick to a shorter one

local function bucket(label,count)
  return char($bytes2(label),$bytes6(count))
end

-- At most m closed buckets from position pos on, as stored; a ring's end cuts
-- them short.
local function piece(c,pos,m)
  if c.cap==0 then return sub(c.s,HEAD+1+8*pos,HEAD+8*(pos+m)) end
  return call('GETRANGE',c.k,HEAD+8*pos,HEAD+8*min(pos+m,c.cap)-1)
end

-- Walks from the oldest bucket on, past those that expired by tick cut, until
-- it has seen `units`. Returns the stamp where it stopped, the units before it,
-- its position and the number of closed buckets from there on.
local function walk(c,cut,units)
  local pos,n,gone,m=c.head,c.n,0,8
  while n>0 do
    local e=piece(c,pos,min(m,n))
    if e=='' then break end
    for i=1,#e,8 do
      local $vars2(l),$vars6(b)=byte(e,i,i+7)
      local count=$num6(b)
      local stamp=c.last-(c.label-$num2(l))%65536
      if stamp>cut or gone+count>=units then return stamp,gone,pos,n end
      gone=gone+count
      pos=pos+1
      n=n-1
    end
    if pos==c.cap then pos=0 end
    m=min(m*2,128)
  end
  return c.last,gone,pos,0
end

-- All closed buckets as one string, oldest first.
local function body(c)
  local s,pos,n='',c.head,c.n
  while n>0 do
    local e=piece(c,pos,n)
    if e=='' then break end
    s=s..e
    n=n-#e/8
    pos=0
  end
  return s
end

-- Brings the closed buckets into memory, as a linear log.
local function straighten(c,s)
  c.s,c.cap,c.head,c.n=string.rep(' ',HEAD)..s,0,0,#s/8
end

local function clear(c,tick)
  c.tick,c.cap,c.since,c.last,c.label,c.head,c.n,c.oldest,c.count,c.total=tick,0,0,0,0,0,0,0,0,0
  c.s=''
end

-- Changes the tick: rounds every stamp up to one of the new ticks, merges those
-- that meet, drops those that expired by cut. top is the newest stamp after it.
local function retick(c,tick,top,cut)
  local s,out,n=body(c),{},0
  local stamp,count,total,oldest=nil,0,0,nil
  for i=1,#s+1,8 do
    local at,m=top,c.count
    if i<=#s then
      local $vars2(l),$vars6(b)=byte(s,i,i+7)
      at=min(top,ceil((c.last-(c.label-$num2(l))%65536)*c.tick/tick))
      m=$num6(b)
    end
    if at>cut then
      if at~=stamp then
        if stamp then
          n=n+1
          out[n]=bucket(stamp%65536,count)
        end
        oldest=oldest or at
        stamp,count=at,0
      end
      m=min(m,FULL-count)
      count,total=count+m,total+m
    end
  end
  if total==0 then return clear(c,tick) end
  straighten(c,table.concat(out))
  c.tick,c.since,c.last,c.label,c.oldest,c.count,c.total=tick,floor(ms/1000),top,top%65536,oldest,count,total
end

local function open(k,cost,p)
  local lim,win=num(A[p]),num(A[p+1])
  if not lim or not win or lim>FULL or win<1 or win>WINDOW then return nil end
  local want=ceil(win/1000)
  local s=call('GETRANGE',k,0,HEAD+8*LINEAR-1)
  local c
  if s=='' then
    c={k=k,cost=cost,lim=lim,win=win,ok=false,dirty=false,moved=false,at=ceil(now/(want*1000)),
      tick=want,cap=0,expiry=0,since=0,last=0,label=0,head=0,n=0,oldest=0,count=0,total=0,s=s}
  else
    local $vars4(t),$vars2(c),$vars6(e),$vars5(s),$vars6(l),$vars2(b),
      $vars2(h),$vars2(n),$vars2(o),$vars6(m),$vars7(z)=byte(s,1,HEAD)
    local tick=t1 and $num4(t) or 0
    if tick==0 or not z7 then return nil,'the stored value is not a log' end
    local last=$num6(l)
    c={k=k,cost=cost,lim=lim,win=win,ok=false,dirty=false,moved=false,at=0,
      tick=tick,
      cap=$num2(c),
      expiry=$num6(e),
      since=$num5(s),
      last=last,
      label=$num2(b),
      head=$num2(h),
      n=$num2(n),
      oldest=last-$num2(o),
      count=$num6(m),
      total=$num7(z),
      s=s}
    local at=ceil(now/(tick*1000))
    local from,back=ms,false -- the time that expiry goes by
    if at<c.last then
      -- Clocks of several gateways differ, and a server's is set right. After a
      -- small step back time stands still at the newest hit's; after a large one
      -- the whole log moves, so that its newest hit is now.
      local newest=(c.last-1)*tick -- the newest hit was later than this
      if newest-ms<=SKEW then
        at,from,back=c.last,newest,true
      else
        c.oldest=c.oldest-c.last+at
        c.last=at
        c.dirty,c.moved=true,true
      end
    end
    if not back and (tick<want or tick>want and math.abs(floor(ms/1000)-c.since)>=HOLD) then
      at=ceil(now/(want*1000))
      retick(c,want,min(at,ceil(c.last*tick/want)),floor((ms-win)/want))
      c.dirty=true
    else
      local cut=floor((from-win)/tick)
      if c.last<=cut then
        clear(c,want)
        at=ceil(now/(want*1000))
      elseif c.oldest<=cut then
        local stamp,gone,pos,n=walk(c,cut,HUGE)
        c.oldest,c.total,c.head,c.n=stamp,c.total-gone,pos,n
        if c.cap>0 then c.head=pos%c.cap end
        c.moved=true
      end
    end
    c.at=at
  end
  c.ok=c.total+max(cost,1)<=lim
  return c
end

-- Stores c; closed is a bucket that was closed just now, not yet among c.n.
local function put(c,closed)
  local k,n=c.k,c.n
  if closed then c.n=n+1 end
  if c.total==0 then
    call('DEL',k)
    c.s=''
    return
  end
  local keep=c.win+c.tick
  local px=keep+floor(c.win/8)+10000
  local inplace=c.cap>0 and c.n>8 and c.n<c.cap
  local stale=not inplace or c.dirty or c.expiry<ms+keep+SKEW or c.expiry>ms+px
  if stale then c.expiry=ms+px end
  local s
  if not inplace then
    s=body({k=k,s=c.s,cap=c.cap,head=c.head,n=n})..(closed or '')
    local cap=0
    if c.n>LINEAR then
      cap=c.n<100 and 120 or c.n<450 and 504 or 1008 -- a window has at most 1002
      s=s..string.rep('\0',8*cap-#s)
    end
    c.cap,c.head=cap,0
  end
  local count,total=c.count,c.total
  local counts=char($bytes6(count),$bytes7(total))
  if inplace and not stale and not closed and not c.moved then
    call('SETRANGE',k,31,counts)
    return
  end
  local since,off,head,last,label,expiry=c.since,c.last-c.oldest,c.head,c.last,c.label,c.expiry
  n=c.n
  local rest=char($bytes6(expiry),$bytes5(since),$bytes6(last),$bytes2(label),$bytes2(head),$bytes2(n),$bytes2(off))..counts
  if inplace then
    if closed then call('SETRANGE',k,HEAD+8*((head+n-1)%c.cap),closed) end
    call('SETRANGE',k,6,rest)
    if stale then call('PEXPIRE',k,px) end
    return
  end
  local tick,cap=c.tick,c.cap
  c.s=char($bytes4(tick),$bytes2(cap))..rest..s
  call('SET',k,c.s,'PX',px)
end

local function take(c,cost)
  local closed
  local at=c.at
  if c.total==0 then
    c.last,c.label,c.oldest,c.count=at,0,at,0
  elseif at>c.last then
    closed=bucket(c.label,c.count)
    c.label=(c.label+at-c.last)%65536
    c.last,c.count=at,0
  end
  cost=min(cost,FULL-c.count,MAX-1-c.total)
  c.count=c.count+cost
  c.total=c.total+cost
  put(c,closed)
end

local function give(c,cost)
  cost=min(cost,c.total)
  if cost==0 and not c.dirty then return end
  c.total=c.total-cost
  if cost>=c.count and c.n>0 then straighten(c,body(c)) end
  while cost>=c.count and c.n>0 do
    cost=cost-c.count
    c.n=c.n-1
    local $vars2(l),$vars6(b)=byte(c.s,HEAD+1+8*c.n,HEAD+8+8*c.n)
    local label=$num2(l)
    c.last=c.last-(c.label-label)%65536
    c.label=label
    c.count=$num6(b)
  end
  c.count=c.count-cost
  put(c)
end

-- Younger hits keep their stamps, or they would leave too early; where the hit
-- itself isn't found, because time stood still for it, older ones go.
local function undo(c,cost,since)
  local stamp=ceil(since/(c.tick*1000))
  if c.last<=stamp then return give(c,cost) end
  local s=body(c)
  local keep,label,last='',c.label,c.last
  for i=#s/8,1,-1 do
    local $vars2(l),$vars6(b)=byte(s,8*i-7,8*i)
    local m=$num6(b)
    if last-(label-$num2(l))%65536<=stamp then
      local taken=min(cost,m)
      c.total=c.total-taken
      cost=cost-taken
      if taken<m then keep=bucket($num2(l),m-taken)..keep end
      if cost==0 then
        keep=sub(s,1,8*i-8)..keep
        break
      end
    else
      keep=sub(s,8*i-7,8*i)..keep
    end
  end
  straighten(c,keep)
  c.oldest=last
  if c.n>0 then
    local $vars2(l)=byte(keep,1,2)
    c.oldest=last-(label-$num2(l))%65536
  end
  put(c)
end

-- ms until k units have left.
local function until_gone(c,k)
  local stamp=c.oldest
  if k>1 then stamp=walk(c,HUGE,k) end
  return stamp*c.tick+c.win-ms
end

local function show(c)
  local total,lim=c.total,c.lim
  local reset,retry=0,0
  if total>0 then reset=until_gone(c,min(total,max(total-lim,0)+1)) end
  local cost=max(c.cost,1)
  if not c.ok and total+cost>lim then
    retry=cost>lim and -1 or until_gone(c,total+cost-lim)
  end
  return total,max(lim-total,0),reset,retry
end

return {args=2,open=open,take=take,give=give,undo=undo,show=show,save=put}
--@short
-- A hit on a log (sliding_log.lua) whose tick stays and whose ring keeps its size,
-- after no clock stepped back.
local lim,win=num(A[p+3]),num(A[p+4])
if not lim or not win or lim<0 or lim>FULL or lim%1~=0 or win<1 or win>WINDOW or win%1~=0 then return end
p=p+5
local tick=(win+-win%1000)/1000
local at=(now+-now%(tick*1000))/(tick*1000)
local cut=(ms-win-(ms-win)%tick)/tick
local keep=win+tick
local long=keep+(win-win%8)/8+10000 -- ms to keep it when that is renewed
local total,oldest=0,at
if s==nil then s=call('GETRANGE',k,'0','251') end
if s~='' then
  local $vars4(t),$vars2(c),$vars6(e),_,_,_,_,_,$vars6(l),$vars2(b),
    $vars2(h),$vars2(n),$vars2(o),$vars6(m),$vars7(z)=string.byte(s,1,44)
  if not z7 or $num4(t)~=tick then return end
  local last=$num6(l)
  if at<last then return end
  if last>cut then
    local cap,expiry,label,head,closed,count=$num2(c),$num6(e),$num2(b),$num2(h),$num2(n),$num6(m)
    local moved=false
    total,oldest=$num7(z),last-$num2(o)
    if oldest<=cut then
      -- Past what expired, as far as a ring's first few buckets.
      local part,j,few=s,45+8*head,closed
      if cap>0 then
        few=math.min(8,closed,cap-head)
        part,j=call('GETRANGE',k,44+8*head,43+8*(head+few)),1
      end
      moved,oldest=true,nil
      for _=1,few do
        local $vars2(b),$vars6(m)=string.byte(part,j,j+7)
        if not m6 then return end
        local stamp=last-(label-$num2(b))%65536
        if stamp>cut then
          oldest=stamp
          break
        end
        total=total-$num6(m)
        head,closed,j=head+1,closed-1,j+8
      end
      if not oldest then
        if closed>0 then return end -- a ring's end, too
        oldest=last
      end
    end
    if total<1 then return end
    if total+cost<=lim then
      total=total+cost
      local stale=expiry<ms+keep+SKEW or expiry>ms+long or cap==0 and not own
      if stale and cap>0 then return end
      if at==last and not moved and not stale then
        count=count+cost
        x,y='31',string.char($bytes6(count),$bytes7(total))
      else
        local size,add=closed,''
        if at>last then
          size=size+1
          add=string.char($bytes2(label),$bytes6(count))
          label=(label+at-last)%65536
          last,count=at,0
        end
        count=count+cost
        if cap==0 then
          -- A short log is written from its start on; what is left behind its
          -- last bucket counts for nothing.
          if size>26 then return end
          add=string.sub(s,45+8*head,44+8*(head+closed))..add
          head=0
        else
          if size<9 or size>=cap then return end
          if add~='' then x2,y2=44+8*((head+closed)%cap),add end
          add=''
        end
        local off=last-oldest
        x='17'
        y=string.char($bytes6(last),$bytes2(label),$bytes2(head),$bytes2(size),$bytes2(off),$bytes6(count),$bytes7(total))..add
        if stale then
          px=long
          expiry=ms+long
          y=string.sub(s,1,6)..string.char($bytes6(expiry))..string.sub(s,13,17)..y
        end
      end
    end
  end
end
if total==0 then -- the first hit
  if cost>lim then return end
  total=cost
  px=long
  local expiry=ms+long
  y=string.char($bytes4(tick),0,0,$bytes6(expiry),0,0,0,0,0,$bytes6(at),0,0,0,0,0,0,0,0,$bytes6(cost),$bytes7(cost))
end
current,remaining,reset,retry=total,lim-total,oldest*tick+win-ms,0
if not y then
  -- When more than the oldest hit must leave, that needs a walk.
  if total>lim or total+cost~=lim+1 then return end
  retry=reset
end
