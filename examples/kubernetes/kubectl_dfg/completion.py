# SPDX-License-Identifier: Apache-2.0
"""Completion in the shell: kubectl (1.26) calls kubectl_complete-dfg with the words so far."""
from kubectl_dfg.cluster import DONE, Cluster, Failure, clean
from kubectl_dfg.options import COMMANDS, OPTIONS, defaults, read
from kubectl_dfg.pods import KINDS

NO_SPACE, NO_FILE = 2, 4  # kubectl's directives
PREFIXES = ["deploy/", "sts/", "ds/", "rs/", "job/", "pod/"]


def options_of(words):
    try:
        return defaults(read(words))
    except Failure:
        return defaults(read([]))


def listed(cluster, *arguments):
    """Names of objects, without their kind"""
    done = cluster.run(*arguments, "-o", "name", timeout=5)
    lines = done.stdout.decode("utf-8", "replace").split() if done.returncode == 0 else []
    return [line.rpartition("/")[2] for line in lines]


def choices(cluster, options, words, current):
    previous = words[-1] if words else ""
    takes_value = {name for names, _, _, told in OPTIONS for name in names.split()
                   if told.get("action") != "store_true"}
    where = ["-n", options.namespace] if options.namespace else []
    if previous in ("-n", "--namespace", "--dfg-namespace"):
        return listed(cluster, "get", "namespaces")
    if previous == "--context":
        return listed(cluster, "config", "get-contexts")
    if previous in takes_value:
        return []
    if current.startswith("-"):
        return [names.split()[-1] for names, commands, _, _ in OPTIONS if options.command in commands]
    kind, slash, _ = current.rpartition("/")
    if slash:
        return [f"{kind}/{name}" for name in listed(cluster, "get", KINDS.get(kind, kind), *where)]
    verbs = [] if options.words else sorted(COMMANDS)
    return verbs + PREFIXES + listed(cluster, "get", "pods", *where)


def complete(words):
    """Prints what the last word may become, and kubectl's directive."""
    *before, current = words or [""]
    options = options_of(before)
    try:
        found = choices(Cluster(options), options, before, current)
    except Failure:
        found = []
    found = [word for word in found if word.startswith(current)]
    for word in found:
        print(clean(word))
    print(f":{NO_FILE | (NO_SPACE if found and all(w.endswith('/') for w in found) else 0)}")
    return DONE
