-- The script begins with the clock and the general way, which is a function for
-- the short way behind it to call.
--@use clock
local function general()
  --@use general
  --@use driver
end
