#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""known.py [-v] [-i] [-c PERCENT] MODE SUMMARY JAVA_HOME CLASSPATH: holds a recording of tests/java/Known.java against
what its source says of its call trees (-i: @inline, too; -c: whole stacks wanted, 99.5). SUMMARY is the JSON of dfg-trigger. Prints one
line

    samples on-the-thread complete% unknown% nameless% truncated% in-tree% pairs wrong-pairs chains

and, with # in front, what is not as it should be; exit status 1 where there is anything.

complete, unknown, nameless, truncated: as in the summary. in-tree: stacks of the thread with the frames it
starts with. pairs: Java frames next to each other whose caller's bytecode could be read; a pair is
wrong where that method calls nothing of the callee's name. Methods of hidden classes (lambdas,
method handles) are left out: what they call is in no file. One wrong pair in 5 000 samples (WRONG) is no
failure: docs/measurements.md has what can still be wrong."""
import collections
import getopt
import json
import os
import re
import subprocess
import sys

COMPLETE, UNKNOWN, WRONG = 99.5, 0.5, 0.02  # per cent; WRONG: pairs for each sample
JAVA = re.compile(r"^(.*)_\[[ji0]\]$")
HIDDEN = re.compile(r"\.0x[0-9a-f]{6,}|/0x|\$\$Lambda|LambdaForm|^java\.lang\.invoke\.|GeneratedM|GeneratedC"
                    r"|GeneratedSer|\$Proxy")
HEAD = re.compile(r"^(?:public |final |abstract |static |private |protected |sealed |non-sealed |strictfp )*"
                  r"(?:class|interface) ([\w.$]+)")
METHOD = re.compile(r"^  (?:[\w.$\[\]<>?, &]* )?([\w.$]+)\(.*\)(?: throws .*)?;$")
CALL = re.compile(r"// (?:Interface)?Method (?:.*[/.])?\"?([\w$<>]+)\"?:")


def split(name):
    return tuple(name.rpartition(".")[::2])


def read(path):
    """(thread, [frames], count) of each folded line"""
    for line in open(path, encoding="utf-8"):
        stack, _, count = line.rstrip("\n").rpartition(" ")
        frames = stack.split(";")
        yield frames[0], frames[1:], int(count)


class Bytecode:
    """What each method calls, by name, as javap tells."""

    def __init__(self, home, classpath):
        self.home, self.classpath, self.calls = home, classpath, {}

    def load(self, classes):
        wanted = sorted(c for c in classes if c not in self.calls)
        for c in wanted:
            self.calls[c] = None
        for i in range(0, len(wanted), 100):
            out = subprocess.run([self.home + "/bin/javap", "-c", "-p", "-cp", self.classpath, *wanted[i:i + 100]],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            self.parse(out)

    def parse(self, text):
        methods, names = {}, set()
        for line in text.split("\n"):
            head, method, call = HEAD.match(line), METHOD.match(line), CALL.search(line)
            if head:
                methods = self.calls[head[1]] = {}
                self.current = head[1]
            elif line == "  static {};":
                names = methods.setdefault("<clinit>", set())
            elif method:
                name = "<init>" if method[1] == self.current else method[1]
                names = methods.setdefault(name, set())
                if " native " in line:
                    names.add("*")
            elif "InvokeDynamic" in line or re.search(r"Method java/lang/invoke/(Method|Var)Handle\.", line):
                names.add("dynamic")
            elif call:
                names.add(call[1])

    def possible(self, caller, callee):
        """None: not to be told"""
        (a, m), (b, n) = split(caller), split(callee)
        if HIDDEN.search(caller) or self.calls.get(a) is None or m not in self.calls[a]:
            return None
        names = self.calls[a][m]
        if "dynamic" in names and HIDDEN.search(callee):
            return None
        return "*" in names or n in names


class Expected:
    """The annotations of a mode in Known.java"""

    def __init__(self, mode, inline):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Known.java")
        with open(path, encoding="utf-8") as f:
            self.source, self.mode = f.read(), mode
        self.thread = self.one("thread") or "known"
        self.root = self.one("root") or r"java\.lang\.Thread\.run(WithMethod)?;(.*;)?Known\.run"
        self.deep = re.search(r"^// @deep +%s$" % mode, self.source, re.M) is not None
        self.chains = [(int(p), r) for p, r in re.findall(
            r"^// @(?:chain%s) +%s +(\d+) +(\S+)$" % ("|inline" * inline, mode), self.source, re.M)]

    def one(self, key):
        m = re.search(r"^// @%s +%s +(\S+)$" % (key, self.mode), self.source, re.M)
        return m and m[1]


def pairs_of(stacks):
    pairs = collections.Counter()
    for _, frames, count in stacks:
        for a, b in zip(frames, frames[1:]):
            x, y = JAVA.match(a), JAVA.match(b)
            if x and y and "." in x[1] and "." in y[1]:  # "Interpreter": which method is unknown
                pairs[x[1], y[1]] += count
    return pairs


def percent(part, whole):
    return 100 * part / whole if whole else 0


def complaints(want, least, s, mine, wrong, in_tree):
    """What is not as `least` per cent of whole stacks and the annotations want it"""
    cut = s["truncated"] * s["samples"]
    complete = 100 * s["complete"] + (percent(cut, s["java_samples"]) if want.deep else 0)
    if complete < least:
        yield "complete %.2f %% < %.1f %%" % (complete, least)
    unknown = 100 * s["unknown_frames"]
    if unknown > UNKNOWN:
        yield "unknown frames %.2f %% > %.1f %%" % (unknown, UNKNOWN)
    if in_tree < least and not want.deep:
        yield "in the tree %.2f %% < %.1f %%" % (in_tree, least)
    for (caller, callee), n in sorted(wrong.items(), key=lambda x: -x[1]):
        if sum(wrong.values()) > max(1, WRONG / 100 * s["samples"]):
            yield "wrong pair %6d  %s -> %s" % (n, caller, callee)
    total = sum(n for _, n in mine)
    for share, chain in want.chains:
        got = percent(sum(n for k, n in mine if re.search(chain, k)), total)
        if got < share:
            yield "chain %.1f %% < %d %%: %s" % (got, share, chain)


def main(argv):
    options, (mode, summary, home, classpath) = getopt.getopt(argv[1:], "vic:")
    options = dict(options)
    verbose, inline, least = "-v" in options, "-i" in options, float(options.get("-c", COMPLETE))
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    stacks = list(read(s["graphs"]["folded"]))
    want = Expected(mode, inline)

    pairs = pairs_of(stacks)
    code = Bytecode(home, classpath)
    code.load({split(a)[0] for a, _ in pairs if not HIDDEN.search(a)})
    verdict = {p: code.possible(*p) for p in pairs}
    checked = sum(n for p, n in pairs.items() if verdict[p] is not None)
    wrong = {p: n for p, n in pairs.items() if verdict[p] is False}

    mine = [(re.sub(r"_\[[ji0]\]", "", ";".join(f)), n) for t, f, n in stacks if re.fullmatch(want.thread, t)]
    total = sum(n for _, n in mine)
    outside = [(k, n) for k, n in mine if not re.search("(^|;)(%s)(;|$)" % want.root, k)]
    in_tree = 100 - percent(sum(n for _, n in outside), total)
    found = list(complaints(want, least, s, mine, wrong, in_tree))
    missed = sum(c.startswith("chain") for c in found)
    print("%6d %6d %7.2f %6.2f %6.2f %6.2f %6.2f %8d %5d %d/%d" % (
        s["samples"], total, 100 * s["complete"], 100 * s["unknown_frames"], 100 * s["nameless_frames"],
        100 * s["truncated"], in_tree, checked, sum(wrong.values()), len(want.chains) - missed, len(want.chains)))
    for c in found:
        print("# " + c)
    if verbose and not want.deep:
        for k, n in sorted(outside, key=lambda x: -x[1])[:8]:
            print("# outside %d %s" % (n, k[-400:]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
