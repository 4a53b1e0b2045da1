// SPDX-License-Identifier: Apache-2.0
/* Files of engines and of the hook, with labels, annotations and environment variables that a
 * container's user wrote: what is taken of them are plain words and whole texts. The first byte
 * chooses the file. */
#include "discover/engine_facts.h"

#include "fuzz/fuzz.h"

static void check_word(const char word[static 256])
{
	require(memchr(word, '\0', 256));
	require(!word[0] || engine_name_is_valid(word));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char id[] = "0123abcd";
	struct engine_facts f;

	if (!size || !engine_facts_parse(data[0] % (ENGINE_CONTAINERS + 1), id,
					 (const char *)data + 1, size - 1, &f))
		return 0;
	check_word(f.name);
	for (size_t i = 0; i < KEYS_COUNT; i++) {
		check_word(f.claims[i].name);
		check_word(f.claims[i].pod);
		check_word(f.claims[i].namespace);
	}
	require(memchr(f.boot_id, '\0', sizeof(f.boot_id)));
	require(memchr(f.docker_dir, '\0', sizeof(f.docker_dir)));
	require(!f.docker_dir[0] || strstr(f.docker_dir, "/containers/0123abcd"));
	return 0;
}
