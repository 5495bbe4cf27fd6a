-- sliding_counter: counts of sub-windows. Those that lie in the window count
-- whole, the one that the window's edge cuts counts by the part that is still
-- in it, rounded up. So it acts as an exact window whose length is right to one
-- sub-window.
--
-- A sub-window is `len` us, whole steps of `unit` us, about 4096 of them: the
-- part is counted in steps so that all products stay below 2^53.
-- Value: "<len> <unit> <s of the last change of len, or 0> <newest sub-window>
-- <its count> <the count before> ...", newest first.
local HOLD=60 -- s between two changes to shorter sub-windows
local MOST=1099511627776 -- 2^40, the most that a sub-window counts

-- Finds the sub-window that the window's edge cuts, and how many of its steps are
-- inside. The one that time is in counts whole, even where it is longer than a
-- window made shorter.
local function place(c)
  local from=c.time-c.win
  c.edge=floor(from/c.len)
  c.part=ceil(((c.edge+1)*c.len-from)/c.unit)
  local at=floor(c.time/c.len)
  if c.edge>=at then
    c.edge,c.part=at-1,0
  end
end

local function tally(c)
  local total=0
  for i=1,#c.counts do
    local n=c.counts[i]
    if c.newest-i+1==c.edge then n=ceil(n*c.part/(c.len/c.unit)) end
    total=total+n
  end
  c.total=total
end

local function open(k,cost,p)
  local lim,win,n=num(A[p]),num(A[p+1]),num(A[p+2])
  if not lim or not win or not n or lim>MOST or win<1 or win>WINDOW or n<1 or n>100 then return nil end
  local unit=ceil(win*1000/(n*4096))
  local len=ceil(win*1000/(n*unit))*unit
  local c={k=k,cost=cost,lim=lim,win=win*1000,ok=false,dirty=false,
    len=len,unit=unit,since=0,newest=0,time=now,counts={},edge=0,part=0,total=0}
  local s=call('GET',k)
  if s then
    local v={}
    for x in string.gmatch(s,'%d+') do v[#v+1]=tonumber(x) end
    if #v<5 or v[1]<1 or v[2]<1 then return nil,'the stored value is not a row of counts' end
    local l,newest,counts=v[1],v[4],{}
    for i=5,#v do counts[i-4]=v[i] end
    local back=false
    if newest*l>now then
      -- After a small step back time stands still, after a large one all counts
      -- move back, too.
      back=newest*l-now<=SKEW*1000
      if back then
        c.time=newest*l
      else
        newest=floor(now/l)
        c.dirty=true
      end
    end
    if not back and (l<len or l>len and math.abs(floor(ms/1000)-v[3])>=HOLD) then
      -- Each count moves to the new sub-window that its old one ends in.
      local moved,top={},floor(min((newest+1)*l-1,now)/len)
      for i=1,#counts do
        local j=top-floor(min((newest-i+2)*l-1,now)/len)+1
        if j>n+2 then break end
        for x=#moved+1,j do moved[x]=0 end
        moved[j]=min(moved[j]+counts[i],MOST)
      end
      newest,counts=top,moved
      c.since,c.dirty=floor(ms/1000),true
    else
      c.len,c.unit,c.since=l,v[2],v[3]
    end
    c.newest,c.counts=newest,counts
    place(c)
    for i=#counts,max(newest-c.edge+2,1),-1 do counts[i]=nil end
    tally(c)
  end
  if c.total==0 then
    c.counts,c.len,c.unit,c.since,c.time,c.dirty={},len,unit,0,now,false
    place(c)
  end
  c.ok=c.total+max(cost,1)<=lim
  return c
end

local function save(c)
  local n=#c.counts
  while n>0 and c.counts[n]==0 do
    c.counts[n]=nil
    n=n-1
  end
  if n==0 then
    call('DEL',c.k)
    return
  end
  local keep=(c.newest+1)*c.len+c.win-now
  call('SET',c.k,string.format('%.0f %.0f %.0f %.0f ',c.len,c.unit,c.since,c.newest)..table.concat(c.counts,' '),
    'PX',string.format('%.0f',ceil(keep/1000)+SKEW))
end

local function take(c,cost)
  local counts=c.counts
  local at=floor(c.time/c.len)
  if counts[1] then
    for i=1,at-c.newest do table.insert(counts,1,0) end
  else
    counts[1]=0
  end
  c.newest=at
  cost=min(cost,MOST-counts[1])
  counts[1]=counts[1]+cost
  c.total=c.total+cost
  save(c)
end

local function give(c,cost)
  if c.total==0 then return end
  for i=1,#c.counts do
    local m=min(cost,c.counts[i])
    c.counts[i]=c.counts[i]-m
    cost=cost-m
  end
  tally(c)
  save(c)
end

-- Of the sub-window that since lies in, or older ones.
local function undo(c,cost,since)
  if c.total==0 then return end
  for i=max(c.newest-floor(since/c.len)+1,1),#c.counts do
    local m=min(cost,c.counts[i])
    c.counts[i]=c.counts[i]-m
    cost=cost-m
  end
  tally(c)
  save(c)
end

-- ms until the total is x, when nothing else comes.
local function falls(c,x)
  local counts,newest,steps=c.counts,c.newest,c.len/c.unit
  local whole=0
  for i=1,min(newest-c.edge,#counts) do whole=whole+counts[i] end
  for j=max(c.edge,newest-#counts),newest do
    if whole<=x then
      local n,p=counts[newest-j+1] or 0,steps
      if n>0 then p=min(floor((x-whole)*steps/n),steps) end
      local start=(j+1)*c.len
      return max(ceil((start+max(c.win-p*c.unit,0)-now)/1000),0)
    end
    whole=whole-(counts[newest-j] or 0)
  end
  return 0
end

local function show(c)
  local total,lim,cost=c.total,c.lim,max(c.cost,1)
  local reset,retry=0,0
  if total>0 then reset=falls(c,max(min(total,lim)-1,0)) end
  if not c.ok and total+cost>lim then
    retry=cost>lim and -1 or falls(c,lim-cost)
  end
  return total,max(lim-total,0),reset,retry
end

return {args=3,open=open,take=take,give=give,undo=undo,show=show,save=save}
