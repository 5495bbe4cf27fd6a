-- What each way begins with. Each makes these for itself: what a function takes
-- from outside is stored anew by each call, too.
local call,num,A=redis.call,tonumber,ARGV
local MAX=9007199254740992 -- 2^53: beyond it a double skips whole numbers
local TOP=4503599627370496 -- 2^52: the last clock, the highest level of a bucket
local WINDOW=2199023255552 -- 2^41 ms, the longest window
local FULL=281474976710655 -- 2^48 - 1, the most that a log's bucket holds
local SKEW=3000 -- ms that a clock may step back before what is stored follows it
