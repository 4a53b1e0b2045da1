# SPDX-License-Identifier: Apache-2.0
"""Graphs of workloads: recordings merged by dfg-merge on this machine, and their verdicts."""
import collections
import json
import os
import subprocess
import webbrowser

from kubectl_dfg.cluster import FAILED, USAGE, Failure, count, last_line, say, show


def merge_arguments(options):
    arguments = ["dfg-merge", "-q", "--json", "-f", options.format]
    arguments += ["--by", options.by or "container,pool"]
    arguments += ["--event", options.event] if options.event else []
    for flag in ("include", "exclude"):
        for value in getattr(options, flag):
            arguments.append(f"--{flag}={value}")
    return arguments + (["--java-only"] if options.java_only else [])


def run_merge(arguments, where=None):
    """-> the finished process, None where dfg-merge is not installed"""
    try:
        return subprocess.run(arguments, capture_output=True, cwd=where)
    except FileNotFoundError:
        return None


def check_merge(options):
    """Finds what dfg-merge will not take before minutes are spent on a recording."""
    done = run_merge([*merge_arguments(options), "--help"])
    if done and done.returncode:
        raise Failure(USAGE, last_line(done.stderr))


def merge(members, directory, options):
    os.makedirs(directory, exist_ok=True)
    # Stacks begin with the file as it is named.
    files = [os.path.basename(r.file) for r in members]
    done = run_merge([*merge_arguments(options), "-o", os.path.abspath(directory), "--", *files],
                     os.path.join(options.output, "pprof"))
    profiles = f"the nodes' profiles are in {options.output}/pprof"
    if not done:
        raise Failure(FAILED, f"dfg-merge is not installed here; {profiles}")
    if done.returncode:
        raise Failure(FAILED, f"{directory}: {last_line(done.stderr)}; {profiles}")
    merged = json.loads(done.stdout)
    if "verdict" not in merged:
        raise Failure(FAILED, f"dfg-merge here is older than this plugin; {profiles}")
    return merged


def groups_of(recordings, per_pod):
    """(namespace, workload[, pod]) -> recordings"""
    groups = collections.defaultdict(list)
    for r in recordings:
        groups[(r.pod.namespace, r.pod.workload)].append(r)
        if per_pod:
            groups[(r.pod.namespace, r.pod.workload, r.pod.name)].append(r)
    return sorted(groups.items())


def draw(recordings, options):
    """-> one result for each graph, as --json has it"""
    return [result_of(key, members, merge(members, os.path.join(options.output, *key), options))
            for key, members in groups_of(recordings, options.per_pod)]


def result_of(key, members, merged):
    verdict = merged["verdict"]
    return {"namespace": key[0], "workload": key[1], "pod": key[2] if len(key) > 2 else None,
            "pods": sorted({r.pod.name for r in members}),
            "nodes": sorted({r.pod.node for r in members}),
            "event": merged["event"], "unit": merged["unit"],
            "samples": merged["samples"], "complete": mean(members, "complete"),
            "unknown_frames": mean(members, "unknown"),
            "verdict": {**cpu_of(members), "shares": verdict["shares"],
                        "top_methods": verdict["top_methods"],
                        "top_subjects": verdict["top_subjects"],
                        "findings": [{"pod": r.pod.name, "text": r.finding}
                                     for r in members if r.finding],
                        "warnings": warnings_of(members)},
            "graphs": merged["graphs"]}


def mean(recordings, key):
    """By samples, of those that have any"""
    total = sum(r.samples for r in recordings)
    return sum(r.samples * getattr(r, key) for r in recordings) / total if total else None


def cpu_of(members):
    """Processors used and allowed, of all; the share of periods in which the worst was throttled"""
    def known(key, how):
        values = [r.verdict[key] for r in members]
        return None if None in values else how(values)
    return {"cpus_used": known("cpus_used", sum), "cpu_limit": known("cpu_limit", sum),
            "throttled_periods": known("throttled_periods", max)}


def warnings_of(members):
    """One of each kind, and the pods that have it"""
    kinds = {}
    for r in members:
        for kind, text in r.verdict["warnings"]:
            kinds.setdefault(kind, {"kind": kind, "text": text, "pods": []})
            kinds[kind]["pods"].append(r.pod.name)
    return list(kinds.values())


def percent(share):
    return "-" if share is None else f"{100 * share:.1f} %"


def whole_percent(share):
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def cpu_line(verdict):
    used, limit, throttled = (verdict[k] for k in ("cpus_used", "cpu_limit", "throttled_periods"))
    order = ("application", "gc", "compiler", "jvm", "kernel")
    shares = [f"{k} {whole_percent(verdict['shares'][k])}" for k in order
              if verdict["shares"][k] or k == "application"]
    text = ", ".join(shares)
    if throttled:
        text = f"throttled in up to {whole_percent(throttled)} of periods; {text}"
    if used is not None:
        text = f"{used:.2f} " + (f"of limit {limit:.2f}" if limit else "processors") \
            + (", " if throttled else "; ") + text
    return text


def amount(number, unit):
    if unit == "ns":
        return f"{number / 1e9:.1f} s"
    if unit == "bytes":
        return f"{number / 1e6:.1f} MB"
    return f"{number} {unit}"


# Who is named with a subject, and what it was waited for.
BY = {"alloc": ("allocated by",), "lock": ("wanted by", "held by"),
      "safepoint": ("asked for by", "waiting for"), "compile": ("compiled by",)}


def print_subjects(verdict, event):
    for s in verdict["top_subjects"]:
        who = zip(BY.get(event, ()), (s["method"], s["holder"]))
        text = ", ".join([s["class"], *(f"{by} {name}" for by, name in who if name)])
        show(f"  {event:<11} {percent(s['share']):>7}  {text}")


def print_findings(verdict):
    for f in verdict["findings"]:
        show(f"  waiting      {f['pod']}: {f['text']}")


def print_methods(verdict):
    for m in verdict["top_methods"]:
        total, self_ = percent(m["total"]), percent(m["self"])
        owner = "" if m["code"] == "application" else f" ({m['code']})"
        show(f"  method      {total:>7}  self {self_:>7}  {m['name']}{owner}")


def print_warnings(verdict, pods):
    for w in verdict["warnings"]:
        whose = f"{w['pods'][0]}: "
        if len(set(w["pods"])) > 1:
            whose = f"{len(set(w['pods']))} pods, as {whose}"
        show(f"  warning      {whose if len(pods) > 1 else ''}{w['text']}")


def print_result(result):
    """The lines of dfg-trigger's summary, of a workload"""
    pods, nodes = count(len(result["pods"]), "pod"), count(len(result["nodes"]), "node")
    of_pod = result["pod"] is not None
    title = f"{result['namespace']}/{result['pod'] if of_pod else result['workload']}"
    show(title if of_pod else f"{title}, {pods} on {nodes}")
    if result["event"] == "cpu":
        if result["samples"]:
            show(f"  cpu          {cpu_line(result['verdict'])}")
        print_methods(result["verdict"])
    print_findings(result["verdict"])
    print_subjects(result["verdict"], result["event"])
    print_warnings(result["verdict"], result["pods"])
    name = "samples" if result["event"] == "cpu" else result["event"]
    show(f"  {name:<12} {amount(result['samples'], result['unit'])} · "
         f"{percent(result['complete'])} of Java stacks complete · "
         f"{percent(result['unknown_frames'])} frames unknown")
    for name, path in result["graphs"].items():
        near = os.path.relpath(path)
        show(f"  {name:<12} {path if near.startswith('..') else near}")


def open_page(results):
    page = results[0]["graphs"].get("html") or next(iter(results[0]["graphs"].values()))
    if not webbrowser.open("file://" + page):
        say(f"--open: no browser is found; open {page} yourself")
