--@use members
-- sliding_log, storage zset: one member a hit, for audit by ZRANGE WITHSCORES.
--
-- Score: the hit's time in ms, rounded up; it counts while now < score + window.
-- Member: <ms>:<us>:<request id>, or <ms>:<us>x<cost>:<request id> for a cost
-- above 1, so that neither two hits of one ms nor one hit's cost ever merge.
-- After the clock stepped far back there is a member ~shift, sorting last: its
-- score above BASE says by how many ms the other scores are ahead of the clock.
--
-- Looking reads ranks and never writes; a charge evicts at most EVICT members
-- that expired. Those that are still there count no more.
local EVICT=5000

local function weight(member)
  local n=string.match(member,'^%d+:%d+x(%d+):')
  return n and tonumber(n) or 1
end

local function open(k,cost,p)
  local lim,win=num(A[p]),num(A[p+1])
  if not lim or not win or lim>BASE or win<1 or win>WINDOW then return nil end
  local c={k=k,cost=cost,lim=lim,win=win,ok=false,dirty=false,
    extra=0,stored=0,shift=0,meta=0,at=0,gone=0,total=0,members=0,oldest=nil}
  local at=ceil(now/1000)
  local cut=ms-win
  local last=call('ZRANGE',k,-1,-1,'WITHSCORES')
  if last[1] then
    local newest=tonumber(last[2])
    if byte(last[1])==126 then
      last=call('ZRANGE',k,-3,-1,'WITHSCORES')
      newest=0
      for i=1,#last,2 do
        local score=tonumber(last[i+1])
        if byte(last[i])~=126 then
          newest=score
        else
          c.meta=c.meta+1
          if last[i]=='~extra' then c.extra=score-BASE else c.shift=score-BASE end
        end
      end
      c.stored=c.extra
    end
    at=at+c.shift
    cut=cut+c.shift
    if at<newest then
      -- As in the compact log: a small step back waits, a large one moves all.
      if newest-1-ms-c.shift<=SKEW then
        cut=newest-1-win
      else
        c.shift=c.shift+newest-at
        cut=cut+newest-at
        c.dirty=true
      end
      at=newest
    end
    c.members=call('ZCARD',k)-c.meta
    if c.members>0 then
      local oldest=tonumber(call('ZRANGE',k,0,0,'WITHSCORES')[2])
      if oldest>cut then
        c.oldest=oldest
      else
        c.gone=call('ZCOUNT',k,'-inf',cut)
        forget_extra(c,EVICT,weight)
      end
      c.total=c.members-c.gone+c.extra
    end
  end
  c.at=at
  c.ok=c.total+max(cost,1)<=lim
  return c
end

-- Removes m of the oldest members.
local function evict(c,m)
  call('ZREMRANGEBYRANK',c.k,0,m-1)
  c.members=c.members-m
  c.oldest=nil
end

local function add(c,score,head,cost,id)
  if cost>1 then head=head..string.format('x%.0f',cost) end
  local m=head..':'..id
  local i=c.members
  while call('ZADD',c.k,score,m)==0 do -- the same id in the same us
    m=head..':'..id..'+'..i
    i=i+1
  end
  c.members=c.members+1
end

local function save(c)
  if c.members==0 then
    call('DEL',c.k)
    c.total,c.extra,c.stored=0,0,0
    return
  end
  save_extra(c)
  if c.dirty then call('ZADD',c.k,string.format('%.0f',BASE+c.shift),'~shift') end
  call('PEXPIRE',c.k,c.win+10000)
end

-- Evicts what expired, as much as one call may.
local function sweep(c)
  if c.gone==0 then return end
  local m=min(c.gone,EVICT)
  evict(c,m)
  c.gone=c.gone-m
end

local function take(c,cost)
  sweep(c)
  if c.members-c.gone>=max(c.lim,1) then
    -- Over the limit: a log never grows above it, so the oldest hit makes room.
    -- All that is younger fills the limit alone, so no decision changes.
    local w=1
    if c.extra>0 then w=weight(call('ZRANGE',c.k,c.gone,c.gone)[1]) end
    call('ZREMRANGEBYRANK',c.k,c.gone,c.gone)
    c.members=c.members-1
    c.total=c.total-w
    c.extra=c.extra-w+1
    c.oldest=nil
  end
  cost=max(min(cost,BASE-c.extra),1)
  if c.total==0 then c.oldest=c.at end
  add(c,c.at,string.format('%.0f:%06.0f',ms,now%1000000),cost,id)
  c.extra=c.extra+cost-1
  c.total=c.total+cost
  save(c)
end

local function give(c,cost)
  cost=min(cost,c.total)
  if cost==0 and not c.dirty then return end
  sweep(c)
  local left,m,part=cost,0,nil
  local skip=c.meta
  while left>0 and m<min(c.members-c.gone,EVICT) do
    local want=min(left,100,c.members-c.gone-m)
    local e=call('ZRANGE',c.k,-skip-m-want,-skip-m-1)
    for i=#e,1,-1 do
      local w=weight(e[i])
      m=m+1
      c.extra=c.extra-w+1
      if w>left then
        part={e[i],w-left}
        left=0
      else
        left=left-w
      end
      if left==0 then break end
    end
  end
  if m==0 then return save(c) end
  local score
  if part then score=call('ZSCORE',c.k,part[1]) end
  call('ZREMRANGEBYRANK',c.k,-skip-m,-skip-1)
  c.members=c.members-m
  if part then
    local head,id=string.match(part[1],'^(%d+:%d+)x%d+:(.*)$')
    add(c,score,head,part[2],id)
    c.extra=c.extra+part[2]-1
  end
  c.total=c.total-cost+left
  if m>0 and c.members-c.gone<=1 then c.oldest=nil end
  save(c)
end

-- The hit is known by its name.
local function undo(c,cost,since)
  local m=string.format('%.0f:%06.0f',(since-since%1000)/1000,since%1000000)
  if cost>1 then m=m..string.format('x%.0f',cost) end
  m=m..':'..id
  local score=call('ZSCORE',c.k,m)
  if score and tonumber(score)+c.win>ms+c.shift then
    sweep(c)
    call('ZREM',c.k,m)
    c.members=c.members-1
    c.extra=c.extra-cost+1
    c.total=c.total-cost
    c.oldest=nil
  elseif not c.dirty then
    return
  end
  save(c)
end

-- ms until k units have left.
local function until_gone(c,k)
  local score=c.oldest
  if k>1 or not score then score=score_of(c,k,weight) end
  if k==1 then c.oldest=score end
  return score+c.win-ms-c.shift
end

local function show(c)
  local total,lim=c.total,c.lim
  local reset,retry=0,0
  if total>0 then reset=until_gone(c,min(total,max(total-lim,0)+1)) end
  local cost=max(c.cost,1)
  if not c.ok and total+cost>lim then
    retry=cost>lim and -1 or until_gone(c,total+cost-lim)
  end
  return total,max(lim-total,0),reset,retry
end

return {args=2,open=open,take=take,give=give,undo=undo,show=show,save=function(c) sweep(c) save(c) end}
