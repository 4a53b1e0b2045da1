-- SPDX-License-Identifier: Apache-2.0
-- wrk's part of the load: the requests of the file that MIX names, one after the other and again; the result as JSON
-- in the file that RESULT names.
local requests, at = {}, 0

function init()
	for line in io.lines(os.getenv("MIX")) do
		local method, path = line:match("^(%u+),(.*)$")
		requests[#requests + 1] = wrk.format(method, path)
	end
end

function request()
	at = at % #requests + 1
	return requests[at]
end

function done(summary, latency)
	local e = summary.errors
	local file = io.open(os.getenv("RESULT"), "w")
	file:write(string.format('{"requests": %d, "seconds": %.3f, "errors": %d, "p50": %.3f, "p90": %.3f, "p99": %.3f}\n',
		summary.requests, summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
		latency:percentile(50) / 1e3, latency:percentile(90) / 1e3, latency:percentile(99) / 1e3))
	file:close()
end
