--@use members
-- concurrency: who holds a slot, in a sorted set: member <cost>:<request id>,
-- score: when the holder counts no more unless it was released, ms.
--
-- A request that is sent again under its id holds its slot once. A refund gives
-- back what the request's own id holds at that cost, and nothing twice.
local SWEEP=1000 -- members that one call may remove or move

local function weight(member)
  return tonumber(string.match(member,'^%d+'))
end

local function name(cost)
  return string.format('%.0f:',cost)..id
end

local function open(k,cost,p)
  local lim,hold=num(A[p]),num(A[p+1])
  if not lim or not hold or lim>BASE or hold<1 or hold>WINDOW then return nil end
  local c={k=k,cost=cost,lim=lim,hold=hold,ok=false,dirty=false,
    gone=0,members=0,total=0,extra=0,stored=0,oldest=nil}
  local last=call('ZRANGE',k,-1,-1,'WITHSCORES')
  if last[1] then
    c.members=call('ZCARD',k)
    if last[1]=='~extra' then
      c.members=c.members-1
      c.extra=last[2]-BASE
      c.stored=c.extra
      last=call('ZRANGE',k,-2,-2,'WITHSCORES')
    end
    local oldest=tonumber(call('ZRANGE',k,0,0,'WITHSCORES')[2])
    if oldest>ms then
      c.oldest=oldest
    else
      c.gone=call('ZCOUNT',k,'-inf',ms)
      forget_extra(c,SWEEP,weight)
    end
    c.total=c.members-c.gone+c.extra
    -- Nobody holds for longer than from now on: the clock stepped far back, or
    -- the hold was made shorter.
    c.dirty=c.total>0 and tonumber(last[2])>ceil(now/1000)+hold+SKEW
  end
  c.ok=c.total+max(cost,1)<=lim
  if not c.ok and cost>0 and cost<=lim and c.total>0 then
    local score=call('ZSCORE',k,name(cost))
    c.ok=score and tonumber(score)>ms and c.total<=lim
  end
  return c
end

local function save(c)
  local k=c.k
  if c.gone>0 then
    local m=min(c.gone,SWEEP)
    call('ZREMRANGEBYRANK',k,0,m-1)
    c.members,c.gone=c.members-m,c.gone-m
  end
  if c.members==0 then
    call('DEL',k)
    c.stored=0
    return
  end
  save_extra(c)
  if c.dirty then
    local last=ceil(now/1000)+c.hold
    local e=call('ZRANGEBYSCORE',k,'('..string.format('%.0f',last+SKEW),'('..string.format('%.0f',BASE),'LIMIT',0,SWEEP)
    for i=1,#e do call('ZADD',k,last,e[i]) end
    c.oldest=nil
  end
  call('PEXPIRE',k,c.hold+SKEW+10000)
end

local function take(c,cost)
  cost=max(min(cost,BASE-c.extra),1)
  if c.gone>0 then save(c) end
  if call('ZADD',c.k,ceil(now/1000)+c.hold,name(cost))==1 then
    c.members=c.members+1
    c.total=c.total+cost
    c.extra=c.extra+cost-1
  end
  c.oldest=nil
  save(c)
end

local function give(c,cost)
  local m=name(cost)
  local score=call('ZSCORE',c.k,m)
  if score and tonumber(score)>ms then
    call('ZREM',c.k,m)
    c.members=c.members-1
    c.total=c.total-cost
    c.extra=c.extra-cost+1
    c.oldest=nil
  elseif not c.dirty then
    return
  end
  save(c)
end

local function until_gone(c,k)
  local score=c.oldest
  if k>1 or not score then score=score_of(c,k,weight) end
  if k==1 then c.oldest=score end
  return score-ms
end

local function show(c)
  local total,lim,cost=c.total,c.lim,max(c.cost,1)
  local reset,retry=0,0
  if total>0 then reset=until_gone(c,min(total,max(total-lim,0)+1)) end
  if not c.ok and total+cost>lim then
    retry=cost>lim and -1 or until_gone(c,total+cost-lim)
  end
  return total,max(lim-total,0),reset,retry
end

local function refuse(c)
  if c.dirty then save(c) end
end

return {args=2,open=open,take=take,refuse=refuse,give=give,show=show,save=save}
