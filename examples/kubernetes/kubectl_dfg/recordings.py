# SPDX-License-Identifier: Apache-2.0
"""Recordings on the nodes: made at the same time, fetched, and removed there."""
import collections
import json
import os
import re

from kubectl_dfg.cluster import (DONE, FAILED, NO_JVM, NO_POD, Failure, count, last_line, on_nodes,
                                 say)
from kubectl_dfg.pods import by_node

# Where dfg-trigger puts a profile on a node.
GRAPHS = re.compile(r"/var/lib/dfg/containers/([^/]+)/graphs/[0-9TZ-]+/flame\.pb\.gz")
RETRIES = 3  # a pod that ended between the list and the recording is left out
Recording = collections.namedtuple("Recording", "pod file samples complete unknown java verdict finding")


def record_node(cluster, agent, pods, options):
    """Recordings of this node's pods; the file of each is on this machine."""
    by_id = {c: p for p in pods for c in p.containers.values()}
    flags = ["-d", str(options.duration), "-F", str(options.frequency), "-f", "pprof"]
    flags += ["-e", options.event] if options.event else []
    flags += ["--keep-flags"] if options.keep_flags else []
    for _ in range(RETRIES):
        done = cluster.execute(agent, "dfg-trigger", "--json", "-q", *flags, "--", *sorted(by_id),
                               timeout=options.duration + 300)
        complaint = last_line(done.stderr) if done.returncode == NO_POD else ""
        gone = [c for c in by_id if c[:12] in complaint]
        if not gone:
            break
        for c in gone:
            del by_id[c]
        if not by_id:
            return []
    if done.returncode not in (DONE, NO_JVM):
        raise Failure(FAILED, last_line(done.stderr) or "dfg-trigger failed")
    summary = json.loads(done.stdout)
    return [fetch(cluster, agent, by_id, s, options) for s in summary.get("recordings", [summary])]


def fetch(cluster, agent, by_id, summary, options):
    container = summary["container"]["id"]
    pod = by_id[container]
    path = summary["graphs"]["pprof"]
    place = GRAPHS.fullmatch(path)
    if not place or place[1] != container:
        raise Failure(FAILED, f"{path}: not where a profile of {container} is")
    done = cluster.execute(agent, "cat", path, timeout=300)
    if done.returncode:
        raise Failure(FAILED, f"{path}: {last_line(done.stderr)}")
    # The recording is some hundred megabytes, and the node's room is small.
    if not options.keep:
        cluster.execute(agent, "rm", "-rf", os.path.dirname(path))
    directory = os.path.join(options.output, "pprof")
    os.makedirs(directory, exist_ok=True)
    name = os.path.join(directory, f"{pod.namespace}.{pod.name}.{container[:12]}.pb.gz")
    with open(name, "wb") as f:
        f.write(done.stdout)
    return Recording(pod, name, int(summary["samples"]), float(summary["complete"]),
                     float(summary["unknown_frames"]), bool(summary["jvms"]),
                     verdict_of(summary["verdict"], summary["cut"], pod.limits[container]),
                     str(summary.get("wall", {}).get("finding", "")))


def verdict_of(verdict, cut, limit):
    """What is used of a node's verdict and of what its recording lacks, each value of the type that
    is expected. The DaemonSet's pod may not see the control groups of others; the limit is in the
    pod's spec, too."""
    known = {k: None if verdict[k] is None else float(verdict[k])
             for k in ("cpus_used", "cpu_limit", "throttled_periods")}
    known["cpu_limit"] = known["cpu_limit"] or limit
    warnings = [(str(w["kind"]), str(w["text"])) for w in verdict["warnings"]]
    return {**known, "warnings": warnings + [(str(text), str(text)) for text in cut]}


def record_all(cluster, pods, options):
    """-> recordings, and the nodes that failed"""
    agents, nodes, jobs = cluster.serving(), by_node(pods), {}
    recordings, failed = [], []
    for node, there in sorted(nodes.items()):
        if node in agents:
            jobs[node] = lambda a=agents[node], t=there: record_node(cluster, a, t, options)
        else:
            failed.append(node)
            say(f"node {node}: dfg does not serve there: {count(len(there), 'pod')} left out")
    for node, done in on_nodes(jobs):
        try:
            recordings += done.result()
        except Failure as e:
            failed.append(node)
            say(f"node {node}: {e}")
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            failed.append(node)
            say(f"node {node}: its dfg-trigger has another version, or is none: {e!r}")
    return sorted(recordings, key=lambda r: r.file), sorted(failed)
