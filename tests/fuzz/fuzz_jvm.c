// SPDX-License-Identifier: Apache-2.0
/* Evidence of a JVM: the maps of a process, the section of a program, the release file of a JDK,
 * and what a child that was taken over says of them. The first byte chooses. */
#include "fuzz/fuzz.h"
/* For what is static. */
#include "discover/jvm.c"

static void check_text(const char *text, size_t size)
{
	require(memchr(text, '\0', size));
	for (; *text; text++)
		require((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_evidence(struct evidence *e)
{
	enum runtime runtime = runtime_of(e);

	require(memchr(e->libjvm, '\0', sizeof(e->libjvm)));
	require(runtime != RUNTIME_HOTSPOT || e->libjvm[0]);
	(void)runtime_note(runtime);
}

static void read_values(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = xstrndup((const char *)data, size);
	char version[64] = "", vendor[64] = "";

	release_value(text, "JAVA_VERSION=\"", version);
	release_value(text, "IMPLEMENTOR=\"", vendor);
	str_clean(version, sizeof(version));
	str_clean(vendor, sizeof(vendor));
	check_text(version, sizeof(version));
	check_text(vendor, sizeof(vendor));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct evidence e;

	if (!size)
		return 0;
	memset(&e, 0, sizeof(e));
	size--;
	if (data[0] == 'm')
		read_maps(input_file(0, data + 1, size), &e);
	else if (data[0] == 'p')
		read_program(input_file(0, data + 1, size), &e);
	else if (data[0] == 'e')
		memcpy(&e, data + 1, size < sizeof(e) ? size : sizeof(e));
	else
		read_values(data + 1, size);
	check_evidence(&e);
	return 0;
}
