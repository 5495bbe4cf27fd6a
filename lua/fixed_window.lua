--@use period
-- fixed_window: a count for each window; windows start at multiples of their
-- length since the epoch.
local function open(k,cost,p)
  local lim,win=num(A[p]),num(A[p+1])
  if not lim or not win or win<1 or win>WINDOW then return nil end
  local start=ms-ms%win
  return open_period(k,cost,lim,start,start+win)
end

ALG[#ALG+1]={args=2,open=open,take=take_period,give=give_period,show=show_period,save=save_period}
