// SPDX-License-Identifier: Apache-2.0
/* Probes the symbols of a JVM's libjvm.so, and reports which events can be recorded by them. */
#include <string.h>
#include <sys/capability.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "discover/debug_link.h"
#include "discover/mapped_files.h"
#include "doctor/probe.h"
#include "probe/probes.h"

#define SYMBOLS_MS    5000
#define LIBJVM_BYTES  (1ull << 30) /* of memory, for reading it */
#define VIRTUAL_SINCE 21	   /* threads (JEP 444) */

enum jvm_symbols {
	JVM_SYMBOLS_UNKNOWN, /* libjvm.so could not be opened */
	JVM_SYMBOLS_NONE,    /* it is stripped */
	JVM_SYMBOLS_DEBUG,   /* in a separate debug file, in the container or on the host */
	JVM_SYMBOLS_OWN,     /* in its symbol table */
};

/* What is known of libjvm.so. */
struct libjvm {
	enum jvm_symbols symbols;
	bool allocates; /* it has the functions at which allocations are recorded */
	bool locks;	/* those at which waits for monitors are */
	bool holders;	/* and for those who hold them */
	bool parks;	/* and for java.util.concurrent's locks */
	bool stops;	/* those at which safepoints are */
	bool compiles;	/* those at which compilations, and uncommon traps are */
	bool thaws;	/* that at which virtual threads go on */
};

/* A file that was replaced since has " (deleted)" after its name; it may have been renamed, too. */
static bool is_libjvm(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && has_prefix(base, "/libjvm.so");
}

/* Looks for the functions in a jail, which this child does not leave. */
static void find_functions(int fd, int symbols, struct libjvm *ret)
{
	const int keep[] = {fd, symbols};
	const struct jail jail = {.role = JAIL_ELF,
				  .memory = LIBJVM_BYTES,
				  .cpu_seconds = SYMBOLS_MS / 1000,
				  .keep = keep,
				  .keep_count = symbols < 0 ? 1 : 2};
	struct flat_probes probes;
	struct err ignored;

	if (fd < 0 || jail_enter(&jail, &ignored) < 0)
		return;
	flat_find_probes(fd, symbols, &probes);
	ret->allocates = flat_has_event(&probes, FLAT_EVENT_ALLOC);
	ret->locks = flat_has_event(&probes, FLAT_EVENT_LOCK);
	ret->holders = probes.offset[FLAT_PROBE_EXIT] &&
		       (probes.offset[FLAT_PROBE_UNPARK] || !probes.offset[FLAT_PROBE_PARK]);
	ret->compiles = flat_has_event(&probes, FLAT_EVENT_COMPILE) &&
			flat_has_event(&probes, FLAT_EVENT_DEOPT);
	ret->thaws = flat_has_event(&probes, FLAT_EVENT_WALL);
	ret->stops = flat_has_event(&probes, FLAT_EVENT_SAFEPOINT);
	ret->parks = probes.offset[FLAT_PROBE_PARK] && probes.offset[FLAT_PROBE_PARKED];
}

static int find_symbols(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	struct libjvm *ret = reply;
	struct stat st;
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(close_fd) int symbols = -1;
	struct debug_link own = {0};
	struct look_answer maps;
	struct file_mapping f;
	int rc = mapped_files_read(&j->procfd, 1, SYMBOLS_MS, deadline_after(SYMBOLS_MS), &maps,
				   err);

	for (size_t at = 0; mapped_file_next(&maps, &at, &f);) {
		if (!is_libjvm(f.path))
			continue;
		fd = mapped_file_open(j->procfd, &f, &st);
		if (fd < 0 || debug_links_read(&fd, 1, &own, err) < 0)
			break;
		symbols = debug_symbols_open(f.path, &own, j->procfd);
		ret->symbols = own.whole      ? JVM_SYMBOLS_OWN
			       : symbols >= 0 ? JVM_SYMBOLS_DEBUG
					      : JVM_SYMBOLS_NONE;
		break;
	}
	look_fini(&maps, 1);
	if (rc == 0)
		find_functions(fd, symbols, ret);
	return rc;
}

/* In a child, too: files can block. */
static struct libjvm find_libjvm(const struct jvm *j)
{
	struct libjvm ret = {0};
	struct jvm target = *j;
	struct err err;

	if (child_call(find_symbols, &target, &ret, sizeof(ret), SYMBOLS_MS, &err) < 0)
		return (struct libjvm){0};
	bool_clean(&ret.allocates);
	bool_clean(&ret.locks);
	bool_clean(&ret.holders);
	bool_clean(&ret.parks);
	bool_clean(&ret.stops);
	bool_clean(&ret.compiles);
	bool_clean(&ret.thaws);
	return ret;
}

/* Says whether the JVM has what an event is recorded at. */
static void check_event(const struct probe *p, const char *event, bool can, const char *yes,
			const char *no, const char *why)
{
	finding_add(p->f, can ? FINDING_OK : FINDING_NOTE, event, can ? "" : no, "%s",
		    can ? yes : why);
}

/* Names the parts that are missing: without the first there are none. */
static void check_locks(const struct probe *p, const struct libjvm *l)
{
	if (!l->locks) {
		finding_add(p->f, FINDING_NOTE, "lock", "-e lock records nothing of it",
			    "its libjvm.so has no symbol ObjectMonitor::EnterI or enter_internal, "
			    "or no call of it (it has, unless it is stripped)");
		return;
	}
	if (!l->parks)
		finding_add(p->f, FINDING_NOTE, "lock",
			    "-e lock leaves those of java.util.concurrent out",
			    "waits for monitors can be recorded%s; its libjvm.so has no symbol "
			    "Unsafe_Park, or neither a call of Parker::park there nor the USDT "
			    "probe thread__park__end",
			    l->holders ? "" : ", without their holders");
	else if (!l->holders)
		finding_add(p->f, FINDING_NOTE, "lock", "-e lock does not say who held all of them",
			    "waits for locks can be recorded; its libjvm.so has no symbol "
			    "ObjectMonitor::ExitEpilog or exit_epilog, or Unsafe_Unpark");
	else
		finding_add(p->f, FINDING_OK, "lock", "",
			    "waits for monitors and java.util.concurrent's locks can be recorded, "
			    "with the holders (dfg-trigger -e lock)");
}

static void check_allocations(const struct probe *p, bool refills, const struct libjvm *l)
{
	if (l->allocates && refills)
		finding_add(p->f, FINDING_NOTE, "alloc", "start it with -XX:-FastTLABRefill",
			    "-e alloc charges what interpreted and C1's code allocates to other "
			    "methods and classes: there the JVM refills a thread's buffer without "
			    "a call "
			    "that a probe could see");
	else
		check_event(p, "alloc", l->allocates,
			    "allocations can be recorded (dfg-trigger -e alloc)",
			    "-e alloc records nothing of it",
			    "its libjvm.so has no symbol AllocTracer::send_allocation_in_new_tlab "
			    "(it has, unless it is stripped)");
}

static void check_wall(const struct probe *p, long release, const struct libjvm *l)
{
	if (release >= VIRTUAL_SINCE)
		check_event(p, "wall", l->thaws,
			    "all the time of its threads can be recorded, virtual ones too "
			    "(dfg-trigger -e wall)",
			    "-e wall leaves its virtual threads out",
			    "its libjvm.so lacks a symbol of FreezeBase::freeze_fast_copy, "
			    "finish_freeze, or Continuation::prepare_thaw (it has, unless it is "
			    "stripped)");
	else
		finding_add(p->f, FINDING_OK, "wall", "",
			    "all the time of its threads can be recorded (dfg-trigger -e wall)");
}

/* From 5.8 on CAP_PERFMON was enough, until Linux 6.16 and the stable kernels of July 2025
 * (kernel/events/core.c, perf_uprobe_event_init). From 6.10 on probes need no such events
 * (stack_probes_can_join). */
static void check_probes(const struct probe *p)
{
	if (!probe_capable(p, CAP_SYS_ADMIN) && !probe_kernel_is(p, 6, 10))
		finding_add(p->f, FINDING_NOTE, "probes",
			    "-e alloc, lock, safepoint and compile may record nothing",
			    "no CAP_SYS_ADMIN, which stable kernels before 6.10 want for probes "
			    "since July 2025");
}

static void check_events(const struct probe *p, long release, bool refills, const struct libjvm *l)
{
	check_probes(p);
	check_allocations(p, refills, l);
	check_locks(p, l);
	check_event(p, "safepoint", l->stops,
		    "safepoints can be recorded (dfg-trigger -e safepoint)",
		    "-e safepoint records nothing of it",
		    "its libjvm.so has no symbol SafepointSynchronize::begin or "
		    "SafepointTracing::end (it has, unless it is stripped)");
	check_event(p, "compile", l->compiles,
		    "compilations and uncommon traps can be recorded (dfg-trigger -e "
		    "compile,deopt)",
		    "-e compile,deopt records not both",
		    "its libjvm.so lacks a symbol of CompileBroker::invoke_compiler_on_method, its "
		    "one call, or Deoptimization::uncommon_trap (it has, unless it is stripped)");
	check_wall(p, release, l);
}

void probe_libjvm(const struct probe *p, const struct jvm *j, long release, bool refills)
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
	const struct libjvm l = find_libjvm(j);
	const enum jvm_symbols found = l.symbols <= JVM_SYMBOLS_OWN ? l.symbols : 0;

	finding_add(p->f, all[found].state, "libjvm", all[found].advice, "%s", all[found].why);
	check_events(p, release, refills, &l);
}
