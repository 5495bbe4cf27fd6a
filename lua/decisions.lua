-- One decision, or, behind '+' in the place of the request's id, one after another
-- for several requests, each introduced by its numbers of keys and of arguments.
if A[2]~='+' then
  return short(now,ms,A[2],1,#KEYS,3,#A+1) or general(now,ms,A[2],1,#KEYS,3,#A+1)
end

-- A key that several requests name has an entry in V, and in E, so that its value is
-- read once and written once: the key k; the value s as far as it is known; whether
-- that is new; and px, how many ms it is to live, where that changes.
local V,E,named=nil,{},{}
for i=1,#KEYS do
  local k=KEYS[i]
  if not named[k] then
    named[k]=true
  else
    V=V or {}
    if not V[k] then
      V[k]={k=k,new=false}
      E[#E+1]=V[k]
    end
  end
end

-- Writes what is new. What isn't known any more is read again.
local function store(forget)
  for i=1,#E do
    local e=E[i]
    if e.new then
      if e.px then call('SET',e.k,e.s,'PX',e.px) else call('SETRANGE',e.k,'0',e.s) end
      e.new,e.px=false,nil
    end
    if forget then e.s=nil end
  end
end

-- Takes note of what short.lua would write.
local put
local changed=false
if V then
  put=function(e,x,y,px,x2,y2)
    if px then e.s,e.px=y,px else e.s=string.sub(e.s,1,x)..y..string.sub(e.s,x+#y+1) end
    e.new,changed=true,true
    if y2 then -- in a part that may not be known
      store()
      call('SETRANGE',e.k,x2,y2)
      e.s=nil
    end
  end
end

-- Goes through the requests from the one at p on, whose first key is the given one,
-- and appends the replies to R's n; without R it only looks where it ends. Next
-- always has what it would go on with, and C the requests whose charges V has.
local function through(now,ms,short,general,R,n,p,first,Next,C)
  local A,num=ARGV,tonumber
  local a,b,keys,size
  local stop=#A
  while p<stop do
    if A[p]~=a or A[p+1]~=b then -- most are like the one before
      a,b=A[p],A[p+1]
      keys,size=num(a),num(b)
      if not keys or not size or keys<0 or size<0 or keys%1~=0 or size%1~=0 then return end
    end
    local from,key=p+3,first
    p=from+size
    first=key+keys
    if R then
      Next[1],Next[2]=p,first
      local r=short(now,ms,A[from-1],key,first-1,from,p,V,put)
      if not r then
        if V then store(true) end
        r=general(now,ms,A[from-1],key,first-1,from,p)
      end
      n=n+1
      R[n]=r
      if changed then
        changed=false
        C[#C+1]=n
      end
    end
  end
  return p,first
end

-- Up to version 6 Redis raises a text, which says where before it says what.
local function failed(err)
  return {err=type(err)=='table' and err.err or string.match(tostring(err),'%u+ .*') or 'ERR '..tostring(err)}
end

local p,first=through(now,ms,short,general,nil,0,3,1)
if #A<3 or p~=#A+1 or first~=#KEYS+1 then return redis.error_reply('ERR sluice: wrong number of arguments') end
local R,Next,C={},{3,1},{}
repeat
  local good,err=pcall(through,now,ms,short,general,R,#R,Next[1],Next[2],Next,C)
  -- What is wrong with one request's counters is an answer to that one alone.
  if not good then R[#R+1]=failed(err) end
until good
if V then
  local good,err=pcall(store)
  if not good then
    for i=1,#C do R[C[i]]=failed(err) end
  end
end
return R
