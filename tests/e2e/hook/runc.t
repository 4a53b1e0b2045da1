#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hook with runc: mounts, what they allow, and that nothing stays.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/e2e/hook/common.sh
. tests/e2e/hook/checks.sh

hook_setup
check_runtime
tap_done
