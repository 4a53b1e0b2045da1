// SPDX-License-Identifier: Apache-2.0
/* recording.h where the build has no clang, bpftool or libbpf. */
#include "bpf/recording.h"

#include <unistd.h>

int kernel_recording_check(struct err *err)
{
	return err_set(err, 0, "this build of dfg has no recorder in the kernel");
}

int kernel_recording_start(const struct kernel_recording_config *c, struct kernel_recording *ret,
			   struct err *err)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->targets[i].builder >= 0)
			close(c->targets[i].builder);
	*ret = (struct kernel_recording){.child = {-1, -1}, .control = -1};
	return kernel_recording_check(err);
}

int kernel_recording_wait(struct kernel_recording *r, int ms)
{
	(void)r;
	(void)ms;
	return 1;
}

int kernel_recording_switch(struct kernel_recording *r, int fd, uint64_t deadline, struct err *err)
{
	(void)fd;
	return kernel_recording_stop(r, deadline, err);
}

void kernel_recording_add(struct kernel_recording *r, size_t target, const pid_t *pids,
			  size_t count, int builder)
{
	(void)r;
	(void)target;
	(void)pids;
	(void)count;
	if (builder >= 0)
		close(builder);
}

void kernel_recording_end(struct kernel_recording *r)
{
	(void)r;
}

int kernel_recording_stop(struct kernel_recording *r, uint64_t deadline, struct err *err)
{
	(void)r;
	(void)deadline;
	return err_set(err, 0, "nothing is recorded");
}

void kernel_recording_abort(struct kernel_recording *r)
{
	(void)r;
}
