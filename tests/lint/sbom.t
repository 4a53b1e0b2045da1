#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Checks dfg.spdx.json (packaging/sbom.sh): an SPDX 2.3 document with each program as it is, each library that it
loads, each whose functions are in it, and Debian's name and version of all; made again, it is the same."""
import collections
import functools
import hashlib
import json
import os
import re
import subprocess

from tap import cannot, check, run

BUILD = os.environ.get("BUILD", "build")
# A function of a library that only static programs define, and the packages that may hold its archive.
INSIDE = {"json_loadb": "libjansson-dev", "cap_set_proc": "libcap-dev", "seccomp_load": "libseccomp-dev",
          "cplus_demangle": "libiberty-dev", "fputs": "libc6-dev", "_start": "libc6-dev musl-dev"}
RELATIONS = {"DESCRIBES", "CONTAINS", "STATIC_LINK", "DYNAMIC_LINK", "BUILD_TOOL_OF"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


@functools.cache
def package_of(path):
    """Debian's package of a file, and its version; both empty where it is of none."""
    real = os.path.realpath(path)
    for name in (real, real.removeprefix("/usr")):
        if found := re.match(r"([^ :]+\S*): /", output("dpkg-query", "-S", name)):
            return found[1].split(":")[0], output("dpkg-query", "-W", "-f", "${Version}", found[1])
    return "", ""


def loaded(program):
    """Names of the libraries a program needs, each with its path as the dynamic linker finds it."""
    paths = dict(re.findall(r"^\s*(\S+)(?: => (\S+))? \(0x", output("ldd", program), re.M))
    return {n: paths.get(n) or n for n in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-dW", program))}


def check_form(doc):
    check("it says what SPDX 2.3 wants said of a document", [k for k, v in {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT"}.items() if doc[k] != v] + [
        k for k in ("name", "documentNamespace", "creationInfo") if not doc.get(k)])
    elements = doc["packages"] + doc["files"]
    ids = collections.Counter(e["SPDXID"] for e in elements)
    check("each element has an identifier of its own", [
        i for i, n in ids.items() if n > 1 or not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", i)])
    check("each package says where it is from, and whether its files are listed", [
        p["name"] for p in doc["packages"] if not p["downloadLocation"] or not isinstance(p["filesAnalyzed"], bool)])
    check("each relationship is one of SPDX, between elements that are there", [
        r for r in doc["relationships"] if r["relationshipType"] not in RELATIONS or
        not {r["spdxElementId"], r["relatedSpdxElement"]} <= set(ids) | {"SPDXRef-DOCUMENT"}])
    related = {r[k] for r in doc["relationships"] for k in ("spdxElementId", "relatedSpdxElement")}
    check("each element is related to another", [i for i in ids if i not in related])


def check_files(doc, files):
    listed = {f["fileName"].removeprefix("./"): {c["algorithm"]: c["checksumValue"] for c in f["checksums"]}
              for f in doc["files"]}
    check("every program is in it, and nothing else", sorted(set(listed) ^ set(files)))
    wrong, sums = [], []
    for name, path in files.items():
        data = open(path, "rb").read()
        sums.append(hashlib.sha1(data).hexdigest())
        if listed.get(name) != {"SHA1": sums[-1], "SHA256": hashlib.sha256(data).hexdigest()}:
            wrong.append(name)
    check("with the checksums that it has", wrong)
    dfg = next(p for p in doc["packages"] if p["SPDXID"] == "SPDXRef-dfg")
    check("and dfg's own is of all of them", [s for s in [hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()]
          if dfg["packageVerificationCode"]["packageVerificationCodeValue"] != s])
    check("dfg's version is in it", [v for v in [open("VERSION").read().strip()] if dfg["versionInfo"] != v])


def check_parts(doc, files):
    packages = {p["SPDXID"]: p for p in doc["packages"]}
    names = {f["SPDXID"]: f["fileName"].removeprefix("./") for f in doc["files"]}
    has = collections.defaultdict(set)
    for r in doc["relationships"]:
        if r["relationshipType"].endswith("_LINK"):
            package = packages[r["relatedSpdxElement"]]
            has[names.get(r["spdxElementId"]), r["relationshipType"]].add((package["name"], package.get("versionInfo", "")))
    missing, extra, inside = [], [], []
    for name, path in files.items():
        if name.endswith(".squashfs"):
            continue
        needed = {library: package_of(where) for library, where in loaded(path).items()}
        missing += [f"{name}: {n}: {p}" for n, p in needed.items() if p not in has[name, "DYNAMIC_LINK"]]
        extra += [f"{name}: {p}" for p in has[name, "DYNAMIC_LINK"] if p not in needed.values()]
        defined = output("nm", "--defined-only", path) or "T _start\n" * (name == "dfg-inject")
        static = {p for p, _ in has[name, "STATIC_LINK"]}
        inside += [f"{name}: {function} of {package}" for function, package in INSIDE.items()
                   if re.search(rf" [TW] {function}$", defined, re.M) and not static & set(package.split())]
    check("each library that a program needs is in it, by Debian's package and version", missing)
    check("none that it does not need", extra)
    check("each archive whose functions are in a program is in it", inside)
    check("the hook's parts are among them", [p for p in ("libjansson-dev", "libcap-dev", "libseccomp-dev")
          if p not in {n for n, v in has["dfg-hook", "STATIC_LINK"] if v} and not loaded(files["dfg-hook"])])
    check("so are the tools", [t for t in ("make", "squashfs-tools") if t not in {p["name"] for p in doc["packages"]}])


def main():
    path = BUILD + "/dfg.spdx.json"
    if not output("sh", "-c", "command -v dpkg-query ldd nm") or not os.path.exists(path):
        cannot("no dpkg-query, or no " + path)
    text = open(path).read()
    doc = json.loads(text)
    files = {n: f"{BUILD}/{d}/{n}" for d in ("bin", "libexec", "payload") for n in os.listdir(f"{BUILD}/{d}")}
    check_form(doc)
    check_files(doc, files)
    check_parts(doc, files)
    again = [output("env", "SOURCE_DATE_EPOCH=86400", "packaging/sbom.sh", "1", BUILD + "/link", *order)
             for order in (sorted(files.values()), sorted(files.values(), reverse=True))]
    check("made again, it is the same", [d["documentNamespace"] for d in map(json.loads, again) if again[0] != again[1]])
    check("of the time that SOURCE_DATE_EPOCH says", [
        d for d in [json.loads(again[0])["creationInfo"]["created"]] if d != "1970-01-02T00:00:00Z"])


run(main)
