#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One application, several configurations, the same load on each: flame graphs, their difference, and a table.
#
#   sudo sh examples/compare/run.sh [--same|--images] [DIRECTORY]
#
# --same compares the first configuration with itself, --images makes the images only. README.md says what is measured
# and how, and which settings there are.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

options "$@"
packages
engine
configurations images
[ "$mode" != --images ] || exit 0
build

configurations start
configurations same_pages
configurations warm_up

record_begin
rounds
record_end
configurations stop

differences
table
