/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the fuzz targets. */
#ifndef DFG_FUZZ_H
#define DFG_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dfg/compiler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program unless a promise holds. */
#define require(promise)                                                                           \
	do {                                                                                       \
		if (!(promise)) {                                                                  \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #promise);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define INPUT_FILES 4

/* Returns the bytes as an open file. Each slot is one file in memory, made once and written again
 * for each input; it stays open. */
__attribute__((unused)) static int input_file(unsigned slot, const void *p, size_t len)
{
	static int fds[INPUT_FILES]; /* + 1 */
	int fd = fds[slot] - 1;

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		fds[slot] = fd + 1;
	}
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, p, len, 0) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

/* The next n bytes, or what is left of them. */
__attribute__((unused)) static const uint8_t *take(const uint8_t **data, size_t *size, size_t *n)
{
	const uint8_t *p = *data;

	*n = *n < *size ? *n : *size;
	*data += *n;
	*size -= *n;
	return p;
}

#endif
