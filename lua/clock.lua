-- The call's one reading of the clock.
--@use shared
local now -- us
if A[1]=='' then
  local t=call('TIME')
  now=t[1]*1000000+t[2]
else
  now=num(A[1])
  if not now or now<0 or now%1~=0 or now>TOP then return redis.error_reply('ERR sluice: bad clock') end
end
local ms=(now-now%1000)/1000
