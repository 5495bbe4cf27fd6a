--@use period
-- fixed_window: a count for each window; windows start at multiples of their
-- length since the epoch.
local function open(k,cost,p)
  local lim,win=num(A[p]),num(A[p+1])
  if not lim or not win or win<1 or win>WINDOW then return nil end
  local start=ms-ms%win
  return open_period(k,cost,lim,start,start+win)
end

return {args=2,open=open,take=take_period,give=give_period,undo=undo_period,show=show_period,save=save_period}
--@short
-- The arguments of fixed_window.
local lim,win=num(A[p+3]),num(A[p+4])
if not lim or not win or lim<0 or lim>=MAX or lim%1~=0 or win<1 or win>WINDOW or win%1~=0 then return end
local start=ms-ms%win
local stop=start+win
p=p+5
--@use short period
