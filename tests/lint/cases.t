#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Holds the table of attacks in docs/security.md and the tests against each other: each case names the tests that
carry its number, "(case 13)" in a check's name or "Case 13" in a comment, or says why there is none."""
import re
import subprocess

from tap import check, run

CASES = 96
NUMBERS = re.compile(r"\b[Cc]ases? (\d+(?:(?:, case |, | and )\d+)*)\b")
LABEL = re.compile(r"^\s*case \d+( \.\.\. \d+)?:") # of C's switch
ROW = re.compile(r"^\| *(\d+) *\|(.*)\|(.*)\|(.*)\|$", re.M)


def numbers_of(text):
    for line in text.split("\n"):
        if not LABEL.match(line):
            for found in NUMBERS.findall(line):
                yield from map(int, re.findall(r"\d+", found))


def tests():
    found = subprocess.run(["find", "tests", "-path", "tests/fuzz/corpus", "-prune", "-o", "-path", "tests/lint",
                            "-prune", "-o", "-type", "f", "-regex", r".*\.\(c\|h\|t\|sh\|py\)", "-print"],
                           check=True, capture_output=True, text=True)
    for path in sorted(found.stdout.split()):
        yield path, set(numbers_of(open(path, errors="replace").read()))


def main():
    carried = dict(tests())
    rows = {int(n): (where, result) for n, _, where, result in ROW.findall(open("docs/security.md").read())}
    check(f"the table has the cases 1 to {CASES}, each once", sorted(set(range(1, CASES + 1)) ^ set(rows)))
    named = {n: re.findall(r"`([^`]+)`", where) for n, (where, _) in rows.items()}
    check("each case names a test, or says why there is none", [
        f"{n}: {where}" for n, (where, _) in rows.items()
        if not named[n] and not re.match(r" *(not applicable|not tested): \S", where)])
    check("each test that a case names carries its number", [
        f"{n}: {test}" for n, names in named.items() for test in names if n not in carried.get("tests/" + test, ())])
    check("each number in a test is in the table, with that test", [
        f"{path}: case {n}" for path, numbers in carried.items() for n in sorted(numbers)
        if path[len("tests/"):] not in named.get(n, ())])


run(main)
