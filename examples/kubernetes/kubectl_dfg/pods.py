# SPDX-License-Identifier: Apache-2.0
"""Pods: which of them are meant, and what of them is believed."""
import collections
import re

from kubectl_dfg.cluster import FAILED, NO_POD, USAGE, Failure, is_name, is_named, is_running

LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?")
# What may stand before "/": also kind.group, as kubectl get -o name tells it.
KINDS = {alias: kind for kind, aliases in {
    "pods": "po pod", "nodes": "no node", "jobs.batch": "jobs job job.batch",
    "deployments.apps": "deploy deployment deployments deployment.apps",
    "statefulsets.apps": "sts statefulset statefulsets statefulset.apps",
    "daemonsets.apps": "ds daemonset daemonsets daemonset.apps",
    "replicasets.apps": "rs replicaset replicasets replicaset.apps",
}.items() for alias in (kind, *aliases.split())}
# containers: name -> id; limits: id -> processors, or None
Pod = collections.namedtuple("Pod", "namespace name node workload containers limits")


def workload_of(metadata):
    """A ReplicaSet is called as its Deployment and the pod's hash. A pod's author may write any
    owner."""
    for owner in metadata.get("ownerReferences", []):
        if owner.get("controller") and is_name(owner.get("name")):
            suffix = "-" + metadata.get("labels", {}).get("pod-template-hash", "")
            name = owner["name"]
            return name[:-len(suffix)] if len(suffix) > 1 and name.endswith(suffix) else name
    return metadata["name"]


def processors(quantity):
    """Of a limit ("2", "0.5", "500m"); None where there is none"""
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(m?)", str(quantity))
    return float(match[1]) / (1000 if match[2] else 1) if match else None


def limits_of(item):
    """Container's name -> processors"""
    return {c.get("name"): processors(c.get("resources", {}).get("limits", {}).get("cpu"))
            for c in item["spec"].get("containers", [])}


def pod_of(item, container):
    """The pod with those of its containers that run and are asked for"""
    ids, limits = {}, limits_of(item)
    for status in item.get("status", {}).get("containerStatuses", []):
        name, identity = status.get("name"), status.get("containerID", "").partition("://")[2]
        if "running" in status.get("state", {}) and is_name(identity) and container in (None, name):
            ids[name] = identity
    return Pod(item["metadata"]["namespace"], item["metadata"]["name"], item["spec"]["nodeName"],
               workload_of(item["metadata"]), ids, {ids[name]: limits.get(name) for name in ids})


def requirement(expression):
    """One of matchExpressions as kubectl's -l takes it"""
    key, operator, values = expression["key"], expression["operator"], expression.get("values", [])
    if not all(isinstance(s, str) and (LABEL.fullmatch(s) or s == "") for s in (key, *values)):
        raise ValueError("names that are none")
    listed = ",".join(values)
    return {"In": f"{key} in ({listed})", "NotIn": f"{key} notin ({listed})", "Exists": key,
            "DoesNotExist": f"!{key}"}[operator]


def selector_of(workload):
    """What kubectl's -l takes, of a workload"""
    selector = workload["spec"]["selector"]
    parts = [requirement({"key": key, "operator": "In", "values": [value]})
             for key, value in selector.get("matchLabels", {}).items()]
    parts += map(requirement, selector.get("matchExpressions", []))
    if not parts:
        raise ValueError("an empty one")
    return ",".join(parts)


def items_of(cluster, target, where):
    """The running pods of a target"""
    kind, name = target
    item = cluster.get(kind, name, *where)
    if kind == "pods":
        found = [item]
    else:
        try:
            selector = selector_of(item)
        except (KeyError, ValueError, TypeError, AttributeError) as e:
            raise Failure(FAILED, f"{kind}/{name}: its selector is not understood: {e}")
        found = cluster.get("pods", "-l", selector, *where)["items"]
    running = [i for i in found if is_running(i)]
    if not running:
        raise Failure(NO_POD, f"{kind.partition('.')[0]}/{name}: no pod of it runs")
    return running


def find_items(cluster, options):
    where = ["-n", options.namespace] if options.namespace else []
    if not options.selector:
        return [i for t in options.targets for i in items_of(cluster, t, where)]
    where = ["-A"] if options.all_namespaces else where
    found = cluster.get("pods", "-l", options.selector, *where)["items"]
    return [i for i in found if is_running(i)]


def find_pods(cluster, options):
    items = find_items(cluster, options)
    pods = [pod_of(i, options.container) for i in items if is_named(i)]
    # Several targets may have a pod in common.
    pods = list({(p.namespace, p.name): p for p in pods if p.containers}.values())
    if not pods:
        raise Failure(NO_POD, f"no pod has a running container {options.container}"
                      if items and options.container else "no running pod matches")
    return pods


def by_node(pods):
    nodes = collections.defaultdict(list)
    for p in pods:
        nodes[p.node].append(p)
    return nodes


def parse_target(word, nodes_too):
    """-> kind, name"""
    kind, slash, name = word.rpartition("/")
    kind = KINDS.get(kind if slash else "pod")
    if not kind or kind == "nodes" and not nodes_too:
        raise Failure(USAGE, f"{word}: must be a pod's name, or one of deploy/NAME, sts/NAME, "
                      "ds/NAME, rs/NAME, job/NAME, pod/NAME")
    if not is_name(name):
        raise Failure(USAGE, f"{word}: {name or 'nothing'} is no name in a cluster")
    return kind, name
