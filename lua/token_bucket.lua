--@use bucket
-- token_bucket: holds cap tokens, full at first; a request takes its cost.
local function open(k,cost,p)
  local c,err=open_bucket(k,cost,p)
  if not c then return nil,err end
  cost=max(cost,1)
  c.ok=cost<=c.cap and c.level+cost*c.unit<=c.brim
  return c
end

return {args=4,open=open,take=take_bucket,refuse=refuse_bucket,give=give_bucket,undo=undo_bucket,show=show_bucket,save=save_bucket}
--@short
-- The arguments of token_bucket.
local at=p+3
p=p+7
--@use short bucket
