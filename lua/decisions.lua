-- One decision, or, behind '+' in the place of the request's id, one after another
-- for several requests, each introduced by its numbers of keys and of arguments.
if A[2]~='+' then
  return short(now,ms,A[2],1,#KEYS,3,#A+1) or general(now,ms,A[2],1,#KEYS,3,#A+1)
end
-- Goes through the requests from the one at p on, whose first key is the given one,
-- and appends the replies to R's n; without R it only looks where it ends. Next
-- always has what it would go on with.
local function through(now,ms,short,general,R,n,p,first,Next)
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
      n=n+1
      R[n]=short(now,ms,A[from-1],key,first-1,from,p) or general(now,ms,A[from-1],key,first-1,from,p)
    end
  end
  return p,first
end
local p,first=through(now,ms,short,general,nil,0,3,1)
if #A<3 or p~=#A+1 or first~=#KEYS+1 then return redis.error_reply('ERR sluice: wrong number of arguments') end
local R,Next={},{3,1}
repeat
  local good,err=pcall(through,now,ms,short,general,R,#R,Next[1],Next[2],Next)
  -- What is wrong with one request's counters is an answer to that one alone. Up to
  -- version 6 Redis raises a text, which says where before it says what.
  if not good then
    R[#R+1]={err=type(err)=='table' and err.err or string.match(tostring(err),'%u+ .*') or 'ERR '..tostring(err)}
  end
until good
return R
