// SPDX-License-Identifier: Apache-2.0
/* fakeperf make PID FILE	writes a recording of the process
 * fakeperf map			prints the process's perf map
 * fakeperf snapshot PID TEXT	prints a snapshot of it, as a JVM, whose every name ends with the
 * text fakeperf KIND FILE ARGUMENTS	plays perf, with this recording (lib/fakeperf.h)
 */
#include "lib/fakeperf.h"
#include "lib/snapmake.h"

static int print_snapshot(pid_t pid, const char *text)
{
	CLEANUP(free) char *name = xasprintf("pkg.Type.name%s", text);
	CLEANUP(str_fini) struct str s = {0};
	struct snap_thread t = {.record = {.type = SNAP_THREAD},
				.tid = (uint32_t)pid,
				.name_len = (uint32_t)strlen(name)};
	size_t at;

	sm_head(&s, (struct snap_head){.time = 1});
	sm_method(&s, 1, name, name);
	sm_code(&s,
		(struct sm_code){.head = {.start = 0x10000000, .size = 0x200, .kind = SNAP_STUBS},
				 .name = name});
	sm_stub(&s, 0x10000100, 0x80, name);
	sm_code(&s, sm_compiled(0x10000200));
	at = s.len;
	str_add(&s, &t, sizeof(t));
	str_adds(&s, name);
	sm_end(&s, at);
	sm_done(&s);
	return fwrite(s.buf, 1, s.len, stdout) != s.len;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "map"))
		return fputs(FAKEPERF_MAP, stdout) < 0;
	if (argc < 4)
		return 64;
	if (!strcmp(argv[1], "snapshot"))
		return print_snapshot(atoi(argv[2]), argv[3]);
	if (strcmp(argv[1], "make") != 0)
		return fakeperf_record(argv[1], argv[2], argc - 2, argv + 2);
	fakeperf_make_at(argv[3], atoi(argv[2]));
	return 0;
}
