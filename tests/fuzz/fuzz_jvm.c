// SPDX-License-Identifier: Apache-2.0
/* Evidence of a JVM: the maps of a process, the section of a program, the release file of a JDK,
 * and what a child that was taken over says of them. The first byte chooses. */
#include "fuzz/fuzz.h"
/* For what is static. */
#include "discover/jvm.c"
#include "discover/mapped_files.c"

static void check_text(const char *text, size_t size)
{
	require(memchr(text, '\0', size));
	for (; *text; text++)
		require((unsigned char)*text >= ' ' && *text != 0x7f);
}

/* What is found in an answer is what the next part of the program counts on. */
static void check_answer(const void *bytes, size_t len)
{
	struct look_answer a = {.state = LOOK_DONE};
	struct file_mapping f;
	const char *libjvm;
	enum runtime runtime;

	str_add(&a.text, bytes, len);
	for (size_t at = 0; mapped_file_next(&a, &at, &f);)
		require(f.start < f.end && strlen(f.path) < PATH_MAX && !strstr(f.path, "/../"));
	runtime = runtime_by_maps(&a, &libjvm);
	require(runtime != RUNTIME_HOTSPOT || jvm_is_library(libjvm));
	(void)runtime_note(runtime);
	look_fini(&a, 1);
}

static void check_maps(int fd)
{
	static char answer[LOOK_ANSWER];
	size_t len = read_maps(fd, answer);

	require(len <= sizeof(answer));
	check_answer(answer, len);
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
	if (!size)
		return 0;
	size--;
	if (data[0] == 'm')
		check_maps(input_file(0, data + 1, size));
	else if (data[0] == 'p')
		(void)jvm_file_has_section(input_file(0, data + 1, size), ".svm_heap");
	else if (data[0] == 'e')
		check_answer(data + 1, size);
	else
		read_values(data + 1, size);
	return 0;
}
