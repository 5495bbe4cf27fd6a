--@use bucket
-- leaky_bucket: a request pours its cost in, and the bucket leaks steadily. As a
-- meter (max wait 0) it refuses what doesn't fit. As a queue it admits whatever
-- waits no longer than the max wait until all before it has leaked, and says how
-- long that is; when it is bounded, only as long as it all fits, too.
local function open(k,cost,p)
  local wait,bounded=num(A[p+4]),num(A[p+5])
  if not wait or not bounded or wait>WINDOW or bounded>1 then return nil end
  local c,err=open_bucket(k,cost,p)
  if not c then return nil,err end
  local units=max(cost,1)
  c.ok=units<=c.cap
  if wait>0 then
    c.wait=floor(wait*1000/c.res)*c.leak
    if c.wait>TOP then return nil end
    c.bounded=bounded==1
    c.ok=c.ok and c.level<=c.wait
    local brim=c.wait+c.unit
    c.brim=c.bounded and min(c.brim,brim) or brim
    if cost>0 and c.level>0 then c.delay=fall(c,0) end
  end
  if wait==0 or c.bounded then c.ok=c.ok and c.level+units*c.unit<=c.cap*c.unit end
  return c
end

return {args=6,open=open,take=take_bucket,refuse=refuse_bucket,give=give_bucket,undo=undo_bucket,show=show_bucket,save=save_bucket}
--@short
-- The arguments of leaky_bucket as a meter.
if A[p+7]~='0' or A[p+8]~='0' and A[p+8]~='1' then return end
local at=p+3
p=p+9
--@use short bucket
