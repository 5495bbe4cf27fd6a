-- What every algorithm uses: the call's one clock reading and a few helpers.
--
-- An algorithm's file appends one table to ALG:
--   args          how many arguments it reads after the cost
--   open(k,cost,p) reads key k and the arguments from ARGV[p] on, and writes
--                 nothing. Returns the counter: a table whose ok says whether
--                 there is room for max(cost, 1). Returns nil, and perhaps a
--                 message, when an argument or the stored value is wrong.
--   take(c,cost)  charges cost >= 1, room or not, and stores it
--   give(c,cost)  returns cost >= 1 units, the youngest first, and stores it
--   show(c)       current, remaining, reset_ms, retry_after_ms of c as it is
--                 now; retry_after_ms counts only when the request is refused,
--                 and delay_ms in c.delay when it is admitted
--   save(c)       stores c as it is; called when nothing was charged and
--                 open set c.dirty (the clock stepped back, the window changed)
local call,floor,ceil,min,max=redis.call,math.floor,math.ceil,math.min,math.max
local byte,char,sub=string.byte,string.char,string.sub
local A=ARGV
local MAX=9007199254740992 -- 2^53: beyond it a double skips whole numbers
local WINDOW=2199023255552 -- 2^41 ms, the longest window
local SKEW=3000 -- ms that a clock may step back before a log follows it
local ALG={}

local function num(s)
  local x=tonumber(s)
  if x and x>=0 and x<=MAX and x%1==0 then return x end
end

local now -- us
if A[1]=='' then
  local t=call('TIME')
  now=t[1]*1000000+t[2]
else
  now=num(A[1])
  if not now or now>MAX/2 then return redis.error_reply('ERR sluice: bad clock') end
end
local ms=floor(now/1000)
