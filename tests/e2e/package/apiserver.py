#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""apiserver.py DIR: stands in for a cluster's API server, for the requests that kubectl makes for kubectl dfg.

Listens on a port of 127.0.0.1 and writes it to DIR/port. Answers from DIR/pods.json, nodes.json and
workloads.json, lists of API objects that are read anew for each request. Executes in runc's containers of the
pods' names, in place of the kubelets; DIR/executed gets a line of JSON for each command: command, container, tty.
DIR/path, where it exists, has what a node tells as its profile's path.

Shapes: the API's discovery, Status and label selectors (kubernetes.io/docs/reference), and the protocol
v5.channel.k8s.io of exec: binary messages over a WebSocket (RFC 6455) that begin with the channel's number.
"""
import base64
import fcntl
import hashlib
import http.server
import json
import os
import re
import struct
import subprocess
import sys
import termios
import threading
import urllib.parse

DIR = sys.argv[1]
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)  # channels
BINARY, CLOSE, PING, PONG = 2, 8, 9, 10  # WebSocket's opcodes
RESOURCES = {
    "v1": ["pods", "nodes", "namespaces"],
    "apps/v1": ["deployments", "statefulsets", "daemonsets", "replicasets"],
    "batch/v1": ["jobs"],
}
SHORT = {"pods": "po", "nodes": "no", "namespaces": "ns", "deployments": "deploy", "statefulsets": "sts",
         "daemonsets": "ds", "replicasets": "rs"}
KIND = {"pods": "Pod", "nodes": "Node", "namespaces": "Namespace", "deployments": "Deployment", "jobs": "Job",
        "statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "replicasets": "ReplicaSet"}
PATH = re.compile(r"/(?:api|apis)/(v1|[a-z]+/v1)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(/exec)?")


def discovery(path):
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        versions = [{"groupVersion": g, "version": "v1"} for g in RESOURCES if "/" in g]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": v["groupVersion"].split("/")[0], "versions": [v], "preferredVersion": v} for v in versions]}
    group = re.sub("^/apis?/", "", path)
    if group in RESOURCES:
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": [
            {"name": r, "singularName": KIND[r].lower(), "namespaced": r not in ("nodes", "namespaces"), "kind": KIND[r],
             "verbs": ["get", "list"], "shortNames": [SHORT[r]] if r in SHORT else []} for r in RESOURCES[group]]}
    return None


def failure(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "code": code}


def matches(selector, labels):
    for part in re.split(r",(?![^(]*\))", selector):
        among = re.fullmatch(r"(\S+) (in|notin) \(([^)]*)\)", part)
        equal = re.fullmatch(r"([^=!]+)==?(.*)", part)
        if among:
            good = (labels.get(among[1]) in among[3].split(",")) == (among[2] == "in")
        elif equal:
            good = labels.get(equal[1]) == equal[2]
        else:
            good = (part.lstrip("!") in labels) == (part[:1] != "!")
        if not good:
            return False
    return True


def objects(resource):
    if resource == "namespaces":
        return [{"metadata": {"name": n}} for n in sorted({i["metadata"]["namespace"] for i in objects("pods")})]
    name = resource if resource in ("pods", "nodes") else "workloads"
    with open(f"{DIR}/{name}.json", encoding="utf-8") as f:
        return [i for i in json.load(f)["items"] if name != "workloads" or i["kind"] == KIND[resource]]


def answer(match, query):
    version, namespace, resource, name, _ = match.groups()
    if resource not in RESOURCES.get(version, []):
        return 404, failure(404, "NotFound", "the server could not find the requested resource")
    found = [{"apiVersion": version, "kind": KIND[resource], **i} for i in objects(resource)
             if namespace in (None, i["metadata"].get("namespace"))]
    if name:
        found = [i for i in found if i["metadata"]["name"] == name]
        return (200, found[0]) if found else (404, failure(404, "NotFound", f'{resource} "{name}" not found'))
    selector = query.get("labelSelector", [""])[0]
    found = [i for i in found if not selector or matches(selector, i["metadata"].get("labels", {}))]
    return 200, {"kind": KIND[resource] + "List", "apiVersion": version, "metadata": {"resourceVersion": "1"},
                 "items": found}


class WebSocket:
    def __init__(self, stream_in, stream_out):
        self.input, self.output, self.lock = stream_in, stream_out, threading.Lock()

    def send(self, channel, data, opcode=BINARY):
        data = bytes([channel]) + data if opcode == BINARY else data
        length = bytes([len(data)]) if len(data) < 126 else struct.pack(">BH", 126, len(data)) \
            if len(data) < 65536 else struct.pack(">BQ", 127, len(data))
        with self.lock:
            self.output.write(bytes([0x80 | opcode]) + length + data)
            self.output.flush()

    def receive(self):
        """-> channel, data; None at the end. Answers pings, without which kubectl gives up after 60 s."""
        try:
            return self.receive_message()
        except ValueError:  # the command has ended, and with it the connection
            return None

    def receive_message(self):
        while (message := self.receive_any()) and message[0] in (PING, PONG):
            if message[0] == PING:
                self.send(0, message[1], PONG)
        return (message[1][:1], message[1][1:]) if message and message[0] == BINARY else None

    def receive_any(self):
        head = self.input.read(2)
        if len(head) < 2:
            return None
        length = head[1] & 127
        if length > 125:
            length = int.from_bytes(self.input.read(2 if length == 126 else 8), "big")
        mask = self.input.read(4)
        data = self.input.read(length)
        return head[0] & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(data))


def note(query):
    line = {"command": query["command"], "container": query.get("container", [""])[0],
            "tty": query.get("tty") == ["true"]}
    with open(f"{DIR}/executed", "a", encoding="utf-8") as f:
        f.write(json.dumps(line) + "\n")


def runc(pod, command, tty):
    terminal = ["-t", "-e", "TERM=xterm"] if tty else []  # as containerd's CRI does
    return ["runc", "--root", os.environ["TMPDIR"] + "/dfg-bundle-runc", "exec", *terminal, pod, *command]


def execute(socket, pod, command):
    threading.Thread(target=socket.receive, daemon=True).start()
    done = subprocess.run(runc(pod, command, False), stdin=subprocess.DEVNULL, capture_output=True)
    output = done.stdout
    if command[0] == "dfg-trigger" and os.path.exists(f"{DIR}/path"):
        with open(f"{DIR}/path", encoding="utf-8") as f:
            summary = json.loads(output)
            summary["graphs"]["pprof"] = f.read()
            output = json.dumps(summary).encode()
    for i in range(0, len(output), 32768):
        socket.send(STDOUT, output[i:i + 32768])
    if done.stderr:
        socket.send(STDERR, done.stderr)
    return done.returncode


def execute_on_terminal(socket, pod, command):
    leader, follower = os.openpty()
    process = subprocess.Popen(runc(pod, command, True), stdin=follower, stdout=follower, stderr=follower,
                               start_new_session=True)
    os.close(follower)

    def type_keys():
        while message := socket.receive():
            channel, data = message
            if channel == bytes([STDIN]):
                os.write(leader, data)
            elif channel == bytes([RESIZE]):
                size = json.loads(data)
                fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("4H", size["Height"], size["Width"], 0, 0))
    threading.Thread(target=type_keys, daemon=True).start()
    try:
        while data := os.read(leader, 32768):
            socket.send(STDOUT, data)
    except OSError:  # the last user of the terminal has ended
        pass
    return process.wait()


def end(socket, status):
    text = {"metadata": {}, "status": "Success"} if status == 0 else {
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": f"command terminated with non-zero exit code: exit status {status}",
        "details": {"causes": [{"reason": "ExitCode", "message": str(status)}]}}
    socket.send(ERROR, json.dumps(text).encode())
    socket.send(0, struct.pack(">H", 1000), CLOSE)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, code, value):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query, found = urllib.parse.parse_qs(url.query), discovery(url.path)
        match = PATH.fullmatch(url.path)
        if found:
            self.reply(200, found)
        elif not match:
            self.reply(404, failure(404, "NotFound", "the server could not find the requested resource"))
        elif match[5] and self.headers.get("Upgrade", "").lower() == "websocket":
            self.run_command(match[4], query)
        else:
            self.reply(*answer(match, query))

    def run_command(self, pod, query):
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.send_header("Sec-WebSocket-Protocol", "v5.channel.k8s.io")
        self.end_headers()
        self.close_connection = True
        socket = WebSocket(self.rfile, self.wfile)
        note(query)
        how = execute_on_terminal if query.get("tty") == ["true"] else execute
        end(socket, how(socket, pod, query["command"]))


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(f"{DIR}/port.new", "w", encoding="utf-8") as f:
        f.write(str(server.server_port))
    os.rename(f"{DIR}/port.new", f"{DIR}/port")
    server.serve_forever()


main()
