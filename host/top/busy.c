// SPDX-License-Identifier: Apache-2.0
#include "top/busy.h"

#include "common/str.h"

static const struct {
	const char *start; /* of the name, with '_' for blanks */
	enum busy busy;
} threads[] = {
	{"C1_CompilerThre", BUSY_COMPILER},
	{"C2_CompilerThre", BUSY_COMPILER},
	{"Sweeper_thread", BUSY_COMPILER},
	{"JVMCI", BUSY_COMPILER},
	{"GC_Thread", BUSY_GC},
	{"Gang_worker", BUSY_GC},
	{"G1_", BUSY_GC},
	{"ParGC_Thread", BUSY_GC},
	{"Concurrent_Mark", BUSY_GC},
	{"CMS_", BUSY_GC},
	{"ZWorker", BUSY_GC},
	{"ZDriver", BUSY_GC},
	{"ZDirector", BUSY_GC},
	{"ZStat", BUSY_GC},
	{"ZUnmapper", BUSY_GC},
	{"ZUncommitter", BUSY_GC},
	{"XWorker", BUSY_GC},
	{"XDriver", BUSY_GC},
	{"RuntimeWorker", BUSY_GC},
	{"Shenandoah", BUSY_GC},
	{"VM_Thread", BUSY_JVM},
	{"VM_Periodic_Tas", BUSY_JVM},
	{"Service_Thread", BUSY_JVM},
	{"Monitor_Deflati", BUSY_JVM},
	{"Signal_Dispatch", BUSY_JVM},
	{"dfg-agent", BUSY_JVM},
};

static const char *const names[BUSY_KINDS] = {
	[BUSY_APPLICATION] = "application",
	[BUSY_COMPILER] = "compiler",
	[BUSY_GC] = "gc",
	[BUSY_JVM] = "jvm",
	[BUSY_KERNEL] = "kernel",
};

const char *busy_name(enum busy b)
{
	return names[b];
}

static bool begins(const char *name, const char *start)
{
	while (*start && (*name == *start || (*name == ' ' && *start == '_')))
		name++, start++;
	return !*start;
}

enum busy busy_thread(const char *name)
{
	const char *slash = strchr(name, '/');

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		if (begins(name, threads[i].start) ||
		    (slash && begins(slash + 1, threads[i].start)))
			return threads[i].busy;
	return BUSY_APPLICATION;
}

bool busy_is_collection(const struct frame *f)
{
	return f->kind != FRAME_ROOT && has_prefix(f->name, "VM_") && strstr(f->name, "Collect");
}
