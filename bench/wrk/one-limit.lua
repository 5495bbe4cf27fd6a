-- Load for wrk on a limit that many gateways share: GET requests of one tenant.
-- PAUSE is how long each connection waits before a request, ms; 0 for not at all.
--
--   wrk -t1 -c4 -d5s -s one-limit.lua URL -- PAUSE
--
-- It prints what load.lua prints. Answers of 429 are not failures here: they are
-- counted as refused.
local text
local pause = 0

function init(args)
  pause = tonumber(args[1]) or 0
  text = wrk.format("GET", "/", {Host = wrk.headers.Host, ["x-user-id"] = "tenant"})
end

function request()
  return text
end

function delay()
  return pause
end

-- Times are microseconds.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"broken":%d,"refused":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
