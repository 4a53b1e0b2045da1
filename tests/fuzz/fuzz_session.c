// SPDX-License-Identifier: Apache-2.0
/* The session.json of a session that somebody hands over: the names of files are plain, texts for
 * people are clean. */
#include "session/session.h"

#include "fuzz/fuzz.h"

static void check_text(const char *text)
{
	CLEANUP(str_fini) struct str clean = {0};

	str_adds(&clean, "");
	str_add_clean(&clean, text, strlen(text));
	require(strcmp(clean.buf, text) == 0);
}

static void check_name(const char *name)
{
	require(name[0] && name[0] != '.' && !strchr(name, '/'));
}

static void check(const struct session *s)
{
	check_text(s->container_id);
	check_text(s->container_name);
	check_text(s->pod);
	check_text(s->namespace);
	check_text(s->host);
	check_text(s->label);
	check_text(s->started);
	for (size_t i = 0; i < s->map_count; i++)
		check_name(s->maps[i].name);
	for (size_t i = 0; i < s->elf_count; i++) {
		check_name(s->elfs[i].name);
		if (s->elfs[i].debug)
			check_name(s->elfs[i].debug);
	}
	for (size_t i = 0; i < s->jvm_count; i++) {
		/* A text that was cut may end within a character. */
		require(strlen(s->jvms[i].version) < sizeof(s->jvms[i].version));
		require(strlen(s->jvms[i].note) < sizeof(s->jvms[i].note));
		require(jvm_source_name(s->jvms[i].source) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session s = {.dirfd = -1, .mapsfd = -1, .elffd = -1};
	struct err err = {0};

	if (session_parse(&s, (const char *)data, size, &err) == 0)
		check(&s);
	else
		require(err.msg[0] != '\0');
	session_fini(&s);
	return 0;
}
