-- Shared by fixed_window and calendar: one count for the period [start, stop).
-- Value: start (7 bytes), stop (7), count (7); times in ms.
local function open_period(k,cost,lim,start,stop)
  local c={k=k,cost=cost,lim=lim,start=start,stop=stop,count=0,ok=false,dirty=false}
  local s=call('GET',k)
  if s then
    if #s~=21 then return nil,'the stored value is not a count' end
    local $vars7(a),$vars7(b),$vars7(m)=byte(s,1,21)
    local a,b,m=$num7(a),$num7(b),$num7(m)
    if a==start and b==stop then
      c.count=m
    elseif a>ms and a-ms<=SKEW then -- another clock is there already
      c.start,c.stop,c.count=a,b,m
    elseif a>ms or b>start then
      -- The clock stepped far back, or the periods changed: all that was counted
      -- may lie in this period.
      c.count,c.dirty=m,true
    end
  end
  c.ok=c.count+max(cost,1)<=lim
  return c
end

local function save_period(c)
  local start,stop,count=c.start,c.stop,c.count
  if count==0 then
    call('DEL',c.k)
  else
    call('SET',c.k,char($bytes7(start),$bytes7(stop),$bytes7(count)),'PX',max(stop-ms,0)+SKEW)
  end
end

local function take_period(c,cost)
  c.count=min(c.count+cost,MAX-1)
  save_period(c)
end

local function give_period(c,cost)
  if c.count==0 then return end
  c.count=max(c.count-cost,0)
  save_period(c)
end

local function undo_period(c,cost,since)
  if c.start*1000<=since and since<c.stop*1000 then give_period(c,cost) end
end

local function show_period(c)
  local left=c.stop-ms
  return c.count,max(c.lim-c.count,0),c.count>0 and left or 0,max(c.cost,1)>c.lim and -1 or left
end
--@short
-- The count of a period (period.lua), where no clock stepped back.
if s==nil then s=call('GET',k) end
local count,known=0,false
if s then
  local $vars7(a),$vars7(b),$vars7(c)=string.byte(s,1,21)
  if #s~=21 then return end
  local from,to=$num7(a),$num7(b)
  if from==start and to==stop then
    count,known=$num7(c),true
  elseif from>start or to>start then
    return
  end
end
reset=stop-ms
if count+cost<=lim then
  count=count+cost
  retry=0
  if known and own then
    -- It already expires at the moment that a write now would choose.
    x,y='14',string.char($bytes7(count))
  else
    y=string.char($bytes7(start),$bytes7(stop),$bytes7(count))
    px=reset+SKEW
  end
else
  retry=cost>lim and -1 or reset
  if count==0 then reset=0 end
end
current=count
remaining=lim>count and lim-count or 0
