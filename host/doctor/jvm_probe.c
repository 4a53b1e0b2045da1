// SPDX-License-Identifier: Apache-2.0
/* Probes one JVM from outside: its flags, from its own tables, attaching, stacks; and reports what
 * dfg will do with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/fs.h"
#include "discover/jvm_memory.h"
#include "doctor/probe.h"
#include "doctor/stack_depth.h"
#include "hotspot/hotspot.h"
#include "injector/attach.h"
#include "record/agent_client.h"

#define TABLES_MS    2000
#define WARNS_SINCE  21 /* of agents that are loaded into it (JEP 451) */
#define READ_INSTEAD "its memory is read from outside"
#define LATER_ON     "dfg-trigger reports how much ran in such code (without_debug_info)"
#define ARGS_MAX     (1u << 20)
#define SWITCH_ON    "dfg-trigger switches it on, for code compiled from then on"

/* id, name: boolean flags of HotSpot 8 to 26 (runtime/globals.hpp and its like); each release has
 * some of them. */
#define JVM_FLAGS(X)                                                                               \
	X(KEEPS_FP, "PreserveFramePointer")                                                        \
	X(DEBUG_INFO, "DebugNonSafepoints")                                                        \
	X(NO_ATTACH, "DisableAttachMechanism")                                                     \
	X(LOADING, "EnableDynamicAgentLoading")                                                    \
	X(FEWER_SIGNALS, "ReduceSignalUsage") /* -Xrs */                                           \
	X(COMPILER, "UseCompiler")	      /* off: -Xint */                                     \
	X(G1, "UseG1GC")                                                                           \
	X(PARALLEL, "UseParallelGC")                                                               \
	X(SERIAL, "UseSerialGC")                                                                   \
	X(CMS, "UseConcMarkSweepGC")                                                               \
	X(Z, "UseZGC")                                                                             \
	X(SHENANDOAH, "UseShenandoahGC")                                                           \
	X(EPSILON, "UseEpsilonGC")                                                                 \
	X(REFILLS, "FastTLABRefill") /* JDK 8; see SNAP_REFILLS */

enum jvm_flag {
#define JVM_FLAG_ENUM(id, name) JVM_FLAG_##id,
	JVM_FLAGS(JVM_FLAG_ENUM)
#undef JVM_FLAG_ENUM
		JVM_FLAG_COUNT
};

struct jvm_tables {
	bool readable;		      /* they were read; flags are valid */
	int8_t flags[JVM_FLAG_COUNT]; /* 1, 0; -1: this release has none of that name */
	char why[256];		      /* why they cannot be read */
};

/* ---- its tables --------------------------------------------------------------------------- */

static const char *const flag_names[] = {
#define JVM_FLAG_NAME(id, name) [JVM_FLAG_##id] = (name),
	JVM_FLAGS(JVM_FLAG_NAME)
#undef JVM_FLAG_NAME
};

static int read_flags(const struct jvm *j, struct jvm_tables *ret, struct err *err)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *proc = NULL;
	CLEANUP(free) void *work = aligned_alloc(4096, HS_WORK_BYTES);
	uint64_t addr;
	unsigned found = 0;
	uint8_t value;

	if (!work)
		return err_set(err, ENOMEM, "working memory");
	if (jvm_memory_open(j->procfd, &proc, err) < 0 ||
	    jvm_memory_confine(proc, NULL, 0, err) < 0 || jvm_memory_find_tables(proc, err) < 0)
		return -1;
	for (size_t i = 0; i < JVM_FLAG_COUNT; i++) {
		if (!hs_find_flag(jvm_memory_source(proc), work, flag_names[i], &addr, &value))
			continue;
		ret->flags[i] = value != 0;
		found++;
	}
	if (found == 0)
		return err_set(err, 0, "HotSpot's tables there are not of a known shape");
	return 0;
}

static int read_tables(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	struct jvm_tables *ret = reply;

	ret->readable = read_flags(j, ret, err) == 0;
	if (!ret->readable)
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
	return 0;
}

/* In a child, which is killed after two seconds: a process can block reads of its memory. */
static void probe_tables(const struct jvm *j, struct jvm_tables *ret)
{
	struct jvm_tables blank = {0};
	struct jvm target = *j;
	struct err err;

	memset(blank.flags, -1, sizeof(blank.flags));
	*ret = blank;
	if (child_call(read_tables, &target, ret, sizeof(*ret), TABLES_MS, &err) < 0) {
		*ret = blank;
		snprintf(ret->why, sizeof(ret->why), "%.255s", err.msg);
	}
	bool_clean(&ret->readable);
	str_clean(ret->why, sizeof(ret->why));
}

/* ---- findings ----------------------------------------------------------------------------- */

struct facts {
	const struct jvm *jvm;
	struct jvm_tables tables;
	bool reachable; /* the agent is in the container, or can be brought there */
	bool resident;
	enum attach_result attach;
	struct err attach_err;
};

/* The feature release in "17.0.15" or "1.8.0_402"; 0: unknown. */
static long feature_release(const char *version)
{
	return strtol(has_prefix(version, "1.") ? version + 2 : version, NULL, 10);
}

static const char *collector(const struct jvm_tables *tables)
{
	static const struct {
		enum jvm_flag flag;
		const char *name;
	} all[] = {
		{JVM_FLAG_G1, "G1"},
		{JVM_FLAG_PARALLEL, "Parallel"},
		{JVM_FLAG_SERIAL, "Serial"},
		{JVM_FLAG_CMS, "CMS"},
		{JVM_FLAG_Z, "ZGC"},
		{JVM_FLAG_SHENANDOAH, "Shenandoah"},
		{JVM_FLAG_EPSILON, "Epsilon GC"},
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (tables->flags[all[i].flag] == 1)
			return all[i].name;
	return "unknown collector";
}

static void check_java(const struct probe *p, const struct facts *k)
{
	const struct jvm *j = k->jvm;
	bool readable = k->tables.readable;

	finding_add(p->f, FINDING_OK, "java", "", "%s%s%s%s%s%s",
		    j->version[0] ? j->version : "of unknown version", j->vendor[0] ? ", " : "",
		    j->vendor, readable ? ", " : "", readable ? collector(&k->tables) : "",
		    k->tables.flags[JVM_FLAG_COMPILER] == 0 ? ", interpreter only" : "");
}

static void check_metadata(const struct probe *p, const struct facts *k)
{
	if (k->tables.readable)
		finding_add(p->f, FINDING_OK, "metadata", "", "HotSpot's can be read from outside");
	else
		finding_add(p->f, FINDING_NOTE, "metadata", "dfg needs the agent", "%s",
			    k->tables.why);
}

static bool loading_is_off(const struct facts *k)
{
	return k->tables.flags[JVM_FLAG_LOADING] == 0;
}

static void check_attach(const struct probe *p, const struct facts *k)
{
	if (k->resident)
		finding_add(p->f, FINDING_OK, "agent", "", "resident");
	else if (k->attach == ATTACH_NOT_READY && k->tables.flags[JVM_FLAG_FEWER_SIGNALS] == 1)
		finding_add(p->f, FINDING_NOTE, "attach", READ_INSTEAD, "it was started with -Xrs");
	else if (k->attach != ATTACH_OK)
		finding_add(p->f, FINDING_NOTE, "attach", READ_INSTEAD, "%s", k->attach_err.msg);
	else if (loading_is_off(k))
		finding_add(p->f, FINDING_NOTE, "attach", READ_INSTEAD,
			    "agents cannot be loaded (-XX:-EnableDynamicAgentLoading)");
	else if (feature_release(k->jvm->version) >= WARNS_SINCE)
		finding_add(p->f, FINDING_OK, "attach", "",
			    "possible; but this JVM prints a warning when an agent is loaded");
	else
		finding_add(p->f, FINDING_OK, "attach", "", "possible; no agent is loaded");
}

/* In the order in which dfg-trigger tries the sources. */
static void check_source(const struct probe *p, const struct facts *k)
{
	bool loads = k->reachable && k->attach == ATTACH_OK && !loading_is_off(k);

	if (k->resident && k->reachable)
		finding_add(p->f, FINDING_OK, "source", "", "the agent, which is resident");
	else if (loads && agent_loads_silently(k->jvm))
		finding_add(p->f, FINDING_OK, "source", "",
			    "the agent, loaded then: its container has the mounts");
	else if (k->tables.readable)
		finding_add(p->f, FINDING_OK, "source", "", "read from outside%s",
			    k->resident ? "" : "; no agent is needed");
	else if (loads)
		finding_add(p->f, FINDING_OK, "source", "",
			    "the agent, loaded then: its memory cannot be read from outside");
	else
		finding_add(p->f, FINDING_NO, "source",
			    "the graph has its native and kernel frames",
			    "neither agent nor reader: Java code will have no names");
}

/* True if its command line or environment switches DebugNonSafepoints on. Argument files are not
 * looked into. */
static bool has_debug_info_from_start(const struct jvm *j)
{
	static const char flag[] = "-XX:+DebugNonSafepoints";
	static const char *const files[] = {"cmdline", "environ"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(str_fini) struct str text = {0};

		if (fs_read_file(j->procfd, files[i], ARGS_MAX, &text, NULL) == 0 && text.len &&
		    memmem(text.buf, text.len, flag, strlen(flag)))
			return true;
	}
	return false;
}

static void check_inlining(const struct probe *p, const struct facts *k)
{
	if (k->tables.flags[JVM_FLAG_DEBUG_INFO] == 1 && has_debug_info_from_start(k->jvm))
		finding_add(p->f, FINDING_OK, "inlining", "",
			    "exact: DebugNonSafepoints is on since the JVM began");
	else if (k->tables.flags[JVM_FLAG_DEBUG_INFO] == 1)
		finding_add(p->f, FINDING_NOTE, "inlining", LATER_ON,
			    "approximate in older code: DebugNonSafepoints was switched on later");
	else if (k->tables.flags[JVM_FLAG_DEBUG_INFO] == 0)
		finding_add(p->f, FINDING_NOTE, "inlining", SWITCH_ON,
			    "approximate: DebugNonSafepoints is off");
}

static void check_stacks(const struct probe *p, const struct facts *k)
{
	unsigned bytes = probe_stack_bytes();
	struct stack_depths d;
	struct err err;

	if (k->tables.flags[JVM_FLAG_KEEPS_FP] == 1) {
		finding_add(p->f, FINDING_OK, "stacks", "",
			    "by frame pointers, which it keeps (PreserveFramePointer)");
		return;
	}
	if (stack_depths_read(k->jvm->procfd, bytes, &d, &err) < 0 || d.asleep == 0)
		return;
	if (d.deeper)
		finding_add(
			p->f, FINDING_NOTE, "stacks", "dfg-trigger --stack 65528",
			"%u KiB are copied; %zu of its %zu threads that sleep use up to %.0f KiB",
			bytes >> 10, d.deeper, d.asleep, (double)d.deepest / 1024);
	else
		finding_add(p->f, FINDING_OK, "stacks", "",
			    "%u KiB are copied; its %zu threads that sleep use at most %.1f KiB",
			    bytes >> 10, d.asleep, (double)d.deepest / 1024);
}

void probe_jvm(const struct probe *p, bool reachable, const struct jvm *j)
{
	static void (*const checks[])(const struct probe *, const struct facts *) = {
		check_java,   check_metadata, check_attach,
		check_source, check_stacks,   check_inlining,
	};
	struct facts k = {.jvm = j, .reachable = reachable};
	CLEANUP(str_fini) struct str inside = {0};

	if (j->nspid != j->pid)
		str_addf(&inside, "pid %d in the container, ", (int)j->nspid);
	findings_about(p->f, "jvm", j->pid, "JVM %d (%suid %u)", (int)j->pid,
		       inside.buf ? inside.buf : "", (unsigned)j->uid);
	probe_tables(j, &k.tables);
	k.resident = agent_is_resident(j);
	k.attach = attach_check(j->pid, &k.attach_err);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		checks[i](p, &k);
	probe_libjvm(p, j, feature_release(j->version),
		     k.tables.flags[JVM_FLAG_REFILLS] == 1 && k.tables.flags[JVM_FLAG_G1] != 1);
}
