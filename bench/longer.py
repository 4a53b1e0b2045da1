#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""longer.py PERF.DATA TIMES OUT: a recording that goes on with the same samples, later each time.

So what a reader keeps of a recording can be told from what it keeps of the stacks in it. Behind the
recording's own records follow copies of its samples and of the marks of perf's rounds. For
recordings of one event; what stands behind the records (build ids and the like) is left out.
"""
import mmap
import struct
import sys

SAMPLE, FINISHED_ROUND = 9, 68
IP, TID, TIME, IDENTIFIER = 1 << 0, 1 << 1, 1 << 2, 1 << 16


def main():
    source, times, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(source, "rb") as f, open(target, "wb") as out:
        data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_COPY)
        _, size, _, attrs, _, start, length = struct.unpack_from("<8s6Q", data)
        (kind,) = struct.unpack_from("<Q", data, attrs + 24)
        if not kind & TIME:
            sys.exit("longer.py: samples without a time")
        time_at = 8 + 8 * bin(kind & (IDENTIFIER | IP | TID)).count("1")
        records, clock, at = [], [], start
        while at + 8 <= start + length:
            kind, _, n = struct.unpack_from("<IHH", data, at)
            if kind == SAMPLE:
                clock.append(at + time_at)
            if kind in (SAMPLE, FINISHED_ROUND):
                records.append((at, n))
            at += n
        seen = [struct.unpack_from("<Q", data, x)[0] for x in clock]
        span = max(seen) - min(seen) + 1
        out.write(data[:start + length])
        for i in range(1, times):
            for x, was in zip(clock, seen):
                struct.pack_into("<Q", data, x, was + i * span)
            for x, n in records:
                out.write(data[x:x + n])
        total = out.tell() - start
        out.seek(48)
        out.write(struct.pack("<Q", total))
        out.seek(72)
        out.write(bytes(size - 72))  # no features


main()
