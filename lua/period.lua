-- Shared by fixed_window and calendar: one count for the period [start, stop).
-- Value: "<start ms> <stop ms> <count>".
local function open_period(k,cost,lim,start,stop)
  local c={k=k,cost=cost,lim=lim,start=start,stop=stop,count=0,ok=false,dirty=false}
  local s=call('GET',k)
  if s then
    local a,b,m=string.match(s,'^(%d+) (%d+) (%d+)$')
    if not m then return nil,'the stored value is not a count' end
    a,b,m=tonumber(a),tonumber(b),tonumber(m)
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
  if c.count==0 then
    call('DEL',c.k)
  else
    call('SET',c.k,string.format('%.0f %.0f %.0f',c.start,c.stop,c.count),'PX',max(c.stop-ms,0)+SKEW)
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

local function show_period(c)
  local left=c.stop-ms
  return c.count,max(c.lim-c.count,0),c.count>0 and left or 0,max(c.cost,1)>c.lim and -1 or left
end
