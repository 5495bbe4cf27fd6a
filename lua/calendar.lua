--@use period
-- calendar: a count for each hour, day, week, month or year of a time zone. The
-- gateway sends four starts of periods around its own time; the script picks
-- the period that its own time lies in, and refuses to guess when there is none.
local function open(k,cost,p)
  local lim,a,b,d,e=num(A[p]),num(A[p+1]),num(A[p+2]),num(A[p+3]),num(A[p+4])
  if not lim or not a or not b or not d or not e or a>=b or b>=d or d>=e then return nil end
  if ms<a or ms>=e then return nil,'the clocks are more than a period apart' end
  if ms<b then return open_period(k,cost,lim,a,b) end
  if ms<d then return open_period(k,cost,lim,b,d) end
  return open_period(k,cost,lim,d,e)
end

return {args=5,open=open,take=take_period,give=give_period,undo=undo_period,show=show_period,save=save_period}
--@short
-- The arguments of calendar.
local lim,a,b,d,e=num(A[p+3]),num(A[p+4]),num(A[p+5]),num(A[p+6]),num(A[p+7])
if not lim or not a or not b or not d or not e or lim<0 or lim>=MAX or lim%1~=0
  or a<0 or a>=b or b>=d or d>=e or e>MAX or a%1+b%1+d%1+e%1~=0 or ms<a or ms>=e then return end
local start,stop=d,e
if ms<b then start,stop=a,b elseif ms<d then start,stop=b,d end
p=p+8
--@use short period
