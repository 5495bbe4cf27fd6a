-- Shared by sliding_log_zset and concurrency: a sorted set with one member for
-- each request. A cost above 1 is in the member's name; the sum of all costs,
-- less 1 each, is the score above BASE of the member ~extra, which sorts last
-- and exists only when it isn't 0.
local BASE=4503599627370496 -- 2^52, above any ms
local WALK=1000 -- members that one call reads to add up their costs

-- Writes ~extra where it changed.
local function save_extra(c)
  if c.extra==c.stored then return end
  if c.extra>0 then
    call('ZADD',c.k,string.format('%.0f',BASE+c.extra),'~extra')
  else
    call('ZREM',c.k,'~extra')
  end
  c.stored=c.extra
end

-- Takes what the first `limit` of the members that expired cost from extra.
local function forget_extra(c,limit,weight)
  if c.extra==0 then return end
  local e=call('ZRANGE',c.k,0,min(c.gone,limit)-1)
  for i=1,#e do c.extra=c.extra-weight(e[i])+1 end
end

-- The score of the member with which k units, from the oldest on, are reached.
-- Exact within the first WALK members; behind them each counts as one unit,
-- which gives a score that is never too early.
local function score_of(c,k,weight)
  local i,left,score=c.gone,k,nil
  local stop=min(i+WALK,c.members)
  while c.extra>0 and left>0 and i<stop do
    local e=call('ZRANGE',c.k,i,min(i+50,stop)-1,'WITHSCORES')
    for j=1,#e,2 do
      left=left-weight(e[j])
      score=e[j+1]
      i=i+1
      if left<=0 then break end
    end
  end
  if left>0 then
    i=min(i+left,c.members)-1
    score=call('ZRANGE',c.k,i,i,'WITHSCORES')[2]
  end
  return tonumber(score)
end
