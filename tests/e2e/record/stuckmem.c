// SPDX-License-Identifier: Apache-2.0
/* stuckmem FILE: makes FILE, libjvm.so on a tmpfs, maps it executable with its pages withheld by a
 * userfaultfd that nobody serves, says "ready" and computes: the file can be read, but whoever
 * reads this process's memory there waits until it is killed. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE 65536

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0755) : -1;
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range.len = SIZE, .mode = UFFDIO_REGISTER_MODE_MISSING};
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, SIZE) == 0)
		p = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	range.range.start = (uintptr_t)p;
	if (p == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0 ||
	    ioctl(faults, UFFDIO_REGISTER, &range) < 0) {
		perror("userfaultfd");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		;
}
