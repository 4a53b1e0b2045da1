// SPDX-License-Identifier: Apache-2.0
/* Linked into the dfg-hook of the tests (-Wl,--wrap): a system call that a filter does not allow
 * kills the process instead of failing with EPERM. */
#include <seccomp.h>

scmp_filter_ctx __real_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action);
scmp_filter_ctx __wrap_seccomp_init(uint32_t action)
{
	(void)action;
	return __real_seccomp_init(SCMP_ACT_KILL_PROCESS);
}
