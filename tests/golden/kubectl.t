#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""kubectl dfg without a cluster: its command line, what it asks kubectl for, and what it believes of the answers.
tests/e2e/package/kubectl.t has the real kubectl."""
import contextlib
import io
import json
import os
import sys
import tempfile
import types

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(TOP, "tests/lint"), os.path.join(TOP, "examples/kubernetes")]
from kubectl_dfg import cluster, graphs, options, pods, recordings
from tap import check, run


def same(name, got, want):
    check(name, [] if got == want else [f"got: {got!r}", f"want: {want!r}"])


def failure(call, *arguments):
    """Exit status and message"""
    try:
        return call(*arguments)
    except cluster.Failure as e:
        return e.status, str(e)


class Fake(cluster.Cluster):
    """kubectl's answers; the arguments of each call are in asked."""

    def __init__(self, *argv, answers=()):
        super().__init__(options.parse(list(argv)))
        self.asked, self.answers = [], list(answers)

    def run(self, *arguments, timeout=60):
        self.asked.append(list(arguments))
        status, out, err = self.answers.pop(0)
        out = out if isinstance(out, bytes) else json.dumps(out).encode()
        return types.SimpleNamespace(returncode=status, stdout=out, stderr=err.encode())


def command_line():
    def parsed(*argv):
        return failure(options.parse, list(argv))
    o = parsed("-n", "shop", "deploy/web", "-d", "1m")
    same("a target without a command is recorded", (o.command, o.targets, o.duration),
         ("trigger", [("deployments.apps", "web")], 60))
    same("the command comes first of the words", parsed("--context", "c", "top", "web").command, "top")
    same("a pod may be called as a command", parsed("pod/top").targets, [("pods", "top")])
    for word, kind in {"deployment.v1.apps/a": None, "deployment.apps/a": "deployments.apps", "deployments.apps/a": "deployments.apps", "sts/a": "statefulsets.apps",
                       "ds/a": "daemonsets.apps", "rs/a": "replicasets.apps", "job/a": "jobs.batch", "a": "pods"}.items():
        got = parsed(word)
        same(f"target {word}", got.targets[0][0] if kind else got[0], kind or cluster.USAGE)
    for argv, says in {"": "trigger needs a target", "top": "top needs a target", "status web": "takes no target",
                       "web -l a=b": "not both", "-A web": "-A goes with -l", "-A -n x -l a=b": "-A goes with -l",
                       "web --plain": "--plain is no option of trigger", "top web --keep": "--keep is no option of top", "web -e deopt": "trigger takes one of cpu, wall",
                       "web -d 0": "must be from 1s to 24h", "web -d 25h": "must be from 1s to 24h",
                       "web -F 100001": "a whole number from 1 to 100000", "top web --by none": "top takes pool or thread",
                       "../x": "must be a pod's name", "pod/-x": "is no name", "no/x": "must be a pod's name",
                       "web --nothing": "unrecognized arguments: --nothing", "doctor -c web": "-c goes with"}.items():
        got = parsed(*argv.split())
        check(f"'{argv}' is refused in one line", [] if isinstance(got, tuple) and got[0] == cluster.USAGE
              and says in got[1] and "\n" not in got[1] else [got])
    same("flags of kubectl are passed on", Fake("web", "--context", "c", "--kubeconfig=/x y", "--kubectl", "k").command,
         ["k", "--context=c", "--kubeconfig=/x y"])


def item(name="web-1", node="node-a", phase="Running", **metadata):
    return {"metadata": {"name": name, "namespace": "shop", **metadata},
            "spec": {"nodeName": node, "containers": [
                {"name": "web", "resources": {"limits": {"cpu": "1500m"}}}, {"name": "side"}]},
            "status": {"phase": phase, "containerStatuses": [
                {"name": n, "containerID": f"containerd://{n}{name}", "state": {"running": {}}} for n in ("web", "side")]}}


def found(*argv, answers):
    fake = Fake(*argv, answers=[(0, a, "") for a in answers])
    return fake.asked, failure(pods.find_pods, fake, options.parse(list(argv)))


def finding():
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [
        {"key": "t", "operator": "In", "values": ["a", "b"]}, {"key": "u", "operator": "NotIn", "values": ["c"]},
        {"key": "v.io/w", "operator": "Exists"}, {"key": "x", "operator": "DoesNotExist"}]}
    asked, got = found("deploy/web", "-n", "shop", answers=[{"spec": {"selector": selector}}, {"items": [item()]}])
    same("a workload's pods are asked for by its selector", asked, [
        ["get", "deployments.apps", "web", "-n", "shop", "-o", "json"],
        ["get", "pods", "-l", "app in (web),t in (a,b),u notin (c),v.io/w,!x", "-n", "shop", "-o", "json"]])
    same("all containers that run, with their limits", (got[0].containers, got[0].limits), (
        {"web": "webweb-1", "side": "sideweb-1"}, {"webweb-1": 1.5, "sideweb-1": None}))
    for what, selector in {"an empty one": {}, "one with another operator": {"matchExpressions": [
            {"key": "t", "operator": "Gt", "values": ["1"]}]}, "one with a comma": {"matchLabels": {"a": "b),c"}}}.items():
        asked, got = found("rs/web", answers=[{"spec": {"selector": selector}}])
        check(f"a selector is not used: {what}", [] if got[0] == cluster.FAILED and len(asked) == 1 else [got])
    asked, got = found("web-1", "web-1", "-c", "side", answers=[item(), item()])
    same("-c: one container; a pod that is named twice counts once", [p.containers for p in got], [{"side": "sideweb-1"}])
    same("-c: none of this name", found("web-1", "-c", "x", answers=[item()])[1],
         (cluster.NO_POD, "no pod has a running container x"))
    same("a pod that waits", found("web-1", answers=[item(phase="Pending")])[1], (cluster.NO_POD, "pods/web-1: no pod of it runs"))
    same("-A: of all namespaces", found("-A", "-l", "a=b", answers=[{"items": [item()]}])[0],
         [["get", "pods", "-l", "a=b", "-A", "-o", "json"]])
    fake = Fake("web", answers=[(1, b"", 'Error from server (NotFound): pods "web" not found\n')])
    same("no such pod", failure(fake.get, "pods", "web"), (cluster.NO_POD, 'Error from server (NotFound): pods "web" not found'))


def names():
    """Case 93."""
    for owner in ("../../../elsewhere", "/absolute", "\033]0;title\a", "..", 5, None):
        metadata = item(ownerReferences=[{"controller": True, "name": owner}])["metadata"]
        same(f"case 93: a pod with the owner {owner!r} is called by its own name", pods.workload_of(metadata), "web-1")
    metadata = item(ownerReferences=[{"controller": True, "name": "web-5d9"}], labels={"pod-template-hash": "5d9"})["metadata"]
    same("a ReplicaSet is called as its Deployment", pods.workload_of(metadata), "web")
    with contextlib.redirect_stderr(io.StringIO()) as said:
        for bad in (item("../x"), item("-x"), item(node="\033]0;title\a"), item(namespace="shop/..")):
            same(f"case 93: left out: {bad['metadata']} on {bad['spec']['nodeName']!r}", bool(cluster.is_named(bad)), False)
    check("  and said without control characters", [c for c in said.getvalue() if not c.isprintable() and c != "\n"])


def summary(path, **verdict):
    return {"container": {"id": "webweb-1"}, "graphs": {"pprof": path}, "samples": 90, "complete": 1, "unknown_frames": 0,
            "jvms": [{}], "cut": [], "verdict": {"cpus_used": 0.5, "cpu_limit": None, "throttled_periods": None, "warnings": [], **verdict}}


def recording(answers, *argv):
    with tempfile.TemporaryDirectory() as directory:
        fake = Fake("web-1", *argv, answers=answers)
        chosen = options.parse(["web-1", "-d", "5", "-o", directory, *argv])
        return fake.asked, failure(recordings.record_node, fake, "agent", [pods.pod_of(item(), None)], chosen), os.listdir(directory)


def recorded():
    good = "/var/lib/dfg/containers/webweb-1/graphs/20261121T095020Z/flame.pb.gz"
    asked, got, _ = recording([(0, summary(good), ""), (0, b"profile", ""), (0, b"", "")])
    same("what is executed on a node", [a[a.index("--") + 1:] for a in asked], [
        ["dfg-trigger", "--json", "-q", "-d", "5", "-F", "99", "-f", "pprof", "--", "sideweb-1", "webweb-1"],
        ["cat", good], ["rm", "-rf", os.path.dirname(good)]])
    same("the limit is the pod's, where the node sees none", got[0].verdict["cpu_limit"], 1.5)
    asked, got, _ = recording([(0, {**summary(good), "wall": {"finding": "waits"}}, ""), (0, b"profile", ""), (0, b"", "")], "-e", "wall")
    same("-e is passed on", asked[0][asked[0].index("pprof"):][1:4], ["-e", "wall", "--"])
    same("  and to dfg-merge", graphs.merge_arguments(options.parse(["web-1", "-e", "wall"]))[-2:], ["--event", "wall"])
    same("  the node's finding is there", got[0].finding, "waits")
    asked, _, _ = recording([(0, summary(good), ""), (0, b"profile", "")], "--keep", "--keep-flags")
    same("--keep leaves it there, --keep-flags is passed on", ["--keep-flags" in a for a in asked], [True, False])
    gone = 'dfg-trigger: no running container "sideweb-1"; see dfg-trigger --list\ncommand terminated with exit code 3\n'
    asked, _, _ = recording([(3, b"", gone), (0, summary(good), ""), (0, b"", ""), (0, b"", "")])
    same("a container that is gone is left out", [a[-1] for a in asked[:2]] + [len(asked[1]) - len(asked[0])], ["webweb-1", "webweb-1", -1])
    for path in ("/etc/shadow", "/var/lib/dfg/../../etc/graphs/2026/flame.pb.gz", "--help", good.replace("webweb-1", "other"),
                 good.replace("2026", ".."), good + "\n"):
        asked, got, files = recording([(0, summary(path), "")])
        check(f"case 93: a path {path!r} that a node tells is not asked for", [] if "not where a profile of webweb-1 is"
              in got[1] and len(asked) == 1 and not files else [got, asked, files])


def verdicts():
    pod = pods.pod_of(item(), None)

    def member(cut=(), **verdict):
        return recordings.Recording(pod, "", 1, 1, 0, True, recordings.verdict_of(summary("", **verdict)["verdict"], cut, 1.5), "")
    shares = {"shares": {"application": 0.5, "gc": 0.496, "compiler": 0, "jvm": 0.004, "kernel": 0}}
    for name, members, want in (
            ("processors and limits of all pods are added up", [member(), member()],
             "1.00 of limit 3.00; application 50 %, gc 50 %, jvm <1 %"),
            ("the worst is throttled", [member(throttled_periods=0.1), member(throttled_periods=0.34)],
             "1.00 of limit 3.00, throttled in up to 34 % of periods; application 50 %, gc 50 %, jvm <1 %"),
            ("not known of one: not known", [member(), member(cpus_used=None)], "application 50 %, gc 50 %, jvm <1 %")):
        same(name, graphs.cpu_line({**graphs.cpu_of(members), **shares}), want)
    same("what is cut is a warning, too", member(cut=["cut"]).verdict["warnings"], [("cut", "cut")])
    warning = [{"kind": "lost", "text": "lost"}]
    same("a warning once, with its pods", graphs.warnings_of([member(warnings=warning), member(warnings=warning), member()]),
         [{"kind": "lost", "text": "lost", "pods": ["web-1", "web-1"]}])


def main():
    command_line()
    finding()
    names()
    recorded()
    verdicts()


run(main)
