# SPDX-License-Identifier: Apache-2.0
"""flight.py FOLDED JSON: holds dfg's folded text of a recording against `jfr print --json` of the same events. Prints
how many events there are, and what is not the same."""
import collections
import json
import re
import sys

SUFFIX = {"Interpreted": "_[0]", "JIT compiled": "_[j]", "Inlined": "_[i]", "Native": "_[j]", "C1 compiled": "_[j]"}
AMOUNT = {"jdk.ObjectAllocationSample": "weight", "jdk.ObjectAllocationInNewTLAB": "tlabSize",
          "jdk.ObjectAllocationOutsideTLAB": "allocationSize"}
PRIMITIVE = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short", "Z": "boolean"}
CLASS = {"jdk.JavaMonitorEnter": "monitorClass", "jdk.ThreadPark": "parkedClass"}


def stable(name):
    """Without the address of a hidden class, which each writes in its own way."""
    return re.sub(r"[.+/]0x[0-9a-f]+([./]\d+)?", "", name.replace(";", ":"))


def ns(text):
    """ISO 8601 as jfr prints durations: PT0.025S, PT1M2.5S."""
    m = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?", text)
    return round((int(m[1] or 0) * 3600 + int(m[2] or 0) * 60 + float(m[3] or 0)) * 1e9)


def class_of(values, kind):
    """The class that is allocated or waited for: "[Ljava.lang.String;" is java.lang.String[]."""
    if not (name := values.get(CLASS.get(kind, "objectClass"))):
        return []
    element = name["name"].replace("/", ".").lstrip("[")
    dimensions = len(name["name"]) - len(name["name"].lstrip("["))
    if dimensions:
        element = PRIMITIVE.get(element) or element[1:-1]
    return [stable(element) + "[]" * dimensions]


def stack_of(event):
    values = event["values"]
    thread = values.get("sampledThread") or values.get("eventThread") or {}
    frames = (values.get("stackTrace") or {}).get("frames", [])
    names = [stable(f["method"]["type"]["name"].replace("/", ".") + "." + f["method"]["name"]) + SUFFIX[f["type"]]
             for f in reversed(frames)]
    return ";".join([stable(thread.get("javaName") or thread.get("osName") or "[unknown]"), *(names or ["[unknown]"])])


def main():
    folded, printed = collections.Counter(), collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8"):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        folded[stable(stack)] += int(count)
    events = json.load(open(sys.argv[2], encoding="utf-8"))["recording"]["events"]
    for e in events:
        v = e["values"]
        amount = ns(v["duration"]) if e["type"] in CLASS else v[AMOUNT[e["type"]]] if e["type"] in AMOUNT else 1
        printed[stable(";".join([stack_of(e), *class_of(v, e["type"])]))] += amount
    print(len(events), "events")
    # Durations are printed in whole nanoseconds.
    for stack in sorted(set(folded) | set(printed)):
        if abs(folded[stack] - printed[stack]) > len(events):
            print(f"{stack}: {folded[stack]}, jfr: {printed[stack]}")


main()
