// SPDX-License-Identifier: Apache-2.0
/* What holds for one JVM, and what dfg will do with it. */
#include <stdlib.h>

#include "doctor/depth_probe.h"
#include "doctor/jvm_look.h"
#include "doctor/probe.h"
#include "injector/attach.h"
#include "record/agent_client.h"

#define WARNS_SINCE  21 /* of agents that are loaded into it (JEP 451) */
#define READ_INSTEAD "its memory is read from outside"
#define SWITCH_ON    "dfg-trigger switches it on, for code compiled from then on"

struct facts {
	const struct jvm *jvm;
	struct jvm_look look;
	bool resident;
	enum attach_result attach;
	struct err attach_err;
};

/* The feature release in "17.0.15" or "1.8.0_402"; 0: unknown. */
static long feature_release(const char *version)
{
	return strtol(has_prefix(version, "1.") ? version + 2 : version, NULL, 10);
}

static const char *collector(const struct jvm_look *look)
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
		if (look->flags[all[i].flag] == 1)
			return all[i].name;
	return "unknown collector";
}

static void tell_java(const struct probe *p, const struct facts *k)
{
	const struct jvm *j = k->jvm;

	if (!k->look.has_tables)
		finding_add(p->f, FINDING_OK, "java", "", "%s%s%s",
			    j->version[0] ? j->version : "of unknown version",
			    j->vendor[0] ? ", " : "", j->vendor);
	else
		finding_add(p->f, FINDING_OK, "java", "", "%s%s%s, %s%s",
			    j->version[0] ? j->version : "of unknown version",
			    j->vendor[0] ? ", " : "", j->vendor, collector(&k->look),
			    k->look.flags[JVM_FLAG_COMPILER] == 0 ? ", interpreter only" : "");
}

static void tell_tables(const struct probe *p, const struct facts *k)
{
	if (k->look.has_tables)
		finding_add(p->f, FINDING_OK, "tables", "", "HotSpot's can be read from outside");
	else
		finding_add(p->f, FINDING_NOTE, "tables", "all depends on the agent", "%s",
			    k->look.why);
}

static bool loading_is_off(const struct facts *k)
{
	return k->look.flags[JVM_FLAG_LOADING] == 0;
}

static void tell_attach(const struct probe *p, const struct facts *k)
{
	if (k->resident)
		finding_add(p->f, FINDING_OK, "agent", "", "resident");
	else if (k->attach == ATTACH_NOT_READY && k->look.flags[JVM_FLAG_FEWER_SIGNALS] == 1)
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
		finding_add(p->f, FINDING_OK, "attach", "", "possible; no agent is resident");
}

/* As snapshots_take goes about it. */
static void tell_source(const struct probe *p, bool reachable, const struct facts *k)
{
	if (k->resident && reachable)
		finding_add(p->f, FINDING_OK, "source", "", "the agent, which is resident");
	else if (reachable && k->attach == ATTACH_OK && !loading_is_off(k) &&
		 agent_loads_silently(k->jvm))
		finding_add(p->f, FINDING_OK, "source", "",
			    "the agent, loaded then: its container has the mounts");
	else if (k->look.has_tables)
		finding_add(p->f, FINDING_OK, "source", "", "the host's reader of its memory%s",
			    k->resident ? "" : ", as no agent is resident");
	else if (reachable && k->attach == ATTACH_OK && !loading_is_off(k))
		finding_add(p->f, FINDING_OK, "source", "",
			    "the agent, loaded then: its memory cannot be read from outside");
	else
		finding_add(p->f, FINDING_NO, "source",
			    "the graph has its native and kernel frames",
			    "neither agent nor reader: Java code will have no names");
}

static void tell_leaves(const struct probe *p, const struct facts *k)
{
	if (k->look.flags[JVM_FLAG_DEBUG_INFO] == 1)
		finding_add(p->f, FINDING_OK, "leaves", "", "exact: DebugNonSafepoints is on");
	else if (k->look.flags[JVM_FLAG_DEBUG_INFO] == 0)
		finding_add(p->f, FINDING_NOTE, "leaves", SWITCH_ON, "DebugNonSafepoints is off");
}

static void tell_stacks(const struct probe *p, const struct facts *k)
{
	unsigned bytes = probe_stack_bytes();
	struct depths d;
	struct err err;

	if (k->look.flags[JVM_FLAG_KEEPS_FP] == 1) {
		finding_add(p->f, FINDING_OK, "stacks", "",
			    "by frame pointers, which it keeps (PreserveFramePointer)");
		return;
	}
	if (depths_of(k->jvm->procfd, bytes, &d, &err) < 0 || d.asleep == 0)
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

static void tell_symbols(const struct probe *p, const struct facts *k)
{
	static const struct {
		enum finding_state state;
		const char *why, *advice;
	} all[] = {
		[JVM_SYMBOLS_UNKNOWN] = {FINDING_NOTE, "libjvm.so cannot be opened",
					 "the JVM's own frames have no names"},
		[JVM_SYMBOLS_NONE] = {FINDING_NOTE, "libjvm.so is stripped",
				      "few of the JVM's own frames have names; install its -dbg"},
		[JVM_SYMBOLS_DEBUG] = {FINDING_OK, "libjvm.so's symbols, from its debug file", ""},
		[JVM_SYMBOLS_OWN] = {FINDING_OK, "libjvm.so has its symbol table", ""},
	};
	enum jvm_symbols found = jvm_symbols(k->jvm);

	finding_add(p->f, all[found].state, "libjvm", all[found].advice, "%s", all[found].why);
}

void probe_jvm(const struct probe *p, bool reachable, const struct jvm *j)
{
	struct facts k = {.jvm = j};
	struct err err;

	findings_about(p->f, "jvm", j->pid, "JVM %d (%d inside, uid %u)", (int)j->pid,
		       (int)j->nspid, (unsigned)j->uid);
	(void)!jvm_look(j, &k.look, &err);
	k.resident = agent_is_resident(j);
	k.attach = attach_check(j->pid, &k.attach_err);
	tell_java(p, &k);
	tell_tables(p, &k);
	tell_attach(p, &k);
	tell_source(p, reachable, &k);
	tell_stacks(p, &k);
	tell_leaves(p, &k);
	tell_symbols(p, &k);
}
