-- What every algorithm uses, and how an algorithm's file is called.
--
-- The file ends by returning one table:
--   args          how many arguments it reads after the cost
--   open(k,cost,p) reads key k and the arguments from ARGV[p] on, and writes
--                 nothing. Returns the counter: a table whose ok says whether
--                 there is room for max(cost, 1). Returns nil, and perhaps a
--                 message, when an argument or the stored value is wrong.
--   take(c,cost)  charges cost >= 1, room or not, and stores it
--   give(c,cost)  returns cost >= 1 units, the youngest first, and stores it
--   undo(c,cost,since,was) returns cost >= 1 units that a call at since, us,
--                 charged and left the counter at `was` units, as far as they still
--                 count: nothing that others were charged. give where it is nil.
--   show(c)       current, remaining, reset_ms, retry_after_ms of c as it is
--                 now; retry_after_ms counts only when the request is refused,
--                 and delay_ms in c.delay when it is admitted
--   save(c)       stores c as it is; called when nothing was charged and
--                 open set c.dirty (the clock stepped back, the window changed)
--@use shared
local floor,ceil,min,max=math.floor,math.ceil,math.min,math.max
local byte,char,sub=string.byte,string.char,string.sub

num=function(s)
  local x=tonumber(s)
  if x and x>=0 and x<=MAX and x%1==0 then return x end
end

-- What the i-th algorithm returns, or nil. A call makes only those that it needs.
local function algorithm(i)
  --@algorithms
end
