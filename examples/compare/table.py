#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""table.py DIRECTORY: the table of a run of run.sh, as text, Markdown and JSON.

A figure is the mean of the rounds. A difference counts if it is more than LEAST of the first one's, since two starts of the
same JVM differ by some percent, and if a t-test says that rounds which vary so differ by chance in less than CHANCE of
all tables (for each column: CHANCE divided by their number)."""
import collections
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

LEAST = 0.10
CHANCE = 0.01
SMALL = 0.02  # a part of the processor time below this share of the whole is not judged
DRIVER = r"org\.(hsqldb|postgresql)\."
# key, title, unit's digits
COLUMNS = [
    ("throughput", "requests/s", 1), ("p50", "p50", 1), ("p90", "p90", 1), ("p99", "p99", 1),
    ("total", "JVM", 3), ("application", "application", 3), ("driver", "driver", 3), ("jit", "JIT", 3),
    ("gc", "GC", 3), ("jvm", "runtime", 3), ("kernel", "kernel", 3), ("database", "database", 3)]
PARTS = [key for key, _, _ in COLUMNS[5:]]


def load_of(path):
    """Requests, seconds, errors and percentiles in milliseconds, of wrk's JSON or JMeter's CSV."""
    with open(path) as file:
        if file.read(1) == "{":
            file.seek(0)
            return json.load(file)
        file.seek(0)
        rows = [(int(r[0]), int(r[1]), r[7] == "true") for r in csv.reader(file) if r and r[0].isdigit()]
    times = sorted(elapsed for _, elapsed, _ in rows)
    seconds = (max(at + elapsed for at, elapsed, _ in rows) - min(at for at, _, _ in rows)) / 1000
    return {"requests": len(rows), "seconds": seconds, "errors": sum(not good for _, _, good in rows),
            **{f"p{p}": times[min(len(times) - 1, len(times) * p // 100)] for p in (50, 90, 99)}}


def spans_of(rounds, began):
    """For each round of a configuration the seconds of the recording that belong to it: with half of the pauses between
    rounds, as the beginning is not known exactly."""
    times = [(int(begin) - began, int(end) - began) for _, begin, end, *_ in rounds]
    middles = [(end + begin) // 2 for (_, end), (begin, _) in zip(times, times[1:])]
    return list(zip([max(times[0][0], 0)] + middles, middles + [10 ** 6]))


def samples_of(session, begin, end, *options):
    """Samples of a span by what the processor did, as dfg's verdict divides them."""
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run(
            [os.environ.get("DFG_TRIGGER", "dfg-trigger"), "--replay", session, "-q", "--json", "-f", "folded",
             "-o", folder, "--from", str(begin), "--to", str(end), *options], check=True, capture_output=True, text=True)
    summary = json.loads(out.stdout)
    return {kind: share * summary["samples"] for kind, share in summary["verdict"]["shares"].items()}


def figures(directory, name, session, span, number, cpu, db_cpu):
    """All columns of one round; processor time in milliseconds per request."""
    load = load_of(f"{directory}/{name}-{number}.load")
    if load["errors"]:
        print(f"table.py: {name}, round {number}: {load['errors']} of {load['requests']} requests failed", file=sys.stderr)
    kinds = samples_of(session, *span)
    driver = samples_of(session, *span, "--include", DRIVER)["application"]
    total = int(cpu) / 1e6 / load["requests"]
    per_sample = total / max(sum(kinds.values()), 1)
    parts = {"application": kinds["application"] - driver, "driver": driver, "jit": kinds["compiler"],
             "gc": kinds["gc"], "jvm": kinds["jvm"], "kernel": kinds["kernel"]}
    return {"throughput": load["requests"] / load["seconds"], **{p: load[p] for p in ("p50", "p90", "p99")},
            "total": total, **{part: n * per_sample for part, n in parts.items()},
            "database": int(db_cpu) / 1e6 / load["requests"]}


def chance(old, new):
    """The probability that means of samples which vary so differ by as much: Student's t-test, two-sided, of logarithms,
    since figures vary by factors."""
    old, new = ([math.log(max(x, 1e-4)) for x in values] for values in (old, new))
    freedom = len(old) + len(new) - 2
    pooled = sum((len(x) - 1) * statistics.variance(x) for x in (old, new)) / freedom
    if pooled == 0:
        return float(old == new)
    t = abs(statistics.mean(new) - statistics.mean(old)) / math.sqrt(pooled * (1 / len(old) + 1 / len(new)))
    # The density's integral from 0 to t, with x = sqrt(freedom) * tan(angle), by the midpoint rule.
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    end, steps = math.atan(t / math.sqrt(freedom)), 2000
    middle = sum(math.cos((i + 0.5) * end / steps) ** (freedom - 1) for i in range(steps)) * end / steps
    return max(0.0, 1 - 2 * scale * middle)


def change(before, after, key):
    """The change of the mean, as a share ("new" of nothing); None where it does not count."""
    old, new = ([r[key] for r in rounds] for rounds in (before, after))
    a, b = statistics.mean(old), statistics.mean(new)
    if key in PARTS and max(a, b) < SMALL * statistics.mean(r["total"] for r in before):
        return None
    if abs(b - a) <= LEAST * a or chance(old, new) > CHANCE / len(COLUMNS):
        return None
    return (b - a) / a if a else "new"


def said(share):
    return "=" if share is None else share if share == "new" else f"{share:+.0%}"


def rows_of(result):
    """The lines of the table: title, then a figure for each column."""
    for name, c in result["configurations"].items():
        yield [name] + [f"{c['mean'][key]:.{digits}f}" for key, _, digits in COLUMNS]
        if "changes" in c:
            yield ["  change"] + [said(c["changes"][key]) for key, _, _ in COLUMNS]


def text_of(result):
    """Two tables below each other, so that a line fits a terminal."""
    rows = list(rows_of(result))
    for title, first, last in (("latency in ms", 0, 4), ("processor time per request in ms", 4, len(COLUMNS))):
        lines = [[title] + [t for _, t, _ in COLUMNS[first:last]]] + [[r[0]] + r[1 + first:1 + last] for r in rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            yield "  ".join([line[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(line[1:], widths[1:])])
        yield ""
    yield from verdicts(result)


def markdown_of(result):
    yield "| | " + " | ".join(t for _, t, _ in COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for row in rows_of(result):
        yield "| " + " | ".join(cell.strip() for cell in row) + " |"
    yield ""
    yield from verdicts(result)


def judged(diff):
    """dfg-diff's verdict. Compilers decide differently in two starts of a JVM, which changes methods by two percent or so:
    run.sh sets the limit above which a change counts."""
    limit = diff["limits"][0]
    share = limit["limit"].replace("%", " %")
    if not limit["exceeding"]:
        return diff["verdict"] if diff["verdict"].startswith("no ") else f"no significant change above {share} ({diff['verdict']})"
    return f"{diff['verdict']}, {len(limit['exceeding'])} by more than {share}"


def verdicts(result):
    for name, c in result["configurations"].items():
        if "changes" in c:
            changed = [t for key, t, _ in COLUMNS if c["changes"][key] is not None]
            yield f"{result['first']} -> {name}, table: {'changed: ' + ', '.join(changed) if changed else 'no significant change'}"
            yield f"{result['first']} -> {name}, dfg-diff: {c['diff']}"


def main(directory):
    with open(f"{directory}/recordings.json") as file:
        recordings = json.load(file)["recordings"]
    sessions = {r["container"]["name"].removeprefix("dfg-compare-"): r["session"] for r in recordings}
    began = int(open(f"{directory}/began").read())
    lines = collections.defaultdict(list)
    for line in open(f"{directory}/rounds"):
        name, *rest = line.split()
        lines[name].append(rest)
    rounds = {name: [figures(directory, name, sessions[name], span, number, cpu, db_cpu)
                     for (number, _, _, cpu, db_cpu), span in zip(those, spans_of(those, began))]
              for name, those in lines.items()}
    first = next(iter(rounds))
    result = {"first": first, "columns": {key: title for key, title, _ in COLUMNS}, "configurations": {}}
    for name, those in rounds.items():
        c = {"mean": {key: statistics.mean(r[key] for r in those) for key, _, _ in COLUMNS}, "rounds": those}
        if name != first:
            c["changes"] = {key: change(rounds[first], those, key) for key, _, _ in COLUMNS}
            c["diff"] = judged(json.load(open(f"{directory}/{first}-{name}.json")))
        result["configurations"][name] = c
    for ending, lines in (("txt", text_of(result)), ("md", markdown_of(result))):
        with open(f"{directory}/table.{ending}", "w") as file:
            file.writelines(line + "\n" for line in lines)
    with open(f"{directory}/table.json", "w") as file:
        json.dump(result, file, indent=1)
    print(open(f"{directory}/table.txt").read(), end="")


main(sys.argv[1])
