-- Load for wrk: GET requests with a header x-user-id, one of KEYS values picked
-- at random, and one line of JSON with what came of them.
--
--   wrk -t1 -c32 -d5s -s load.lua URL -- KEYS
--
-- Every row of the benchmarks runs this script, so that its own cost is the
-- same in each.
local texts = {}

function init(args)
  local keys = tonumber(args[1]) or 1
  local headers = {Host = wrk.headers.Host}
  for i = 1, keys do
    headers["x-user-id"] = string.format("user-%05d", i)
    texts[i] = wrk.format("GET", "/", headers)
  end
  math.randomseed(keys)
end

function request()
  return texts[math.random(#texts)]
end

-- Times are microseconds.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"broken":%d,"refused":%d,"p50":%d,"p99":%d,"p999":%d,"max":%d}\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
