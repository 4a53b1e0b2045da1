#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how many small faults `make check` notices: mutants.py [COUNT [SEED [FOLDER...]]]

Changes one token of the production code at a time (an operator, a constant, a truth value), builds, and runs the
unit tests that include the file's header, then `make check`. Prints a line for each mutant and, at the end, the
share that was caught; survivors are places that no unit test holds. Not counted: mutants that do not compile, or
whose object file has the same code as before. NEAR=1 leaves `make check` out: fast, for files that have unit tests
of their own. JOBS=N works on N copies of the tree at once (2); up to half a minute
for each mutant and job.

As root, the tests run in mount and pid namespaces where everything but the copy and /tmp is read-only: a mutant of
what the hook mounts and removes would do it to this machine."""
import concurrent.futures
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&", "+": "-",
         "-": "+", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "|": "&", "&": "|", "<<": ">>", ">>": "<<",
         "true": "false", "false": "true", "break": "continue", "!": ""}
# Comments, strings, character constants and preprocessor lines are passed over as wholes.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^\s*#(?:\\\n|[^\n])*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|'
                   r"\w+(?:\.\w+)?|->|<<=|>>=|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|.", re.S | re.M)
# What runs a command in those namespaces: $1 is the tree, the rest the command.
BOX = """
mount --make-rprivate / && mount -t tmpfs tmpfs /tmp && mount -t proc proc /proc && mount --bind "$1" "$1" || exit 1
cut -d ' ' -f 5 /proc/self/mountinfo | while read -r m; do
	case $m in "$1" | /tmp | /dev/* | /proc | /proc/* | /sys/fs/cgroup*) ;; *) mount -o remount,bind,ro "$m" ;; esac
done
[ ! -w / ] && cd "$1" && shift && exec "$@"
"""
NEAR = "NEAR" in os.environ
FOLDERS = ["agent-jni", "common", "hook", "host", "hotspot", "injector", "oci"]
# Releases: to leave one out or change its condition is not visible in a result.
RELEASE = re.compile(r"\b(free|close|close_fd|closedir|fclose|munmap|\w+_(fini|free|close|put))\(")


def sites(path):
    """All (offset, token, replacement) in the functions of one source file."""
    text = open(path).read()
    before = ""
    for m in TOKEN.finditer(text):
        token, new = m.group(), None
        if token in SWAPS:
            new = SWAPS[token]
            binary = re.fullmatch(r"[\w)\]]+", before) and before not in ("return", "case", "sizeof")
            if token in ("&", "|", "-", "+", "<", ">") and not (binary and text[m.start() - 1] == " "):
                new = None
            if token == "!" and text[m.end():m.end() + 1] == "=":
                new = None
        elif re.fullmatch(r"\d+", token):
            new = str(int(token) + 1)
        line = text[text.rfind("\n", 0, m.start()) + 1:text.find("\n", m.end())]
        if new is not None and line.startswith("\t") and not RELEASE.search(line):
            yield m.start(), token, new
        if not token.isspace():
            before = token


def run(tree, command, seconds):
    """The command's exit status; -1 after so many seconds, when all of its processes are killed."""
    child = subprocess.Popen(command, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return -1


def in_box(tree, command):
    """The command, in a box where this user can make one."""
    if os.geteuid() != 0:
        return command
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BOX, "box", tree,
            "env", "CCACHE_DISABLE=1", *command]  # its folder cannot be written there


def near(tree, path):
    """The unit tests that include the header of a source, or the source, or name it in quotes."""
    header = '"' + path.removeprefix("host/")[:-2] + '.h"'
    names = sorted(n for n in os.listdir(os.path.join(tree, "tests/unit")) if n.endswith(".c"))
    text = {n: open(os.path.join(tree, "tests/unit", n)).read() for n in names if not n.endswith("_arm64.c")}
    return [f"build/tests/{n[:-2]}.t" for n, t in text.items() if header in t or f'"{path}"' in t]


def passes(tree, path):
    """Whether the tests pass: those near the source first, which notice most."""
    tests = near(tree, path)
    if tests and run(tree, ["make", "-s", *tests], 300) == 0 and \
            run(tree, in_box(tree, ["prove", "-e", "", *tests]), 60 if NEAR else 300) != 0:
        return False
    return NEAR or run(tree, in_box(tree, ["make", "-s", "check"]), 600) == 0


def code_of(tree, obj):
    """The object file without symbols and debug information, or b"" if there is none."""
    out = os.path.join(tree, "mutant.o")
    if subprocess.run(["strip", "-o", out, os.path.join(tree, obj)], stderr=subprocess.DEVNULL).returncode:
        return b""
    return open(out, "rb").read()


def objects(path):
    """The object files that are made of a source: for the host, for the agent."""
    stem = path[:-2] + ".o"
    if path.startswith("agent-jni/"):
        return ["build/agent/" + stem]
    if path.startswith("hotspot/"):
        return ["build/dyn/" + stem, "build/agent/" + stem]
    return ["build/dyn/" + stem]


def verdict(tree, path, at, token, new):
    """"caught", "survived", or "skipped" for one mutant."""
    full = os.path.join(tree, path)
    text = open(full).read()
    obj = objects(path)[0]
    before = code_of(tree, obj)
    try:
        open(full, "w").write(text[:at] + new + text[at + len(token):])
        if run(tree, ["make", "-s", "CPPFLAGS=", obj], 300) != 0 or code_of(tree, obj) == before:
            return "skipped"
        return "survived" if passes(tree, path) else "caught"
    finally:
        open(full, "w").write(text)
        run(tree, ["make", "-s", *objects(path)], 300)


def copies(top, count):
    """So many copies of the tree in a directory; the first is built and tested, the others copied from it."""
    first = os.path.join(top, "0")
    files = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    os.mkdir(first)
    subprocess.run(["tar", "-c", "--null", "-T", "-", "-f", os.path.join(top, "tar")], input=files, check=True)
    subprocess.run(["tar", "-x", "-C", first, "-f", os.path.join(top, "tar")], check=True)
    print("building; the tests have to pass without a mutant", flush=True)
    subprocess.run(["make", "-s", f"-j{count}", "all"], cwd=first, check=True)
    if not NEAR:
        subprocess.run(in_box(first, ["make", "-s", f"-j{count}", "check"]), check=True, cwd=first)
    for n in range(1, count):
        subprocess.run(["cp", "-a", first, os.path.join(top, str(n))], check=True)
    return [os.path.join(top, str(n)) for n in range(count)]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 90
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = subprocess.run(["git", "ls-files", "--", *(sys.argv[3:] or FOLDERS)], check=True, capture_output=True,
                           text=True).stdout.split()
    pool = [(p, *s) for p in sorted(found) if p.endswith(".c") and not p.endswith("_arm64.c") for s in sites(p)]
    rng.shuffle(pool)
    free = queue.Queue()
    total = {"caught": 0, "survived": 0, "skipped": 0}

    def judge(site):
        tree = free.get()
        try:
            return verdict(tree, *site), site
        finally:
            free.put(tree)

    top = tempfile.mkdtemp(prefix="dfg-mutants.", dir="/var/tmp")
    try:
        trees = copies(top, int(os.environ.get("JOBS", "2")))
        for tree in trees:
            free.put(tree)
        with concurrent.futures.ThreadPoolExecutor(len(trees)) as workers:
            todo = iter(pool)
            running = {workers.submit(judge, s) for s in (next(todo) for _ in trees)}
            while running and total["caught"] + total["survived"] < count:
                done, running = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
                for future in done:
                    result, (path, at, token, new) = future.result()
                    total[result] += 1
                    line = open(path).read()[:at].count("\n") + 1
                    if result != "skipped":
                        print(f"{result:8} {path}:{line}: {token} -> {new or '(nothing)'}", flush=True)
                    if total["caught"] + total["survived"] + len(running) < count:
                        running.add(workers.submit(judge, next(todo)))
    finally:
        shutil.rmtree(top)
    judged = total["caught"] + total["survived"]
    print(f"caught {total['caught']} of {judged} ({100 * total['caught'] / max(judged, 1):.0f} %), "
          f"{total['skipped']} skipped")


if __name__ == "__main__":
    main()
