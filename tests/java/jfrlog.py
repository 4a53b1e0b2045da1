# SPDX-License-Identifier: Apache-2.0
"""Events of a recording of the JVM's own recorder (JFR), as the JDK's tool jfr prints them."""
import datetime
import json
import re
import subprocess


def ns(text):
    """Of 2026-11-26T21:51:13.123456789Z, or with another zone."""
    m = re.match(r"(.*T[\d:]+)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)$", text)
    at = datetime.datetime.fromisoformat(m[1] + (m[3] if m[3] != "Z" else "+00:00"))
    return int(at.timestamp()) * 10**9 + int((m[2] or "0").ljust(9, "0")[:9])


def duration(text):
    """ns of PT1M0.001234S"""
    m = re.match(r"PT(?:(\d+)M)?([\d.]+)S$", text)
    return int((int(m[1] or 0) * 60 + float(m[2])) * 1e9)


def events(recording, name):
    out = subprocess.run(["jfr", "print", "--json", "--events", name, recording], capture_output=True, text=True, check=True).stdout
    return [e["values"] for e in json.loads(out)["recording"]["events"]]
