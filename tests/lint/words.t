#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks what a person reads: no retired word of docs/glossary.md in comments, messages and documents,
and no comment that begins with a noun clause instead of a verb or its subject."""
import re
import subprocess

from tap import check, run

PROSE = (".md", ".1", ".8", ".html")
CODE = (".c", ".h", ".js", ".css")
SHELL = (".sh", ".t", ".py")
EXCEPT = ("docs/glossary.md", "tests/lint/words.t", "tests/golden/", "tests/fuzz/corpus/")
CLAUSE = re.compile(r"(?:What|Whether|Where|How|Which|That)\b(?! is | are )")


def files():
    found = subprocess.run(["find", ".", "-path", "./.git", "-prune", "-o", "-path", "./build*", "-prune",
                            "-o", "-type", "f", "-print"], check=True, capture_output=True, text=True)
    for path in sorted(found.stdout.split("\n")):
        path = path[2:]
        if path.endswith(PROSE + CODE + SHELL) and not path.startswith(EXCEPT):
            yield path


def comments(path, text):
    """The comments of a source file, and its strings, which may be messages; all of a document."""
    if path.endswith(PROSE):
        return [text]
    if path.endswith(SHELL):
        return re.findall(r"^\s*# (.*)$", text, re.M)
    blocks = re.findall(r"/\*(.*?)\*/", text, re.S) + re.findall(r"//(.*)$", text, re.M)
    return [re.sub(r"\s*\n\s*\*?\s*", " ", b).strip() for b in blocks] + re.findall(r'"([^"\n]*)"', text)


def retired():
    table = open("docs/glossary.md").read().split("## Retired words")[1]
    for line in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table, re.M):
        if line != "instead of":
            yield line


def main():
    read = {path: comments(path, open(path, errors="replace").read()) for path in files()}
    for word in retired():
        pattern = re.compile(r"\b" + re.escape(word).replace(r"\ ", r"\s+") + r"\b", re.I)
        check(f'nothing says "{word}"', [
            f"{p}: {c.strip()[:140]}" for p, cs in read.items() for c in cs if pattern.search(c)])
    check("comments begin with a verb or their subject", [
        f"{p}: {c[:100]}" for p, cs in read.items() if p.endswith(CODE[:2])
        for c in cs if CLAUSE.match(c) and not c.rstrip().endswith("?")])


run(main)
