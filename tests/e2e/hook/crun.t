#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The hook with crun: the same as with runc.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
need crun unshare
need_root
bundle_own_namespace "$@"
. tests/e2e/hook/common.sh
. tests/e2e/hook/checks.sh

hook_setup
bundle_runtime crun
check_runtime
tap_done
