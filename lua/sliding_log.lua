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
local FULL=281474976710655 -- 2^48 - 1, the most that a bucket holds
local HOLD=60 -- s between two changes of the tick to a shorter one

local function u48(x)
  return char(x/1099511627776,x/4294967296%256,x/16777216%256,x/65536%256,x/256%256,x%256)
end

local function bucket(label,count)
  return char(label/256,label%256,count/1099511627776,count/4294967296%256,
    count/16777216%256,count/65536%256,count/256%256,count%256)
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
      local l1,l2,b1,b2,b3,b4,b5,b6=byte(e,i,i+7)
      local count=((((b1*256+b2)*256+b3)*256+b4)*256+b5)*256+b6
      local stamp=c.last-(c.label-l1*256-l2)%65536
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
      local l1,l2,b1,b2,b3,b4,b5,b6=byte(s,i,i+7)
      at=min(top,ceil((c.last-(c.label-l1*256-l2)%65536)*c.tick/tick))
      m=((((b1*256+b2)*256+b3)*256+b4)*256+b5)*256+b6
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
    local t1,t2,t3,t4,c1,c2,e1,e2,e3,e4,e5,e6,s1,s2,s3,s4,s5,l1,l2,l3,l4,l5,l6,b1,b2,
      h1,h2,n1,n2,o1,o2,m1,m2,m3,m4,m5,m6,z1,z2,z3,z4,z5,z6,z7=byte(s,1,HEAD)
    local tick=t1 and ((t1*256+t2)*256+t3)*256+t4 or 0
    if tick==0 or not z7 then return nil,'the stored value is not a log' end
    local last=((((l1*256+l2)*256+l3)*256+l4)*256+l5)*256+l6
    c={k=k,cost=cost,lim=lim,win=win,ok=false,dirty=false,moved=false,at=0,
      tick=tick,
      cap=c1*256+c2,
      expiry=((((e1*256+e2)*256+e3)*256+e4)*256+e5)*256+e6,
      since=(((s1*256+s2)*256+s3)*256+s4)*256+s5,
      last=last,
      label=b1*256+b2,
      head=h1*256+h2,
      n=n1*256+n2,
      oldest=last-o1*256-o2,
      count=((((m1*256+m2)*256+m3)*256+m4)*256+m5)*256+m6,
      total=(((((z1*256+z2)*256+z3)*256+z4)*256+z5)*256+z6)*256+z7,
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
  local stale=not inplace or c.expiry<ms+keep or c.expiry>ms+px
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
  local total=c.total
  local counts=u48(c.count)..char(total/281474976710656)..u48(total%281474976710656)
  if inplace and not stale and not closed and not c.moved then
    call('SETRANGE',k,31,counts)
    return
  end
  local since,off,head=c.since,c.last-c.oldest,c.head
  local places=char(since/4294967296,since/16777216%256,since/65536%256,since/256%256,since%256)
    ..u48(c.last)..char(c.label/256,c.label%256,head/256,head%256,c.n/256,c.n%256,off/256,off%256)
  if inplace then
    if closed then call('SETRANGE',k,HEAD+8*((head+n)%c.cap),closed) end
    call('SETRANGE',k,6,u48(c.expiry)..places..counts)
    if stale then call('PEXPIRE',k,px) end
    return
  end
  local tick=c.tick
  c.s=char(tick/16777216,tick/65536%256,tick/256%256,tick%256,c.cap/256,c.cap%256)
    ..u48(c.expiry)..places..counts..s
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
    local l1,l2,b1,b2,b3,b4,b5,b6=byte(c.s,HEAD+1+8*c.n,HEAD+8+8*c.n)
    local label=l1*256+l2
    c.last=c.last-(c.label-label)%65536
    c.label=label
    c.count=((((b1*256+b2)*256+b3)*256+b4)*256+b5)*256+b6
  end
  c.count=c.count-cost
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

ALG[#ALG+1]={args=2,open=open,take=take,give=give,show=show,save=put}
