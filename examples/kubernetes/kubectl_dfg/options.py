# SPDX-License-Identifier: Apache-2.0
"""The command line."""
import argparse
import os
import re

from kubectl_dfg.cluster import CLUSTER_FLAGS, USAGE, Failure
from kubectl_dfg.pods import parse_target

COMMANDS = {"trigger", "top", "doctor", "status"}
PODS = {"trigger", "top", "doctor"}
RECORD = {"trigger", "top"}
TRIGGER = {"trigger"}
# What a profile (pprof) tells.
EVENTS = ("cpu", "wall", "alloc", "lock", "safepoint", "compile")


def duration(text):
    match = re.fullmatch(r"([0-9]{1,6})([smh]?)", text)
    seconds = int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]] if match else 0
    if not 1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError("must be from 1s to 24h, such as 90, 90s, 5m or 1h")
    return seconds


def whole(most):
    def parse(text):
        if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {most}")
        return int(text)
    return parse


FLAG = {"action": "store_true"}
# Names, the commands that take it, its default, and what argparse is told.
OPTIONS = [
    ("-n --namespace", PODS, None, {}),
    ("-A --all-namespaces", PODS, False, FLAG),
    ("-l --selector", PODS, None, {}),
    ("-c --container", PODS, None, {}),
    *((f"--{flag}", COMMANDS, None, {}) for flag in CLUSTER_FLAGS),
    ("-d --duration", RECORD, None, {"type": duration}),
    ("-F --frequency", RECORD, 99, {"type": whole(100000)}),
    ("-f --format", TRIGGER, "svg,html,folded", {}),
    ("--by", RECORD, None, {}),
    ("--include", TRIGGER, [], {"action": "append"}),
    ("--exclude", TRIGGER, [], {"action": "append"}),
    ("--java-only", TRIGGER, False, FLAG),
    ("-o --output", TRIGGER, None, {}),
    ("--per-pod", TRIGGER, False, FLAG),
    ("--open", TRIGGER, False, FLAG),
    ("--keep", TRIGGER, False, FLAG),
    ("--keep-flags", TRIGGER, False, FLAG),
    ("-e --event", RECORD, None, {}),
    ("--plain", {"top"}, False, FLAG),
    ("--count", {"top"}, None, {"type": whole(999999999)}),
    ("-q --quiet", TRIGGER, False, FLAG),
    ("--json", PODS, False, FLAG),
    ("--dfg-namespace", COMMANDS, "dfg", {}),
    ("--kubectl", COMMANDS, os.environ.get("KUBECTL") or "kubectl", {}),
]


def error(message):
    raise Failure(USAGE, f"{message}; see kubectl dfg --help")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        error(message.removeprefix("argument "))


def read(argv):
    """The options that are there, the command and the other words"""
    parser = Parser(prog="kubectl dfg", add_help=False, allow_abbrev=False)
    parser.add_argument("words", nargs="*")
    for names, _, _, told in OPTIONS:
        parser.add_argument(*names.split(), default=argparse.SUPPRESS, **told)
    options = parser.parse_intermixed_args(argv)
    named = options.words and options.words[0] in COMMANDS
    options.command = options.words.pop(0) if named else "trigger"
    return options


def key_of(names):
    return names.split()[-1][2:].replace("-", "_")


def defaults(options):
    """The same options, and those that are not there"""
    for names, _, default, _ in OPTIONS:
        setattr(options, key_of(names), getattr(options, key_of(names), default))
    return options


def parse(argv):
    options = read(argv)
    for names, commands, _, _ in OPTIONS:
        if hasattr(options, key_of(names)) and options.command not in commands:
            error(f"{names.split()[-1]} is no option of {options.command}")
    defaults(options)
    options.targets = [parse_target(word, options.command == "doctor") for word in options.words]
    check(options)
    return options


def check(options):
    """Options that do not go together"""
    if options.command == "status" and options.words:
        error("status takes no target")
    if options.targets and options.selector:
        error("targets, or -l SELECTOR, but not both")
    if options.all_namespaces and (options.namespace or not options.selector):
        error("-A goes with -l SELECTOR, and without -n")
    if options.command in RECORD and not options.targets and not options.selector:
        error(f"{options.command} needs a target, such as deploy/web, or -l SELECTOR")
    if options.command == "trigger" and options.event not in (None, *EVENTS):
        error(f"--event {options.event}: trigger takes one of {', '.join(EVENTS)}")
    if options.command == "top" and options.by not in (None, "pool", "thread"):
        error(f"--by {options.by}: top takes pool or thread")
    if options.container and not options.targets and not options.selector:
        error("-c goes with a target or -l SELECTOR")
