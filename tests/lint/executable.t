#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prove starts these by their first line.
. "$(dirname "$0")/../lib/tap.sh"
is "every test can be executed" "$(find "$TOP/tests" -name '*.t' ! -perm -111)" ""
tap_done
