// SPDX-License-Identifier: Apache-2.0
/* A message to dfg-top from the process that reads recordings, and the call tree in its file: what
 * is taken has whole texts and can be shown. */
#include "top/window.h"

#include <sys/socket.h>

#include "common/fs.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int ends[2] = {-1, -1};
	size_t n = sizeof(struct window);
	const uint8_t *message = take(&data, &size, &n);
	struct stacks *s = NULL;
	struct window w = {0};
	struct err err;

	if (ends[0] < 0 && feed_open(ends, &err) < 0)
		abort();
	if (n == sizeof(w)) {
		memcpy(&w, message, n);
		require(feed_send(ends[1], &w, input_file(0, data, size)) == 1);
	} else { /* one of another size, without a file */
		require(send(ends[1], message, n, 0) == (ssize_t)n);
		if (n == 0)
			return 0;
	}
	if (feed_receive(ends[0], &w, &s, &err) == 1) {
		require(memchr(w.name, '\0', sizeof(w.name)) && memchr(w.id, '\0', sizeof(w.id)));
		stacks_sort(s);
	}
	stacks_free(s);
	return 0;
}
