#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Links of documents lead to files of the tree, and to headings in them."""
import os
import re

from tap import check, run

LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchor(heading):
    """As GitHub and GitLab make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(path):
    with open(path, encoding="utf-8") as file:
        return {anchor(h) for h in re.findall(r"^#+ (.*)$", file.read(), re.M)}


def broken(path):
    with open(path, encoding="utf-8") as file:
        targets = LINK.findall(file.read())
    for target in targets:
        name, _, part = target.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if re.match(r"[a-z]+:", target):
            continue
        if not os.path.exists(to):
            yield f"{path}: {target}: no such file"
        elif part and to.endswith(".md") and part not in anchors_of(to):
            yield f"{path}: {target}: no such heading"


def documents():
    for folder, folders, files in os.walk("."):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        yield from (os.path.join(folder, f) for f in files if f.endswith(".md"))


def checks():
    found = list(documents())
    check("there are documents", [] if len(found) > 20 else [len(found)])
    check("their links lead to files and headings", [b for d in found for b in broken(d)])


run(checks)
