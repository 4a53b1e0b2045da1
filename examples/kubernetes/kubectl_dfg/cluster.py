# SPDX-License-Identifier: Apache-2.0
"""kubectl, the DaemonSet's pods on the nodes, and messages."""
import concurrent.futures
import json
import re
import subprocess
import sys

DONE, FAILED, USAGE, NO_POD, NO_JVM = range(5)
CLUSTER_FLAGS = ("context", "cluster", "user", "kubeconfig")  # passed on to kubectl
# What the API server accepts as a name (RFC 1123 subdomain). Owners' names it does not check.
# Whatever becomes part of a path, an argument or a message is held against it.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
EXEC_STATUS = re.compile(r"command terminated with (non-zero )?exit code")


class Failure(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Cluster:
    """What is asked of kubectl."""

    def __init__(self, options):
        self.dfg_namespace = options.dfg_namespace
        chosen = [(flag, getattr(options, flag)) for flag in CLUSTER_FLAGS]
        self.command = [options.kubectl, *(f"--{flag}={value}" for flag, value in chosen if value)]

    def run(self, *arguments, timeout=60):
        try:
            return subprocess.run([*self.command, *arguments], timeout=timeout,
                                  stdin=subprocess.DEVNULL, capture_output=True)
        except FileNotFoundError:
            raise Failure(FAILED, f"{self.command[0]}: no such program")
        except subprocess.TimeoutExpired:
            raise Failure(FAILED, f"{self.command[0]} {arguments[0]}: no answer in {timeout} s")

    def get(self, *arguments):
        done = self.run("get", *arguments, "-o", "json")
        if done.returncode:
            text = last_line(done.stderr) or f"{self.command[0]} get {arguments[0]} failed"
            raise Failure(NO_POD if "(NotFound)" in text else FAILED, text)
        return json.loads(done.stdout)

    def serving(self):
        """node -> pod of the DaemonSet there"""
        found = self.get("pods", "-n", self.dfg_namespace, "-l", "app.kubernetes.io/name=dfg")
        return {p["spec"]["nodeName"]: p["metadata"]["name"] for p in found["items"]
                if is_running(p) and is_named(p)}

    def agent(self, node):
        """The pod of the DaemonSet on this node"""
        agents = self.serving()
        if node not in agents:
            raise Failure(FAILED, f"node {node}: dfg does not serve there")
        return agents[node]

    def nodes(self):
        return sorted(n["metadata"]["name"] for n in self.get("nodes")["items"])

    def exec_arguments(self, pod, *command, terminal=()):
        return ["exec", *terminal, "-n", self.dfg_namespace, pod, "-c", "dfg", "--", *command]

    def execute(self, pod, *command, timeout=60):
        return self.run(*self.exec_arguments(pod, *command), timeout=timeout)

    def attach(self, pod, *command):
        """Runs a command with this terminal, if there is one; returns its exit status."""
        terminal = ["-it"] if sys.stdin.isatty() and sys.stdout.isatty() else []
        return subprocess.call(self.command + self.exec_arguments(pod, *command, terminal=terminal))


def last_line(text):
    """Of what a program says; kubectl exec adds a line about its exit status."""
    lines = [line for line in text.decode("utf-8", "replace").split("\n")
             if line.strip() and not EXEC_STATUS.match(line)]
    return lines[-1].strip() if lines else ""


def clean(text):
    """Without control characters: part of it may come from a pod or a node."""
    return "".join(c if c.isprintable() else "?" for c in str(text))


def say(text):
    print("kubectl dfg: " + clean(text), file=sys.stderr)


def show(text):
    print(clean(text))


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def is_running(pod):
    return pod.get("status", {}).get("phase") == "Running" and pod.get("spec", {}).get("nodeName")


def is_name(value):
    return isinstance(value, str) and NAME.fullmatch(value)


def is_named(pod):
    """False for names that no API server would have accepted."""
    metadata = pod["metadata"]
    names = (metadata["name"], metadata.get("namespace", "default"), pod["spec"]["nodeName"])
    if all(map(is_name, names)):
        return True
    say(f"left out: a pod with the name {names[1]}/{names[0]} on the node {names[2]}")
    return False


def on_nodes(jobs):
    """jobs: node -> function, called at the same time; yields node, and what gives the result"""
    with concurrent.futures.ThreadPoolExecutor(max(len(jobs), 1)) as pool:
        running = {pool.submit(job): node for node, job in sorted(jobs.items())}
        for done in concurrent.futures.as_completed(running):
            yield running[done], done
