# SPDX-License-Identifier: Apache-2.0
"""stalls.py RECORDING SESSION FOLDED: holds the time that threads waited for memory of ZGC (folded text of -e lock) against what the
JVM's own recorder (JFR) has of the same time. Prints "stalls: right" or what is wrong, and the figures. A stall counts at its end, of
both; one that ends near an end of the recording is of either time."""
import datetime
import json
import re
import subprocess
import sys
import time

recording, session, folded = sys.argv[1:]
EDGE = 50e6  # ns
s = json.load(open(session + "/session.json"))
begin = s["began_us"] * 1000 + time.time_ns() - time.monotonic_ns()
end = begin + int(s["duration"] * 1e9)


def ns(text):
    """2026-11-26T21:51:13.123456789Z, or with another zone."""
    m = re.match(r"(.*T[\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)$", text)
    at = datetime.datetime.fromisoformat(m[1] + (m[3] if m[3] != "Z" else "+00:00"))
    return int(at.timestamp()) * 10**9 + int((m[2] or "0").ljust(9, "0")[:9])


out = subprocess.run(["jfr", "print", "--json", "--events", "jdk.ZAllocationStall", recording], capture_output=True, text=True, check=True)
surely = perhaps = count = 0
for event in json.loads(out.stdout)["recording"]["events"]:
    took = int(float(re.match(r"PT([\d.]+)S$", event["values"]["duration"])[1]) * 1e9)
    at = ns(event["values"]["startTime"]) + took
    surely += took if begin + EDGE <= at <= end - EDGE else 0
    perhaps += took if begin - EDGE <= at <= end + EDGE else 0
    count += begin <= at <= end
mine = sum(int(line.rpartition(" ")[2]) for line in open(folded) if ";ZGC allocation stall " in line)
# Ours begins before JFR's, and ends after it, some 10 us each.
right = count > 10 and 0.97 * surely <= mine <= 1.03 * perhaps + 100e3 * count
print(f"# {count} stalls, {surely / 1e6:.0f} to {perhaps / 1e6:.0f} ms; dfg {mine / 1e6:.0f} ms")
print(f"stalls: {'right' if right else f'{mine}, not {surely} to {perhaps}'}")
