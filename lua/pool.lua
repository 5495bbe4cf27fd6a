-- pool: so many units until a deadline, spent in place of the limit's own counter.
-- A later deadline than the stored one opens a new pool; an earlier one goes on
-- with what is stored. After its deadline it refuses everything.
-- Value: "<deadline, ms> <spent>".
local function open(k,cost,p)
  local units,till=num(A[p]),num(A[p+1])
  if not units or units>=MAX or not till or till<1 or till>TOP/1000 then return nil end
  local c={k=k,cost=cost,units=units,deadline=till,till=till,spent=0,over=till<=ms,dirty=false}
  local s=call('GET',k)
  if s then
    local t,n=string.match(s,'^(%d+) (%d+)$')
    t,n=num(t),num(n)
    if not t or not n then return nil,'the stored value is not a pool' end
    if t>ms and t>=till then c.till,c.spent=t,n end
  end
  c.ok=not c.over and c.spent+max(cost,1)<=units
  return c
end

local function save(c)
  if c.over then return end
  call('SET',c.k,string.format('%.0f %.0f',c.till,c.spent),'PX',string.format('%.0f',c.till-ms+SKEW))
end

local function take(c,cost)
  if c.over then return end
  c.spent=min(c.spent+cost,MAX-1)
  save(c)
end

local function give(c,cost)
  if c.over or c.spent==0 then return end
  c.spent=max(c.spent-cost,0)
  save(c)
end

local function refuse() end

local function show(c)
  if c.over then return 0,0,0,1 end
  local left=c.deadline-ms
  return c.spent,max(c.units-c.spent,0),c.spent>0 and left or 0,left
end

return {args=2,open=open,take=take,give=give,show=show,save=save,refuse=refuse}
