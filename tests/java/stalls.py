# SPDX-License-Identifier: Apache-2.0
"""stalls.py RECORDING SESSION FOLDED: holds the time that threads waited for memory of ZGC (folded text of -e lock) against what the
JVM's own recorder (JFR) has of the same time. Prints "stalls: right" or what is wrong, and the figures. A stall counts at its end, of
both; one that ends near an end of the recording is of either time."""
import json
import sys
import time

sys.dont_write_bytecode = True
from jfrlog import duration, events, ns

recording, session, folded = sys.argv[1:]
EDGE = 50e6  # ns
s = json.load(open(session + "/session.json"))
begin = s["began_us"] * 1000 + time.time_ns() - time.monotonic_ns()
end = begin + int(s["duration"] * 1e9)
surely = perhaps = count = 0
for event in events(recording, "jdk.ZAllocationStall"):
    took = duration(event["duration"])
    at = ns(event["startTime"]) + took
    surely += took if begin + EDGE <= at <= end - EDGE else 0
    perhaps += took if begin - EDGE <= at <= end + EDGE else 0
    count += begin <= at <= end
mine = sum(int(line.rpartition(" ")[2]) for line in open(folded) if ";ZGC allocation stall " in line)
# Ours begins before JFR's, and ends after it, some 10 us each, and more where the thread loses its processor in between.
right = count > 10 and 0.97 * surely <= mine <= 1.1 * perhaps + 100e3 * count
print(f"# {count} stalls, {surely / 1e6:.0f} to {perhaps / 1e6:.0f} ms; dfg {mine / 1e6:.0f} ms")
print(f"stalls: {'right' if right else f'{mine}, not {surely} to {perhaps}'}")
