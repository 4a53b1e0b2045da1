// SPDX-License-Identifier: Apache-2.0
/* Places of libjvm's functions that waits for locks are taken at: functions by name, where they
 * return to, and a note of <sys/sdt.h>. */
#include "probe/probes.h"

#include <fcntl.h>
#include <unistd.h>

#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define BASE	 0x3000u
#define ENTERI	 "_ZN13ObjectMonitor6EnterIEP10JavaThread@1100+40 "
#define REENTERI "_ZN13ObjectMonitor8ReenterIEP10JavaThreadP12ObjectWaiter@1200+40 "
#define ENTER	 "_ZN13ObjectMonitor5enterEP10JavaThread"
#define WAIT	 "_ZN13ObjectMonitor4waitElbP10JavaThread"
#define OTHER	 "_ZN12ObjectWaiter4waitEv"

#define LARGE 65536u /* bytes of the largest caller */
#define BYTES (ELFMAKE_CODE + LARGE + 0x2000)

#ifdef __x86_64__
#define CALL_BYTES 5u
#define STEP	   1u
static void put_call(char *file, uint64_t at, uint64_t to)
{
	const int32_t distance = (int32_t)(to - at - CALL_BYTES);

	file[at] = (char)0xe8;
	memcpy(file + at + 1, &distance, sizeof(distance));
}
#define PUSH	     "\x55"
#define NOT_CHEAP    "\x48\x83\xec"
#define IF_X86(a, b) (a)
#else
#define CALL_BYTES   4u
#define STEP	     4u
static void put_call(char *file, uint64_t at, uint64_t to)
{
	const uint32_t word = 0x94000000u | (uint32_t)((int64_t)(to - at) / 4 & 0x3ffffff);

	memcpy(file + at, &word, sizeof(word));
}
#define PUSH	     "\xfd\x7b\xbe\xa9"
#define NOT_CHEAP    "\xff\x83\x00\xd1"
#define IF_X86(a, b) (b)
#endif

/* Calls that a file has. */
struct call {
	uint64_t at, to;
};

/* A note: all of it, or what it differs in. */
struct note {
	const char *section; /* NULL: .note.stapsdt */
	uint32_t type;	     /* 0: that of the kind */
	const char *text;    /* NULL: that of the probe */
	size_t text_len;
	uint64_t at, base; /* as linked */
	uint32_t desc;	   /* the length that it says; 0: the right one */
	size_t cut;	   /* bytes that are missing at the end */
	uint32_t name_len; /* that it says; 0: the right one */
};

static const char park_end[] = "hotspot\0thread__park__end\08@%rax";

static void add_note(struct str *s, const struct note *n)
{
	const char *text = n->text ? n->text : park_end;
	const size_t len = n->text ? n->text_len : sizeof(park_end);
	const uint32_t head[] = {n->name_len ? n->name_len : 8,
				 n->desc ? n->desc : (uint32_t)(24 + len), n->type ? n->type : 3};
	const uint64_t places[] = {n->at, n->base, 0};

	str_add(s, (const char *)head, sizeof(head));
	str_add(s, "stapsdt", 8);
	str_add(s, (const char *)places, sizeof(places));
	str_add(s, text, len);
	while (s->len % 4)
		str_addc(s, 0);
	s->len -= n->cut;
}

/* A file that is made up; `base` 0: without .stapsdt.base. */
struct made {
	const char *symbols;
	const struct call *calls;
	size_t call_count;
	const struct note *notes;
	size_t note_count;
	uint64_t base;
	size_t len; /* of the file; 0: all of it */
};

static struct flat_probes find(const struct made *from)
{
	CLEANUP(str_fini) struct str file = {0}, notes = {0};
	CLEANUP(close_fd) int fd = -1;
	struct flat_probes ret;
	struct elfmake m;
	Elf64_Phdr ph;

	memset(&ret, 7, sizeof(ret));
	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, from->symbols);
	for (size_t i = 0; i < from->note_count; i++)
		add_note(&notes, &from->notes[i]);
	if (from->base)
		m.sections[elfmake_add(&m, ".stapsdt.base", SHT_PROGBITS, "", 1)].sh_addr =
			from->base;
	if (from->note_count) {
		const char *name =
			from->notes[0].section ? from->notes[0].section : ".note.stapsdt";

		m.sections[elfmake_add(&m, name, SHT_NOTE, notes.buf, notes.len)].sh_addralign = 4;
	}
	elfmake_end(&m, &file);
	while (file.len < BYTES)
		str_addc(&file, 0);
	memcpy(&ph, file.buf + sizeof(Elf64_Ehdr), sizeof(ph));
	ph.p_filesz = BYTES - ELFMAKE_CODE;
	memcpy(file.buf + sizeof(Elf64_Ehdr), &ph, sizeof(ph));
	for (uint64_t at = 0x1100; at < 0x1500; at += 0x100)
		memcpy(file.buf + at, PUSH, strlen(PUSH));
	memcpy(file.buf + 0x1600, NOT_CHEAP, strlen(NOT_CHEAP));
	for (size_t i = 0; i < from->call_count; i++)
		put_call(file.buf, from->calls[i].at, from->calls[i].to);
	fd = file_of(file.buf, from->len ? from->len : file.len);
	flat_find_probes(fd, -1, &ret);
	return ret;
}

static bool is_at(const struct flat_probes *p, enum flat_probe probe, uint64_t want)
{
	if (p->offset[probe] != want)
		printf("# probe %u: %lx, want %lx\n", probe, (unsigned long)p->offset[probe],
		       (unsigned long)want);
	return p->offset[probe] == want;
}

/* ---- functions ----------------------------------------------------------------------------- */

static void test_names(void)
{
	static const struct {
		const char *symbol;
		enum flat_probe probe;
		uint64_t want;
	} rows[] = {
		{"_ZN13ObjectMonitor6EnterIEP6Thread@1100+40", FLAT_PROBE_ENTER, 0x1100},
		{"_ZN13ObjectMonitor6EnterIEP10JavaThread@1100+40", FLAT_PROBE_ENTER, 0x1100},
		{"_ZN13ObjectMonitor14enter_internalEP10JavaThread@1100+40", FLAT_PROBE_ENTER,
		 0x1100},
		{"_ZN13ObjectMonitor8ReenterIEP6ThreadP12ObjectWaiter@1100+40", FLAT_PROBE_REENTER,
		 0x1100},
		{"_ZN13ObjectMonitor16reenter_internalEP10JavaThreadP12ObjectWaiter@1100+40",
		 FLAT_PROBE_REENTER, 0x1100},
		{"_ZN13ObjectMonitor10ExitEpilogEP6ThreadP12ObjectWaiter@1100+40", FLAT_PROBE_EXIT,
		 0x1100},
		{"_ZN13ObjectMonitor11exit_epilogEP10JavaThreadP12ObjectWaiter@1100+40",
		 FLAT_PROBE_EXIT, 0x1100},
		{"Unsafe_Park@1100+40", FLAT_PROBE_PARK, 0x1100},
		{"Unsafe_Unpark@1100+40", FLAT_PROBE_UNPARK, 0x1100},
		{"Unsafe_ParkX@1100+40", FLAT_PROBE_PARK, 0},
		{"xUnsafe_Park@1100+40", FLAT_PROBE_PARK, 0},
		{"Unsafe_Unpark0@1100+40", FLAT_PROBE_UNPARK, 0},
		{"_ZN13ObjectMonitor6EnterIEP6Thread.part.0@1100+40", FLAT_PROBE_ENTER, 0},
		{"_ZN13ObjectMonitor6EnterIEP6Thread.cold@1100+40", FLAT_PROBE_ENTER, 0},
		{"_ZN13ObjectMonitor10ExitEpilogEP6Thread.constprop.0@1100+40", FLAT_PROBE_EXIT, 0},
		{"Unsafe_Park.cold@1100+40", FLAT_PROBE_PARK, 0},
		{"Unsafe_Park.part.0@1100+40", FLAT_PROBE_PARK, 0},
		{"_ZN13ObjectMonitor7TryLockEP6Thread@1100+40", FLAT_PROBE_ENTER, 0},
		{"_ZN13ObjectMonitor6EnterIEP6Thread@1600+40", FLAT_PROBE_ENTER, 0x1600},
		{"Unsafe_Park@1600+40", FLAT_PROBE_PARK, 0x1600},
		{"_ZN11AllocTracer27send_allocation_in_new_tlabE@1600+40", FLAT_PROBE_TLAB,
		 IF_X86(0, 0x1600)},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free)
		char *symbols = xasprintf("%s " ENTER "@1700+40", rows[i].symbol);
		const struct call call = {0x1710, rows[i].want ? rows[i].want : 0x1100};
		const struct note end = {.at = 0x1520, .base = BASE};
		struct flat_probes p = find(&(struct made){.symbols = symbols,
							   .calls = &call,
							   .call_count = 1,
							   .notes = &end,
							   .note_count = 1,
							   .base = BASE});
		unsigned others = 0;

		/* Without the ends beginnings would be dropped. */
		p.offset[FLAT_PROBE_ENTERED] = p.offset[FLAT_PROBE_REENTERED] = 0;
		p.offset[FLAT_PROBE_PARKED] = 0;
		for (unsigned k = 0; k < FLAT_PROBE_COUNT; k++)
			others += k != rows[i].probe && p.offset[k];
		ok(is_at(&p, rows[i].probe, rows[i].want) && others == 0, "%s: %s", rows[i].symbol,
		   rows[i].want ? "there" : "not there");
	}
}

/* ---- calls --------------------------------------------------------------------------------- */

static void test_calls(void)
{
	const struct call first[] = {{0x1310, 0x1100}};
	const struct call both[] = {{0x1310, 0x1100}, {0x1420, 0x1200}};
	const struct call back[] = {{0x1310, 0x1108}, {0x1320, 0x1100}, {0x1330, 0x1100}};
	const struct call forward[] = {{0x1010, 0x1100}};
	const struct call last[] = {{0x1340 - CALL_BYTES - STEP, 0x1100}};
	const struct call cut[] = {{0x1340 - CALL_BYTES + STEP, 0x1100}};
	const struct call from_end[] = {{0x2000 + LARGE - 0x100, 0x1100}};
	const struct {
		const char *what, *symbols;
		const struct call *calls;
		size_t n;
		uint64_t entered, reentered;
	} rows[] = {
		{"a call", ENTERI ENTER "@1300+40", first, 1, 0x1310 + CALL_BYTES, 0},
		{"both", ENTERI REENTERI ENTER "@1300+40 " WAIT "@1400+40", both, 2,
		 0x1310 + CALL_BYTES, 0x1420 + CALL_BYTES},
		{"both of one caller", ENTERI REENTERI WAIT "@1300+200", both, 2,
		 0x1310 + CALL_BYTES, 0x1420 + CALL_BYTES},
		{"the first of two, after another one", ENTERI ENTER "@1300+40", back, 3,
		 0x1320 + CALL_BYTES, 0},
		{"a call forward", ENTERI ENTER "@1000+40", forward, 1, 0x1010 + CALL_BYTES, 0},
		{"at the end of the caller", ENTERI ENTER "@1300+40", last, 1, 0x1340 - STEP, 0},
		{"a part of the caller, too", ENTERI ENTER ".part.0@1300+40", first, 1,
		 0x1310 + CALL_BYTES, 0},
		{"no call", ENTERI ENTER "@1300+40", NULL, 0, 0, 0},
		{"a call that no caller has", ENTERI ENTER "@1400+40", first, 1, 0, 0},
		{"a caller that is not ObjectMonitor's", ENTERI OTHER "@1300+40", first, 1, 0, 0},
		{"a call that is cut", ENTERI ENTER "@1300+40", cut, 1, 0, 0},
		{"a caller of 64 KiB", ENTERI ENTER "@2000+10000", from_end, 1,
		 0x2000 + LARGE - 0x100 + CALL_BYTES, 0},
		{"a larger one", ENTERI ENTER "@2000+10001", from_end, 1, 0, 0},
		{"one that goes on after the file", ENTERI ENTER "@12f00+200", from_end, 0, 0, 0},
		{"no EnterI", REENTERI ENTER "@1300+40", first, 1, 0, 0},
		{"an EnterI that is in no segment",
		 "_ZN13ObjectMonitor6EnterIEP6Thread@100+40 " ENTER "@1300+40", NULL, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct flat_probes p = find(&(struct made){.symbols = rows[i].symbols,
							   .calls = rows[i].calls,
							   .call_count = rows[i].n});

		ok(is_at(&p, FLAT_PROBE_ENTERED, rows[i].entered) &&
			   is_at(&p, FLAT_PROBE_REENTERED, rows[i].reentered),
		   "%s: %s", rows[i].what, rows[i].entered ? "a place" : "none");
		is_int(flat_has_event(&p, FLAT_EVENT_LOCK),
		       rows[i].entered && p.offset[FLAT_PROBE_ENTER] ? 1 : 0,
		       "  the event needs it");
	}
}

/* JDK 8: exit has ExitEpilog in it, and Unsafe_Park calls Parker::park at two places. */
static void test_inlined(void)
{
	static const char all[] = "_ZN13ObjectMonitor10ExitEpilogEP6ThreadP12ObjectWaiter@1100+40 "
				  "_ZN13ObjectMonitor4exitEbP6Thread@1200+40 "
				  "_ZN6Parker4parkEbl@1300+40 Unsafe_Park@1400+80";
	const struct call calls[] = {{0x1420, 0x1300}, {0x1440, 0x1300}, {0x1210, 0x1100}};
	struct made m = {.symbols = all, .calls = calls, .call_count = 2};
	struct flat_probes p = find(&m);

	ok(is_at(&p, FLAT_PROBE_EXIT, 0x1200), "what nothing calls is in its caller");
	ok(is_at(&p, FLAT_PROBE_PARK, 0x1400) &&
		   is_at(&p, FLAT_PROBE_PARKED, 0x1420 + CALL_BYTES) &&
		   is_at(&p, FLAT_PROBE_PARKED_2, 0x1440 + CALL_BYTES),
	   "two calls, two places after them");
	m.call_count = 3;
	p = find(&m);
	ok(is_at(&p, FLAT_PROBE_EXIT, 0x1100), "what is called is not");
	m.call_count = 1;
	p = find(&m);
	ok(is_at(&p, FLAT_PROBE_PARKED_2, 0), "one call, one place");
}

static void test_stalls(void)
{
	static const char z[] = "_ZN14ZPageAllocator16alloc_page_stallEP15ZPageAllocation@1100+40 "
				"_ZN14ZPageAllocator10alloc_pageEhm@1300+40";
	static const char z_25[] =
		"_ZN14ZPageAllocator16alloc_page_stallEP15ZPageAllocation@1100+40 "
		"_ZN14ZPageAllocator23claim_capacity_or_stallEP15ZPageAllocation@1200+40 "
		"_ZN14ZPageAllocator16alloc_page_innerEP15ZPageAllocation@1400+40";
	static const char x[] = "_ZN14XPageAllocator16alloc_page_stallEP15XPageAllocation@1100+40 "
				"_ZN14XPageAllocator10alloc_pageEhm@1300+40";
	const struct call direct = {0x1310, 0x1100}, by_claim = {0x1410, 0x1200};
	struct flat_probes p =
		find(&(struct made){.symbols = z, .calls = &direct, .call_count = 1});

	ok(is_at(&p, FLAT_PROBE_STALL, 0x1100) &&
		   is_at(&p, FLAT_PROBE_STALLED, 0x1310 + CALL_BYTES) &&
		   is_at(&p, FLAT_PROBE_STALL_X, 0),
	   "a stall, and where it returns to");
	p = find(&(struct made){.symbols = z_25, .calls = &by_claim, .call_count = 1});
	ok(is_at(&p, FLAT_PROBE_STALL, 0x1100) &&
		   is_at(&p, FLAT_PROBE_STALLED, 0x1410 + CALL_BYTES),
	   "or where what jumps there does");
	p = find(&(struct made){.symbols = z});
	ok(is_at(&p, FLAT_PROBE_STALL, 0) && is_at(&p, FLAT_PROBE_STALLED, 0),
	   "none without its end");
	p = find(&(struct made){.symbols = x, .calls = &direct, .call_count = 1});
	ok(is_at(&p, FLAT_PROBE_STALL_X, 0x1100) &&
		   is_at(&p, FLAT_PROBE_STALLED_X, 0x1310 + CALL_BYTES) &&
		   is_at(&p, FLAT_PROBE_STALL, 0),
	   "JDK 21's older ZGC has its own");
}

/* JDK 27 has no reenter_internal, and what enters for the first time may have enter_internal in
 * it. */
static void test_merged(void)
{
	static const char all[] =
		"_ZN13ObjectMonitor14enter_internalEP10JavaThreadP12ObjectWaiterb@1100+40 "
		"_ZN13ObjectMonitor26enter_with_contention_markEP10JavaThreadR5Mark@1200+40 "
		"_ZN13ObjectMonitor22notify_contended_enterEP10JavaThreadb@1300+40 "
		"_ZN13ObjectMonitor5enterEP10JavaThreadb@1400+40 "
		"_ZN18ObjectSynchronizer17inflate_and_enterEP7oopDesc@1500+40 "
		"_ZN13ObjectMonitor4waitElbP10JavaThread@1700+40";
	static const char older[] = " _ZN13ObjectMonitor16reenter_internalEP10JavaThread@1600+40";
	const struct call calls[] = {
		{0x1710, 0x1100}, {0x1410, 0x1200}, {0x1520, 0x1200}, {0x1720, 0x1600}};
	CLEANUP(free) char *both = xasprintf("%s%s", all, older);
	struct made m = {.symbols = all, .calls = calls, .call_count = 3};
	struct flat_probes p = find(&m);

	ok(is_at(&p, FLAT_PROBE_ENTER, 0x1100) &&
		   is_at(&p, FLAT_PROBE_ENTERED, 0x1710 + CALL_BYTES),
	   "after Object.wait");
	ok(is_at(&p, FLAT_PROBE_CONTEND, 0x1300) &&
		   is_at(&p, FLAT_PROBE_CONTENDED, 0x1410 + CALL_BYTES) &&
		   is_at(&p, FLAT_PROBE_INFLATED, 0x1520 + CALL_BYTES),
	   "and for the first time");
	m.call_count = 2;
	p = find(&m);
	ok(is_at(&p, FLAT_PROBE_ENTER, 0) && is_at(&p, FLAT_PROBE_CONTEND, 0),
	   "none without all ends");
	ok(!flat_has_event(&p, FLAT_EVENT_LOCK), "  which the event needs");
	m = (struct made){.symbols = both, .calls = calls, .call_count = 4};
	p = find(&m);
	ok(is_at(&p, FLAT_PROBE_CONTEND, 0) && is_at(&p, FLAT_PROBE_REENTERED, 0x1720 + CALL_BYTES),
	   "before JDK 27 enter_internal alone says it");
}

/* Files that end in, or before, a caller. */
static void test_cut(void)
{
	const struct call call = {0x1310, 0x1100};
	struct made m = {.symbols = ENTERI ENTER "@1300+40", .calls = &call, .call_count = 1};
	struct flat_probes p;

	m.len = 0x1341;
	p = find(&m);
	ok(is_at(&p, FLAT_PROBE_ENTERED, 0x1310 + CALL_BYTES), "a file that ends after the caller");
	for (m.len = 0x1300; m.len <= 0x1340; m.len += 0x10) {
		p = find(&m);
		ok(is_at(&p, FLAT_PROBE_ENTERED, 0), "one of %zx bytes has less than the caller",
		   m.len);
	}
	for (m.len = 0x10ff; m.len <= 0x1103; m.len++) {
		p = find(&m);
		ok(p.offset[FLAT_PROBE_ENTER] == 0 || p.offset[FLAT_PROBE_ENTER] < m.len,
		   "a place is in the file of %zx bytes", m.len);
	}
}

/* ---- notes --------------------------------------------------------------------------------- */

static const struct call enter = {0x1310, 0x1100};

#define TEXT(t) .text = (t), .text_len = sizeof(t)

static void test_notes(void)
{
	static const struct note right = {.at = 0x1520, .base = BASE};
	static const struct note other = {TEXT("hotspot\0thread__park__begin\08@%rax"),
					  .at = 0x1510, .base = BASE};
	static const struct {
		const char *what;
		struct note note;
		uint64_t base, want;
	} rows[] = {
		{"the right one", {.at = 0x1520, .base = BASE}, BASE, 0x1520},
		{"linked elsewhere", {.at = 0x1520, .base = BASE}, BASE + 0x100, 0x1620},
		{"linked lower", {.at = 0x1520, .base = BASE}, BASE - 0x100, 0x1420},
		{"no .stapsdt.base", {.at = 0x1520, .base = BASE}, 0, 0},
		{"in no segment", {.at = 0x520, .base = BASE}, BASE, 0},
		{"above all", {.at = UINT64_MAX / 2, .base = BASE}, BASE, 0},
		{"another provider",
		 {TEXT("hotspit\0thread__park__end\0"), .at = 0x1520, .base = BASE},
		 BASE,
		 0},
		{"another name",
		 {TEXT("hotspot\0thread__park__ends\0"), .at = 0x1520, .base = BASE},
		 BASE,
		 0},
		{"a shorter name",
		 {TEXT("hotspot\0thread__park__en\0"), .at = 0x1520, .base = BASE},
		 BASE,
		 0},
		{"without arguments",
		 {TEXT("hotspot\0thread__park__end\0"), .at = 0x1520, .base = BASE},
		 BASE,
		 0x1520},
		{"a text that ends before its NUL",
		 {.text = park_end, .text_len = 25, .at = 0x1520, .base = BASE},
		 BASE,
		 0},
		{"another section",
		 {.section = ".note.stapsdx", .at = 0x1520, .base = BASE},
		 BASE,
		 0},
		{"another type", {.type = 4, .at = 0x1520, .base = BASE}, BASE, 0},
		{"no text", {.desc = 24, .at = 0x1520, .base = BASE}, BASE, 0},
		{"half of the places", {.desc = 12, .at = 0x1520, .base = BASE}, BASE, 0},
		{"cut in the text", {.cut = 20, .at = 0x1520, .base = BASE}, BASE, 0},
		{"cut in the places", {.cut = 48, .at = 0x1520, .base = BASE}, BASE, 0},
		{"longer than the section", {.desc = 4096, .at = 0x1520, .base = BASE}, BASE, 0},
		{"the longest", {.desc = UINT32_MAX, .at = 0x1520, .base = BASE}, BASE, 0},
		{"a name that is longer", {.name_len = 4096, .at = 0x1520, .base = BASE}, BASE, 0},
		{"the longest name", {.name_len = UINT32_MAX, .at = 0x1520, .base = BASE}, BASE, 0},
	};
	const struct note some[] = {other, right, other};
	struct flat_probes p;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		p = find(&(struct made){.symbols = ENTERI ENTER "@1300+40",
					.calls = &enter,
					.call_count = 1,
					.notes = &rows[i].note,
					.note_count = 1,
					.base = rows[i].base});
		ok(is_at(&p, FLAT_PROBE_PARKED, rows[i].want) &&
			   is_at(&p, FLAT_PROBE_ENTER, 0x1100),
		   "a note, %s: %s", rows[i].what, rows[i].want ? "found" : "none");
	}
	p = find(&(struct made){.symbols = ENTERI, .notes = some, .note_count = 3, .base = BASE});
	ok(is_at(&p, FLAT_PROBE_PARKED, 0x1520), "among others");
}

static void test_garbage(void)
{
	unsigned odd = 0;

	srand(1);
	for (unsigned i = 0; i < 300; i++) {
		char text[64];
		const struct note note = {.text = text,
					  .text_len = (size_t)rand() % sizeof(text),
					  .type = 3,
					  .name_len = (uint32_t)rand() % 64,
					  .desc = (uint32_t)rand() % 128,
					  .base = BASE};
		struct flat_probes p;

		for (size_t k = 0; k < sizeof(text); k++)
			text[k] = (char)rand();
		p = find(&(struct made){.symbols = ENTERI ENTER "@1300+40",
					.calls = &enter,
					.call_count = 1,
					.notes = &note,
					.note_count = 1,
					.base = BASE});
		odd += p.offset[FLAT_PROBE_PARKED] != 0 || p.offset[FLAT_PROBE_ENTER] != 0x1100;
	}
	is_int(odd, 0, "garbage is no note, and does no harm");
}

/* ---- real ---------------------------------------------------------------------------------- */

/* The JDK is of this machine, not of one that is emulated. */
static void test_real(void)
{
	CLEANUP(close_fd)
	int fd = open("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		      O_RDONLY | O_CLOEXEC);
	struct flat_probes p;

	if (fd < 0) {
		printf("# no JDK 17 here\n");
		return;
	}
	flat_find_probes(fd, -1, &p);
	for (unsigned i = FLAT_PROBE_ENTER; i < FLAT_PROBE_PARKED_2; i++)
		ok(p.offset[i] != 0, "a real libjvm.so has probe %u: %lx", i,
		   (unsigned long)p.offset[i]);
	for (unsigned i = FLAT_PROBE_ENTER; i < FLAT_PROBE_PARKED_2; i++)
		for (unsigned k = i + 1; k < FLAT_PROBE_COUNT; k++)
			if (p.offset[i] == p.offset[k])
				ok(false, "probes %u and %u are in one place", i, k);
}

int main(void)
{
	test_names();
	test_calls();
	test_merged();
	test_inlined();
	test_stalls();
	test_cut();
	test_notes();
	test_garbage();
	if (IF_X86(true, false))
		test_real();
	return tap_done();
}
