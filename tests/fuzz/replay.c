// SPDX-License-Identifier: Apache-2.0
/* Runs a fuzz target over its corpus, and over every prefix of each small input, in the ordinary
 * test run: tests/fuzz/corpus/<name> for the program replay_fuzz_<name>.t. */
#include <dirent.h>
#include <stdint.h>

#include "common/fs.h"
#include "lib/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const struct str *s)
{
	/* Exact-size copies, so that a sanitizer sees one byte too many. */
	size_t step = s->len > 512 ? s->len / 256 : 1;

	for (size_t n = 0;; n = n + step < s->len ? n + step : s->len) {
		uint8_t *copy = xmalloc(n);

		memcpy(copy, s->buf ? s->buf : "", n);
		LLVMFuzzerTestOneInput(copy, n);
		free(copy);
		if (n == s->len)
			return;
	}
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	char *name = xstrdup(base + strlen("replay_fuzz_"));
	char *path = NULL;
	struct dirent *e;
	struct err err;
	int count = 0;
	DIR *dir;

	(void)argc;
	*strchrnul(name, '.') = '\0';
	path = xasprintf("tests/fuzz/corpus/%s", name);
	dir = opendir(path);
	if (!ok(dir != NULL, "%s is there", path))
		return tap_done();
	while ((e = readdir(dir))) {
		CLEANUP(str_fini) struct str s = {0};

		if (e->d_name[0] == '.')
			continue;
		if (!ok(fs_read_file(dirfd(dir), e->d_name, 64 << 20, &s, &err) == 0, "read %s",
			e->d_name))
			continue;
		replay(&s);
		count++;
	}
	closedir(dir);
	ok(count > 0, "%s: %d inputs and their prefixes", name, count);
	free(name);
	free(path);
	return tap_done();
}
