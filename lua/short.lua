-- The short way, for what nearly every decision is: some counters that decide on a
-- cost above 0, on stored values that need no care. It comes to the very results
-- of the general way, which it leaves all else to: before its first write, any
-- line here may `return` nothing.
--
-- It is one run of statements, because in Redis a script's functions are made
-- anew by each call, and making those of one algorithm costs as much as four
-- commands. Likewise x-x%1 stands for floor(x), x+-x%1 for ceil(x), and numbers
-- that a command takes are written as strings where they can be.
--
-- V has the values that later requests of the call need, too: see decisions.lua.
--@use shared
local n,ok=last-first+1,1
if n<1 then return end
local R=n==1 and {now,1,0,0,0,0,0} or n==3 and {now,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0} or {now,1}
-- Under Redis's own clock a key's expiry is as right as the time, and needn't be
-- renewed as long as it is late enough.
local own=A[1]==''
local W=n>1 and {} -- what is to be written for each counter, when all admit
for i=first,last do
  local k,g,op,cost=KEYS[i],A[p],A[p+1],A[p+2]
  cost=cost=='1' and 1 or num(cost)
  if op~='0' and op~='1' or not cost or cost<1 or cost>MAX or cost%1~=0 then
    return
  end
  for j=first,i-1 do if KEYS[j]==k then return end end
  -- Each algorithm moves p on and sets these. To be written: y at offset x of
  -- the value, or as the whole value for px ms; and y2 at x2. Nothing when refused.
  -- They read s, unless it is known.
  local current,remaining,reset,retry
  local x,y,px,x2,y2
  local e=V and V[k]
  local s
  if e then s=e.s end
  --@shortcuts
  if e then e.s=s end
  if i==last and p~=stop then return end
  if not y and op=='0' then ok=0 end
  i=i-first+1
  local j=i*5
  R[j-2]=y and 1 or 0
  R[j-1],R[j],R[j+1],R[j+2]=current,remaining,reset,retry
  if W then
    W[i]=y and {k,x,y,px,x2,y2,cost,e}
  elseif y then
    if e then
      put(e,x,y,px,x2,y2)
    else
      if px then call('SET',k,y,'PX',px) else call('SETRANGE',k,x,y) end
      if y2 then call('SETRANGE',k,x2,y2) end
    end
  end
end
if W then
  for i=1,n do
    local w=W[i]
    if w and ok==1 and w[8] then
      put(w[8],w[2],w[3],w[4],w[5],w[6])
    elseif w and ok==1 then
      if w[4] then call('SET',w[1],w[3],'PX',w[4]) else call('SETRANGE',w[1],w[2],w[3]) end
      if w[6] then call('SETRANGE',w[1],w[5],w[6]) end
    elseif w then
      -- Another refused: the figures are those without the charge, of which only
      -- an empty counter's reset differs otherwise.
      local j=i*5
      R[j-1],R[j]=R[j-1]-w[7],R[j]+w[7]
      if R[j-1]==0 then R[j+1]=0 end
    end
  end
end
R[2]=ok
return R
