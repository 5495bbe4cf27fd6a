-- penalty: a guard beside another counter. While its time runs it refuses; its
-- time starts when the counter it guards refuses, and isn't prolonged meanwhile.
-- Asked with cost 0 only. A charge starts it by hand, a refund ends it.
-- Value: "<until, ms>".
local function open(k,cost,p)
  local len,which=num(A[p]),num(A[p+1])
  if not len or not which or len<1 or len>WINDOW or which<1 or which>last-first+1 then return nil end
  local op=tonumber(A[p-2])
  if cost>0 and op~=2 and op~=3 then return nil,'a penalty has no cost' end
  local c={k=k,len=len,which=which,cost=cost,ok=true,dirty=false,till=0}
  local s=call('GET',k)
  if s then
    local till=num(s)
    if not till then return nil,'the stored value is not a time' end
    if till>ms+len+SKEW then
      till,c.dirty=ceil(now/1000)+len,true
    end
    if till>ms then c.till,c.ok=till,false end
  end
  return c
end

local function save(c)
  call('SET',c.k,string.format('%.0f',c.till),'PX',max(c.till-ms,1)+SKEW)
end

local function take(c)
  c.till=ceil(now/1000)+c.len
  save(c)
end

local function give(c)
  call('DEL',c.k)
  c.till=0
end

local function guard(c,S)
  if c.ok and not S[c.which].ok then
    take(c)
    c.ok=false
  end
end

local function show(c)
  if c.till<=ms then return 0,1,0,0 end
  return 1,0,c.till-ms,c.till-ms
end

return {args=2,open=open,take=take,give=give,show=show,save=save,guard=guard}
