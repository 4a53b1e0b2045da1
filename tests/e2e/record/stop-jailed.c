// SPDX-License-Identifier: Apache-2.0
/* Preloaded into dfg: a child stops itself in its jail, where a test can look at it. */
#include <dlfcn.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int seccomp_load(const scmp_filter_ctx ctx)
{
	int (*load)(const scmp_filter_ctx) =
		(int (*)(const scmp_filter_ctx))dlsym(RTLD_NEXT, "seccomp_load");
	int rc = load(ctx);

	if (rc == 0)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSTOP);
	return rc;
}
