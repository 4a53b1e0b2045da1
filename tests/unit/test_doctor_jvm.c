// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's findings about a JVM: one that is made (fakejvm.h), with flags and habits of all
 * sorts. */
#include <sys/prctl.h>

#include "common/clock.h"
#include "dfg/paths.h"
#include "dfg/request.h"
#include "doctor/stack_depth.h"
#include "lib/doctorbox.h"
#include "lib/elfmake.h"
#include "lib/fakejvm.h"
#include "lib/sdtnote.h"

#define READ_INSTEAD "its memory is read from outside"

static struct err err;
static struct snap_image image;

/* A process. */
struct player {
	const char *tables;  /* a library with HotSpot's, NULL: none */
	const char *library; /* mapped as code, NULL: none */
	bool deaf;	     /* does not catch SIGQUIT */
	bool resident;	     /* has the agent's thread */
	bool visible;	     /* can see the agent's file */
};

static void on_quit(int sig)
{
	(void)sig;
}

static void play(const struct player *p, const struct actor *a)
{
	static const char *const payload[] = {"dfg", NULL};
	int fd = p->library ? open(p->library, O_RDONLY | O_CLOEXEC) : -1;

	if (p->tables)
		fakejvm_map(p->tables);
	if (p->library && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	if (!p->deaf)
		signal(SIGQUIT, on_quit);
	if (p->resident)
		prctl(PR_SET_NAME, DFG_THREAD_NAME);
	if (p->visible &&
	    (!doctorbox_mounts(payload) || open(DFG_AGENT_PATH, O_CREAT | O_WRONLY, 0755) < 0))
		_exit(1);
	actor_play(a);
}

static struct jvm start(struct player p)
{
	struct actor a;

	if (actor_fork(&a))
		play(&p, &a);
	return fakejvm_wait(&a);
}

/* Stops it: who attaches does not wait until it may have become a JVM. */
static void halt(const struct jvm *j)
{
	kill(j->pid, SIGSTOP);
	waitpid(j->pid, NULL, WUNTRACED);
}

/* Again where it took so long that one of its time-outs, two seconds, may have come first: on a
 * busy machine that is no finding. */
static void probe(bool reachable, const struct jvm *j)
{
	for (int i = 0; i < 30; i++) {
		uint64_t began = clock_ms();

		forget();
		probe_jvm(&machine, reachable, j);
		if (clock_ms() - began < 1900)
			return;
	}
}

/* A library with these flags, "NAME=VALUE" with a value of one digit, up to NULL. */
static char *library_with(const char *const *flags)
{
	static unsigned number;
	char *path;
	CLEANUP(free) char *dir = xasprintf("%s/jdk%u", top, number++);

	if (mkdir(dir, 0755) < 0)
		abort();
	snap_image_build(&image, IMAGE_17);
	image_set(&image.im, image.preserve_fp, 0, 1);
	for (; *flags; flags++) {
		CLEANUP(free) char *name = xstrndup(*flags, strcspn(*flags, "="));
		uint8_t value = (uint8_t)(strchr(*flags, '=')[1] - '0');

		if (!strcmp(name, "UseCompiler"))
			image_set(&image.im, image.compiler, value, 1);
		else if (!strcmp(name, "PreserveFramePointer"))
			image_set(&image.im, image.preserve_fp, value, 1);
		else if (!strcmp(name, "DebugNonSafepoints"))
			image_set(&image.im, image.non_safepoints, value, 1);
		else
			snap_image_flag(&image, name, value);
	}
	path = xasprintf("%s/libjvm.so", dir);
	fakejvm_library(&image.im, path);
	return path;
}

#define LIBRARY(...) library_with((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* ---- a process that is no JVM ---- */

static void test_nothing(void)
{
	struct jvm j = start((struct player){0});
	CLEANUP(free)
	char *heading = xasprintf("JVM %d (pid 7 in the container, uid 8)", (int)j.pid);
	const struct finding *f;

	halt(&j);
	j.nspid = 7;
	j.uid = 8;
	strcpy(j.version, "21.0.1");
	strcpy(j.vendor, "Acme");
	probe(true, &j);
	is_str(found.list[0].heading, heading, "the heading has both pids and the user");
	is_int(found.list[0].pid, j.pid, "findings have the host's pid");
	is_str(found.list[0].about, "jvm", "they are about a JVM");
	check_found("java", FINDING_OK, "21.0.1, Acme", "", "version and vendor are told");
	check_found("libjvm", FINDING_NOTE, "libjvm.so cannot be opened",
		    "the JVM's own frames have no names", "there is no library");
	f = finding_of("metadata");
	ok(f && f->state == FINDING_NOTE && strstr(f->why, "no libjvm.so"),
	   "there are no tables: %s", f ? f->why : "nothing");
	is_str(f ? f->advice : NULL, "dfg needs the agent", "so the agent is needed");
	ok(!finding_of("inlining"), "of unknown flags there is no finding");
	j.vendor[0] = '\0';
	probe(false, &j);
	check_found("java", FINDING_OK, "21.0.1", "", "a vendor may be unknown");
	check_found("source", FINDING_NO, "neither agent nor reader: Java code will have no names",
		    "the graph has its native and kernel frames",
		    "without tables and mounts there are no names");
	j.version[0] = '\0';
	probe(false, &j);
	check_found("java", FINDING_OK, "of unknown version", "", "a version may be unknown");
	fakejvm_end(&j);
}

/* ---- its flags ---- */

static void test_collectors(void)
{
	static const struct {
		const char *flags[4];
		const char *want;
	} t[] = {
		{{"UseG1GC=1"}, "17, G1"},
		{{"UseParallelGC=1"}, "17, Parallel"},
		{{"UseSerialGC=1", "UseG1GC=0"}, "17, Serial"},
		{{"UseConcMarkSweepGC=1"}, "17, CMS"},
		{{"UseZGC=1"}, "17, ZGC"},
		{{"UseShenandoahGC=1"}, "17, Shenandoah"},
		{{"UseEpsilonGC=1"}, "17, Epsilon GC"},
		{{"UseNewGC=1"}, "17, unknown collector"},
		{{"UseG1GC=1", "UseCompiler=0"}, "17, G1, interpreter only"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(free) char *library = library_with(t[i].flags);
		struct jvm j = start((struct player){.tables = library});

		probe(false, &j);
		check_found("java", FINDING_OK, t[i].want, "", t[i].flags[0]);
		fakejvm_end(&j);
	}
}

static void test_flags(void)
{
	CLEANUP(free) char *fp = LIBRARY("PreserveFramePointer=1", "DebugNonSafepoints=1");
	CLEANUP(free) char *plain = LIBRARY();
	struct jvm j = start((struct player){.tables = fp});

	probe(true, &j);
	check_found("metadata", FINDING_OK, "HotSpot's can be read from outside", "",
		    "tables are read");
	check_found("stacks", FINDING_OK,
		    "by frame pointers, which it keeps (PreserveFramePointer)", "",
		    "a JVM that keeps frame pointers needs no copies");
	check_found(
		"inlining", FINDING_NOTE,
		"approximate in older code: DebugNonSafepoints was switched on later",
		"dfg-trigger reports how much ran in such code (without_debug_info)",
		"leaves are exact only in code that is new, unless the JVM began with the flag");
	check_found("attach", FINDING_OK, "possible; no agent is loaded", "",
		    "it can be attached to");
	check_found("source", FINDING_OK, "read from outside; no agent is needed", "",
		    "but reading is first where the agent cannot be seen");
	strcpy(j.version, "21");
	probe(true, &j);
	check_found("attach", FINDING_OK,
		    "possible; but this JVM prints a warning when an agent is loaded", "",
		    "JDK 21 warns of agents");
	strcpy(j.version, "20.0.2");
	probe(true, &j);
	check_found("attach", FINDING_OK, "possible; no agent is loaded", "", "JDK 20 does not");
	strcpy(j.version, "1.8.0_402");
	probe(true, &j);
	check_found("attach", FINDING_OK, "possible; no agent is loaded", "", "nor does JDK 8");
	fakejvm_end(&j);
	j = start((struct player){.tables = plain});
	probe(true, &j);
	check_found("inlining", FINDING_NOTE, "approximate: DebugNonSafepoints is off",
		    "dfg-trigger switches it on, for code compiled from then on",
		    "leaves that are not exact are a note");
	fakejvm_end(&j);
}

/* ---- attaching, and the source of names ---- */

static void test_attach(void)
{
	CLEANUP(free) char *rs = LIBRARY("ReduceSignalUsage=1");
	CLEANUP(free) char *off = LIBRARY("EnableDynamicAgentLoading=0");
	CLEANUP(free) char *on = LIBRARY("EnableDynamicAgentLoading=1", "ReduceSignalUsage=0");
	struct jvm j = start((struct player){.tables = rs, .deaf = true});
	const struct finding *f;

	probe(true, &j);
	check_found("attach", FINDING_NOTE, "it was started with -Xrs", READ_INSTEAD,
		    "a JVM with -Xrs cannot be attached to");
	check_found("source", FINDING_OK, "read from outside; no agent is needed", "",
		    "its memory is read");
	fakejvm_end(&j);
	j = start((struct player){.tables = off});
	probe(true, &j);
	check_found("attach", FINDING_NOTE,
		    "agents cannot be loaded (-XX:-EnableDynamicAgentLoading)", READ_INSTEAD,
		    "a JVM can refuse agents");
	fakejvm_end(&j);
	j = start((struct player){.tables = on});
	probe(true, &j);
	check_found("attach", FINDING_OK, "possible; no agent is loaded", "",
		    "flags that are not so do not count");
	halt(&j);
	probe(true, &j);
	f = finding_of("attach");
	ok(f && f->state == FINDING_NOTE && strstr(f->why, "it is stopped"),
	   "a JVM that is stopped cannot be attached to: %s", f ? f->why : "nothing");
	is_str(f ? f->advice : NULL, READ_INSTEAD, READ_INSTEAD);
	fakejvm_end(&j);
}

static void test_resident(void)
{
	CLEANUP(free) char *library = LIBRARY();
	struct jvm j = start((struct player){.tables = library, .resident = true});

	probe(true, &j);
	check_found("agent", FINDING_OK, "resident", "", "an agent that is there is found");
	ok(!finding_of("attach"), "it need not be attached");
	check_found("source", FINDING_OK, "the agent, which is resident", "",
		    "the agent is the first source");
	probe(false, &j);
	check_found("source", FINDING_OK, "read from outside", "",
		    "one that cannot be reached is not used");
	fakejvm_end(&j);
}

/* The library's path makes it a JVM, though it has no tables: attaching is possible. */
static void test_agent_only(void)
{
	CLEANUP(free) char *library = path_of("empty/libjvm.so");
	struct jvm j;

	put("empty/libjvm.so", "x");
	j = start((struct player){.library = library});
	probe(true, &j);
	check_found("source", FINDING_OK,
		    "the agent, loaded then: its memory cannot be read from outside", "",
		    "the agent is loaded where nothing can be read");
	probe(false, &j);
	check_found("source", FINDING_NO, "neither agent nor reader: Java code will have no names",
		    "the graph has its native and kernel frames",
		    "but not where it cannot be brought");
	fakejvm_end(&j);
}

static void test_visible(void)
{
	CLEANUP(free) char *library = LIBRARY("PreserveFramePointer=1");
	struct actor a;
	struct jvm j;

	if (actor_fork(&a))
		play(&(struct player){.tables = library, .visible = true}, &a);
	if (!actor_wait(&a)) {
		ok(true, "a JVM with the mounts # SKIP not permitted here");
		actor_end(a.pid);
		return;
	}
	j = (struct jvm){.pid = a.pid, .procfd = proc_open(a.pid, &err), .version = "17"};
	probe(true, &j);
	check_found("source", FINDING_OK, "the agent, loaded then: its container has the mounts",
		    "", "an agent that is visible is loaded");
	strcpy(j.version, "21");
	probe(true, &j);
	check_found("source", FINDING_OK, "read from outside; no agent is needed", "",
		    "but not where that would be seen");
	fakejvm_end(&j);
}

/* ---- stacks ---- */

/* Sleeps with this much of the stack in use. */
static void play_deep(const char *tables, size_t bytes, const struct actor *a)
{
	char *deep = __builtin_alloca(bytes);

	memset(deep, 1, bytes);
	play(&(struct player){.tables = tables, .deaf = deep[0] == 0}, a);
}

static void check_stacks(const char *tables, size_t bytes, bool fits, const char *name)
{
	unsigned kib = probe_stack_bytes() >> 10;
	CLEANUP(free) char *want = NULL;
	struct stack_depths d = {0};
	struct actor a;
	struct jvm j;

	if (actor_fork(&a))
		play_deep(tables, bytes, &a);
	j = fakejvm_wait(&a);
	for (int i = 0; i < 1000 && !d.asleep; i++) {
		usleep(2000);
		if (stack_depths_read(j.procfd, 1, &d, &err) < 0)
			abort();
	}
	probe(true, &j);
	want = !d.asleep ? NULL
	       : fits	 ? xasprintf("%u KiB are copied; its 1 threads that sleep use at most %.1f "
					"KiB",
				     kib, (double)d.deepest / 1024)
			 : xasprintf("%u KiB are copied; 1 of its 1 threads that sleep use up to "
					"%.0f KiB",
				     kib, (double)d.deepest / 1024);
	check_found("stacks", fits ? FINDING_OK : FINDING_NOTE, want,
		    fits ? "" : "dfg-trigger --stack 65528", name);
	fakejvm_end(&j);
}

static void test_stacks(void)
{
	CLEANUP(free) char *library = LIBRARY();

	check_stacks(library, 1000, true, "a stack that is copied whole is well");
	check_stacks(library, 100000, false, "one that is not is a note");
	check_stacks(NULL, 1000, true, "stacks count where flags are unknown");
}

/* ---- symbols ---- */

static void put_elf(const char *name, bool symbols, uint8_t id, const char *debug)
{
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	if (symbols)
		elfmake_symbols(&m, SHT_SYMTAB, "f@1000+40");
	elfmake_build_id(&m, id);
	if (debug)
		elfmake_debuglink(&m, debug, 0);
	elfmake_end(&m, &file);
	put_bytes(name, 0755, file.buf, file.len);
}

static void check_symbols(const char *library, enum finding_state state, const char *why,
			  const char *advice, const char *name)
{
	CLEANUP(free) char *path = path_of(library);
	struct jvm j = start((struct player){.library = path});

	halt(&j);
	probe(true, &j);
	check_found("libjvm", state, why, advice, name);
	fakejvm_end(&j);
}

static void test_symbols(void)
{
	static const char few[] = "few of the JVM's own frames have names; install its -dbg",
			  none[] = "libjvm.so is stripped",
			  other[] = "libjvm.so's symbols, from its debug file",
			  unknown[] = "libjvm.so cannot be opened",
			  nameless[] = "the JVM's own frames have no names";

	put_elf("own/libjvm.so", true, 1, NULL);
	check_symbols("own/libjvm.so", FINDING_OK, "libjvm.so has its symbol table", "",
		      "a library may have its symbols");
	put_elf("stripped/libjvm.so", false, 2, NULL);
	check_symbols("stripped/libjvm.so", FINDING_NOTE, none, few, "or not");
	put_elf("apart/libjvm.so", false, 3, "libjvm.debug");
	check_symbols("apart/libjvm.so", FINDING_NOTE, none, few, "a debug file may be missing");
	put_elf("apart/.debug/libjvm.debug", true, 3, NULL);
	check_symbols("apart/libjvm.so", FINDING_OK, other, "", "or have them");
	put_elf("apart/.debug/libjvm.debug", false, 3, NULL);
	check_symbols("apart/libjvm.so", FINDING_NOTE, none, few, "or be stripped, too");
	put_elf("apart/.debug/libjvm.debug", true, 4, NULL);
	check_symbols("apart/libjvm.so", FINDING_NOTE, none, few, "or be of another build");
	put_elf("own/libjvm.so.old", true, 1, NULL);
	check_symbols("own/libjvm.so.old", FINDING_OK, "libjvm.so has its symbol table", "",
		      "a library that was renamed is still it");
	put_elf("own/libjvm.s", true, 1, NULL);
	check_symbols("own/libjvm.s", FINDING_NOTE, unknown, nameless,
		      "a library of another name is not");
	put("own/libjvm.so", "");
	check_symbols("own/libjvm.so", FINDING_NOTE, none, few, "an empty file has no symbols");
}

/* ---- events ---- */

#define STOPS  "_ZN20SafepointSynchronize5beginEv@1100+40 _ZN16SafepointTracing3endEv@1180+40"
#define STOPS  "_ZN20SafepointSynchronize5beginEv@1100+40 _ZN16SafepointTracing3endEv@1180+40"
#define TLAB   "_ZN11AllocTracer27send_allocation_in_new_tlabEfake@1100+40"
#define ENTERS "_ZN13ObjectMonitor6EnterIEP10JavaThread@1200+40 _ZN13ObjectMonitor5enterEv@1300+40"
#define EXITS  "_ZN13ObjectMonitor10ExitEpilogEP10JavaThreadPv@1400+40"
#define PARKS  "Unsafe_Park@1500+40 Unsafe_Unpark@1600+40"

/* A note of <sys/sdt.h>: a place at 0x1540. */
static void add_park_end(struct elfmake *m)
{
	static const char texts[] = "hotspot\0thread__park__end\0";
	CLEANUP(str_fini) struct str note = {0};

	sdt_add_note(&note, 0x1540, texts, sizeof(texts));
	elfmake_add(m, ".stapsdt.base", SHT_PROGBITS, "", 0);
	elfmake_add(m, ".note.stapsdt", SHT_NOTE, note.buf, note.len);
}

/* ObjectMonitor::enter calls EnterI. */
static void put_libjvm(const char *name, const char *symbols, bool park_end)
{
#ifdef __x86_64__
	static const char call[] = "\xe8\xeb\xfe\xff\xff"; /* at 0x1310: 0x1200 - 0x1315 */
#else
	static const char call[] = "\xbc\xff\xff\x97"; /* at 0x1310: -0x110 bytes */
#endif
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, symbols);
	if (park_end)
		add_park_end(&m);
	elfmake_end(&m, &file);
	if (file.len > ELFMAKE_CODE)
		abort();
	while (file.len < ELFMAKE_CODE + ELFMAKE_CODE_LEN)
		str_addc(&file, '\x55'); /* push */
	memcpy(file.buf + 0x1310, call, sizeof(call) - 1);
	put_bytes(name, 0755, file.buf, file.len);
}

static void test_events(void)
{
	static const char can[] = "allocations can be recorded (dfg-trigger -e alloc)",
			  all[] = "waits for monitors and java.util.concurrent's locks can be "
				  "recorded, with the holders (dfg-trigger -e lock)",
			  none[] = "its libjvm.so has no symbol ObjectMonitor::EnterI or "
				   "enter_internal, or no call of it (it has, unless it is "
				   "stripped)",
			  no_parks[] =
				  "waits for monitors can be recorded; its libjvm.so has no "
				  "symbol Unsafe_Park, or neither a call of Parker::park there "
				  "nor the USDT probe thread__park__end",
			  few[] = "waits for monitors can be recorded, without their holders; its "
				  "libjvm.so has no symbol Unsafe_Park, or neither a call of "
				  "Parker::park there nor the USDT probe thread__park__end",
			  no_holders[] =
				  "waits for locks can be recorded; its libjvm.so has no symbol "
				  "ObjectMonitor::ExitEpilog or exit_epilog, or Unsafe_Unpark",
			  nothing[] = "-e lock records nothing of it",
			  left_out[] = "-e lock leaves those of java.util.concurrent out",
			  some[] = "-e lock does not say who held all of them";
	static const struct {
		const char *symbols;
		bool park_end, allocates;
		enum finding_state lock;
		const char *why, *advice, *name;
	} t[] = {
		{TLAB " " ENTERS " " EXITS " " PARKS " " STOPS, true, true, FINDING_OK, all, "",
		 "a library may have all functions of events"},
		{ENTERS " " EXITS " " PARKS, true, false, FINDING_OK, all, "",
		 "or those of locks alone"},
		{TLAB " " EXITS " " PARKS, true, true, FINDING_NOTE, none, nothing,
		 "or not that of monitors, without which there is no event"},
		{"_ZN13ObjectMonitor6EnterIEP6Thread@1700+40 "
		 "_ZN13ObjectMonitor5enterEv@1300+40 " EXITS,
		 false, false, FINDING_NOTE, none, nothing, "a call of another function is none"},
		{ENTERS " " EXITS " " PARKS, false, false, FINDING_NOTE, no_parks, left_out,
		 "one without USDT probes has no end of a thread's waiting"},
		{ENTERS " " EXITS, true, false, FINDING_NOTE, no_parks, left_out,
		 "one may lack its beginning"},
		{ENTERS, false, false, FINDING_NOTE, few, left_out, "or the holders, too"},
		{ENTERS " " PARKS, true, false, FINDING_NOTE, no_holders, some,
		 "or the holders of monitors alone"},
		{ENTERS " " EXITS " Unsafe_Park@1500+40", true, false, FINDING_NOTE, no_holders,
		 some, "or those of other locks"},
		{"f@1100+40", true, false, FINDING_NOTE, none, nothing, "or all"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(free) char *path = path_of("events/libjvm.so");
		struct jvm j;

		put_libjvm("events/libjvm.so", t[i].symbols, t[i].park_end);
		j = start((struct player){.library = path});
		halt(&j);
		probe(true, &j);
		check_found("lock", t[i].lock, t[i].why, t[i].advice, t[i].name);
		if (t[i].allocates)
			check_found("alloc", FINDING_OK, can, "", "  allocations are apart");
		else
			check_found("alloc", FINDING_NOTE,
				    "its libjvm.so has no symbol "
				    "AllocTracer::send_allocation_in_new_tlab "
				    "(it has, unless it is stripped)",
				    "-e alloc records nothing of it", "  allocations are apart");
		if (strstr(t[i].symbols, STOPS))
			check_found("safepoint", FINDING_OK,
				    "safepoints can be recorded (dfg-trigger -e safepoint)", "",
				    "  and so are safepoints");
		else
			check_found("safepoint", FINDING_NOTE,
				    "its libjvm.so has no symbol SafepointSynchronize::begin or "
				    "SafepointTracing::end (it has, unless it is stripped)",
				    "-e safepoint records nothing of it",
				    "  and so are safepoints");
		check_found("compile", FINDING_NOTE,
			    "its libjvm.so lacks a symbol of CompileBroker::"
			    "invoke_compiler_on_method, its one call, or Deoptimization::"
			    "uncommon_trap (it has, unless it is stripped)",
			    "-e compile,deopt records not both", "  and compilations");
		fakejvm_end(&j);
	}
}

static void test_wall(void)
{
	static const char thaw[] =
		"_ZN12Continuation12prepare_thawEP10JavaThreadb@1100+40 "
		"_ZN10FreezeBase16freeze_fast_copyEP17stackChunkOopDesci@1200+40 "
		"_ZN10FreezeBase13finish_freezeERK5frameS2_@1300+40";
	static const char all[] =
		"all the time of its threads can be recorded, virtual ones too (dfg-trigger -e "
		"wall)";
	CLEANUP(free) char *path = path_of("wall/libjvm.so");

	for (unsigned i = 0; i < 3; i++) {
		struct jvm j;

		put_libjvm("wall/libjvm.so", i ? "f@1100+40" : thaw, false);
		j = start((struct player){.library = path});
		strcpy(j.version, i < 2 ? "21.0.1" : "17.0.15");
		halt(&j);
		probe(true, &j);
		if (i == 1)
			check_found("wall", FINDING_NOTE,
				    "its libjvm.so lacks a symbol of FreezeBase::freeze_fast_copy, "
				    "finish_freeze, or Continuation::prepare_thaw (it has, unless "
				    "it is stripped)",
				    "-e wall leaves its virtual threads out",
				    "virtual threads need one symbol");
		else
			check_found("wall", FINDING_OK,
				    i ? "all the time of its threads can be recorded (dfg-trigger "
					"-e wall)"
				      : all,
				    "", i ? "  before JDK 21 there are none" : "the wall clock");
		fakejvm_end(&j);
	}
}

int main(void)
{
	doctorbox_make();
	test_nothing();
	test_collectors();
	test_flags();
	test_attach();
	test_resident();
	test_agent_only();
	test_visible();
	test_stacks();
	if (geteuid() == 0) { /* mapped files are opened */
		test_symbols();
		test_events();
		test_wall();
	}
	doctorbox_remove();
	return tap_done();
}
