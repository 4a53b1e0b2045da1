#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""jailed.py COMMAND…: runs a command whose jailed children stop themselves (stop-jailed.c), looks at each from
outside, and lets it go on. Prints a line for each: its role, and "is jailed" or what is wrong with it."""
import os
import re
import signal
import stat
import subprocess
import sys
import time

USERS = 2100000000  # and the pid (common/confine.h)
SPACES = ("mnt", "net", "ipc")
LIMITS = ("Max cpu time", "Max file size", "Max address space")
# Descriptors above 2 of each role but the reply's pipe. A role is the first that has all of a child's.
ROLES = {
    "discovery": r"/proc/\d+/maps|/.*/release|socket:.*",  # a socket: files of engines come by it
    "stack reading": r"/proc/\d+/(maps|pagemap)",
    "memory reading": r"/proc/\d+/(mem|maps)|socket:.*|/.*/session/maps/[^/]+",
    "drawing": r"socket:.*|/.*/\.[^/]+|/memfd:.*",
    "splitting": r"/.*/perf\.data|/.*/session/perf\.split",
    "ELF reading": r"/.*/session/elf/[^/]+|/.*\.debug|/.*/libjvm\.so",
    "listing": r"/proc/\d+/maps|/.*/perf\.data",
    "table building": r"socket:.*|/proc/\d+/maps|/.*/session/maps/[^/]+|/(usr|lib|lib64|mnt)/.*",
}


def same(a, b):
    return os.stat(a).st_ino == os.stat(b).st_ino


def wrong_status(pid, role, status):
    field = {key: value.split() for key, value in re.findall(r"^(\w+):(.*)$", status, re.M)}
    caps = "0000000000080000" if role == "memory reading" else "0000000000000000"
    want = {"Uid": [str(USERS + pid)] * 4, "Gid": [str(USERS + pid)] * 4, "Groups": [], "CapPrm": [caps],
            "CapEff": [caps], "NoNewPrivs": ["1"], "Seccomp": ["2"]}
    return [f"{key} is {field[key]}" for key in want if field[key] != want[key]]


def wrong_limits(proc, role, highest):
    text = open(f"{proc}/limits").read()
    hard = {name: re.search(rf"^{name} +\S+ +(\S+)", text, re.M)[1] for name in
            LIMITS + ("Max core file size", "Max processes", "Max open files")}
    wrong = [f"{name} is {hard[name]}" for name in LIMITS if hard[name] == "unlimited"]
    wrong += [] if hard["Max core file size"] == "0" else ["it may leave a core file"]
    wrong += [] if hard["Max processes"] == ("1024" if role == "drawing" else "1") else [hard["Max processes"]]
    if role not in ("drawing", "table building") and int(hard["Max open files"]) > highest + 1:
        wrong.append("it may open more files")
    return wrong


def wrong_files(proc, shown):
    wrong = [f"{fd} is {shown[fd]}" for fd in range(3) if shown[fd] != "/dev/null"]
    wrong += [f"{fd} is a directory" for fd in shown if stat.S_ISDIR(os.stat(f"{proc}/fd/{fd}").st_mode)]
    wrong += ["its root is not empty"] if os.listdir(f"{proc}/root") else []
    wrong += [] if same(f"{proc}/root", f"{proc}/cwd") else ["its directory is outside"]
    return wrong + [f"it has the host's {ns}" for ns in SPACES if same(f"{proc}/ns/{ns}", f"/proc/self/ns/{ns}")]


def look(pid, status):
    """Role of a child, and all that is wrong."""
    proc = f"/proc/{pid}"
    shown = {int(fd): os.readlink(f"{proc}/fd/{fd}") for fd in os.listdir(f"{proc}/fd")}
    files = [s for fd, s in shown.items() if fd > 2 and not s.startswith("pipe:")]
    role = next((r for r in ROLES if files and all(re.fullmatch(ROLES[r], f) for f in files)), "unknown")
    wrong = [] if role != "unknown" else [f"it has {' '.join(shown.values())}"]
    if sum(s.startswith("pipe:") for s in shown.values()) > 1:
        wrong.append("it has another's pipe")
    if role != "splitting" and len({m[1] for m in (re.search("/out/([^/]+)/", f) for f in files) if m}) > 1:
        wrong.append("it has files of two containers")
    if open(f"{proc}/oom_score_adj").read() != "1000\n":
        wrong.append("it is not ended first")
    return role, wrong + wrong_status(pid, role, status) + wrong_limits(proc, role, max(shown)) + wrong_files(proc, shown)


def stopped():
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = open(f"/proc/{name}/status").read()
        except OSError:
            continue
        if re.search(r"^State:\tT", status, re.M) and re.search(r"^Seccomp:\t2", status, re.M):
            yield int(name), status


def main():
    process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
    while process.poll() is None:
        for pid, status in stopped():
            try:
                role, wrong = look(pid, status)
                print(f"{role}: {', '.join(wrong) or 'is jailed'}", flush=True)
                os.kill(pid, signal.SIGCONT)
            except (FileNotFoundError, ProcessLookupError):
                pass  # its parent has ended it
        time.sleep(0.002)
    return process.returncode


if __name__ == "__main__":
    raise SystemExit(main())
