-- Opens every counter, decides, then charges: nothing is written before all
-- arguments and all stored values were read and found good.
local n,begin,ok=last-first+1,p,1
local S,G,seen={},{},n>1 and {}
for i=1,n do
  local a,op,cost=num(A[p]),num(A[p+1]),num(A[p+2])
  local g=a and (G[a] or algorithm(a))
  if not g or not op or op>6 or not cost then
    return redis.error_reply('ERR sluice: counter '..i..': bad algorithm, op or cost')
  end
  local k=KEYS[first+i-1]
  if seen then
    if seen[k] then return redis.error_reply('ERR sluice: counter '..i..': its key was named before') end
    seen[k]=true
  end
  local c,err=g.open(k,cost,p+3)
  if not c then return redis.error_reply('ERR sluice: counter '..i..': '..(err or 'bad argument')) end
  if not c.ok and (op==0 or op==4) then ok=0 end
  S[i],G[a]=c,g
  p=p+3+g.args
  if op==6 then
    if not num(A[p]) or not num(A[p+1]) then
      return redis.error_reply('ERR sluice: counter '..i..': bad time or state of what is undone')
    end
    p=p+2
  end
end
if n<1 or p~=stop then return redis.error_reply('ERR sluice: wrong number of arguments') end

local R={now,ok,0,0,0,0,0}
p=begin
for i=1,n do
  local c,g,op=S[i],G[A[p]+0],A[p+1]+0
  local cost=c.cost
  p=p+3+g.args
  if op==6 then p=p+2 end
  if g.guard and (op<2 or op==4 or op==5) then g.guard(c,S) end
  local admitted=c.ok
  if op==6 then
    local undo=g.undo or g.give
    if cost>0 then undo(c,cost,A[p-2]+0,A[p-1]+0) elseif c.dirty then g.save(c) end
  elseif cost>0 and (op==2 or op~=3 and admitted and ok==1) then
    g.take(c,cost)
  elseif cost>0 and op>3 and not admitted then
    local refuse=g.refuse or g.take
    refuse(c,cost)
  elseif op==3 and cost>0 then
    g.give(c,cost)
  elseif c.dirty then
    g.save(c)
  end
  local current,remaining,reset,retry=g.show(c)
  if op==2 or op==3 or op==6 then
    admitted,c.delay=true,0
  end
  local j=i*5
  R[j-2]=admitted and 1 or 0
  R[j-1]=current
  R[j]=remaining
  R[j+1]=reset
  R[j+2]=admitted and (c.delay or 0) or retry
end
return R
