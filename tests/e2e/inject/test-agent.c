// SPDX-License-Identifier: Apache-2.0
/* The smallest agent: with "code=N" it returns N, else it appends a line to the file named. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int Agent_OnAttach(void *vm, char *options, void *reserved);
int Agent_OnAttach(void *vm, char *options, void *reserved)
{
	int fd;

	(void)vm;
	(void)reserved;
	if (options && !strncmp(options, "code=", 5))
		return atoi(options + 5);
	fd = options ? open(options, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	if (fd < 0 || write(fd, "loaded\n", 7) != 7)
		return 99;
	close(fd);
	return 0;
}
