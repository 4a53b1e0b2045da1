#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A CI job that fails on a regression: the same version twice passes, a change that compiles a regular expression for
# each order does not, and the comparison says which method it is.
#
#   sudo sh examples/ci-gate/run.sh [SECONDS]
set -eu
cd "$(dirname "$0")/../.."
. examples/common.sh
example_begin ci-gate
export SECONDS_RECORDED="${1:-10}"
here=examples/ci-gate

# gate BASE CHANGE: as the CI job calls it; the exit status is in $status.
gate() {
	status=0
	run sh $here/gate.sh "$out/$1" "$out/$2" || status=$?
	cat "$out/$2/profile.md"
	echo "exit status $status"
}

say "two versions are built"
for version in base change; do
	mkdir "$out/$version"
	javac -d "$out/$version/classes" $here/Orders.java $here/$version/shop/Codes.java
done
cp -r "$out/base" "$out/again"

say "the same version twice"
gate base again
[ $status = 0 ]

say "the change"
gate base change
[ $status = 6 ]

say "the comment for the pull request is $out/change/profile.md, the page $out/change/diff.html"
