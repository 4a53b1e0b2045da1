// SPDX-License-Identifier: Apache-2.0
/* Places where a JVM tells what its memory pools have, and that it has made code: notes of
 * <sys/sdt.h> with arguments. */
#include <fcntl.h>
#include <unistd.h>

#include "lib/elfmake.h"
#include "lib/sdtnote.h"
#include "lib/tap.h"
#include "lib/textfile.h"
#include "probe/probes.h"

#define BEFORE "mem__pool__gc__begin"
#define AFTER  "mem__pool__gc__end"
#define LOAD   "compiled__method__load"
#define UNLOAD "class__unloaded"

static void add_note(struct str *notes, uint64_t place, const char *name, const char *arguments,
		     bool cut)
{
	CLEANUP(str_fini) struct str texts = {0};

	str_add(&texts, "hotspot", 8);
	str_add(&texts, name, strlen(name) + 1);
	str_add(&texts, arguments, strlen(arguments) + !cut);
	sdt_add_note(notes, place, texts.buf, texts.len);
}

/* `code`: only of code. */
static struct flat_probes find_in(const struct str *notes, bool code)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(close_fd) int fd = -1;
	struct flat_probes ret;
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, "f@1100+40");
	elfmake_add(&m, ".stapsdt.base", SHT_PROGBITS, "", 0);
	elfmake_add(&m, ".note.stapsdt", SHT_NOTE, notes->buf, notes->len);
	elfmake_end(&m, &file);
	while (file.len < ELFMAKE_CODE + ELFMAKE_CODE_LEN)
		str_addc(&file, 0);
	fd = file_of(file.buf, file.len);
	if (code)
		flat_find_code_probes(fd, &ret);
	else
		flat_find_probes(fd, -1, &ret);
	return ret;
}

static struct flat_probes find(const struct str *notes)
{
	return find_in(notes, false);
}

#ifdef __x86_64__
/* JDK 25 and 27 of Debian. */
#define REGISTERS      "8@%r14 8@%rbx 8@%r13 8@%rdi 8@%r8 8@%rax 8@%r9 8@%rdx"
#define NAME_REGISTER  FLAT_ARGUMENT(2u, false, 0)
#define USED_REGISTER  FLAT_ARGUMENT(10u, false, 0)
#define MEMORY	       "8@%r13 8@%r14 8@%r15 8@%rax 8@-80(%rbp) 8@-72(%rbp) 8@-64(%rbp) 8@-56(%rbp)"
#define MEMORY_NAME    FLAT_ARGUMENT(0u, false, 0)
#define MEMORY_USED    FLAT_ARGUMENT(4u, true, -72)
#define FIRST(n)       "8@%r14 8@%rbx 8@%r13 8@%rdi 8@%r8 " n
#define LAST_IN_MEMORY "8@32767(%rsp)"
#define LAST	       FLAT_ARGUMENT(19u, true, 32767)
#define CODE	       "8@%r12 -4@%r15d 8@-72(%rbp) -4@%ecx 8@%rsi -4@$5 8@%r14 -4@%eax"
#define CODE_REGISTER  FLAT_ARGUMENT(1u, false, 0)
static const char *const wrong[] = {"8@%eax",	"8@%r16",     "8@$5",	    "-8@%rax",
				    "4@%rax",	"8@-72(%rbp", "8@-72(%zmm", "8@32768(%rbp)",
				    "8@(%rbp)", "rax",	      "8@%raxrax",  "8@-72(%rbp,%rax,8)",
				    "",		"8@",	      "8@%",	    "8@-72"};
#else
#define REGISTERS      "8@x23 8@x20 8@x21 8@x0 8@x26 8@x27 8@x28 8@x25"
#define NAME_REGISTER  FLAT_ARGUMENT(21u, false, 0)
#define USED_REGISTER  FLAT_ARGUMENT(27u, false, 0)
#define MEMORY	       "8@x23 8@x20 8@x21 8@x0 8@[x29, -80] 8@[x29, -72] 8@[sp, 8] 8@x1"
#define MEMORY_NAME    FLAT_ARGUMENT(21u, false, 0)
#define MEMORY_USED    FLAT_ARGUMENT(29u, true, -72)
#define FIRST(n)       "8@x23 8@x20 8@x21 8@x0 8@x26 " n
#define LAST_IN_MEMORY "8@[sp, 32767]"
#define LAST	       FLAT_ARGUMENT(31u, true, 32767)
#define CODE	       "8@x23 -4@w20 8@[x29, -72] -4@w3 8@[sp, 8] -4@5 8@x20 -4@w1"
#define CODE_REGISTER  FLAT_ARGUMENT(20u, false, 0)
static const char *const wrong[] = {"8@w1",	   "8@x31",	     "8@5", "-8@x1",   "4@x1",
				    "8@[x29, -72", "8@[x29, 32768]", "x1",  "8@[x29]", "",
				    "8@",	   "8@[q1, 8]"};
#endif

static struct flat_probes find_both(const char *before, const char *after)
{
	CLEANUP(str_fini) struct str notes = {0};

	add_note(&notes, 0x1120, BEFORE, before, false);
	add_note(&notes, 0x1140, AFTER, after, false);
	return find(&notes);
}

static bool has_none(const struct flat_probes *p)
{
	return !p->offset[FLAT_PROBE_POOL_BEFORE] && !p->offset[FLAT_PROBE_POOL_AFTER];
}

static void test_arguments(void)
{
	struct flat_probes p = find_both(REGISTERS, MEMORY);

	ok(p.offset[FLAT_PROBE_POOL_BEFORE] == 0x1120 && p.offset[FLAT_PROBE_POOL_AFTER] == 0x1140,
	   "both places are found");
	is_int(p.pool_name[0], NAME_REGISTER, "before, the name is in a register");
	is_int(p.pool_used[0], USED_REGISTER, "so is what is used");
	is_int(p.pool_name[1], MEMORY_NAME, "after, so is the name");
	is_int(p.pool_used[1], MEMORY_USED, "and what is used is in memory");
	p = find_both(REGISTERS, FIRST(LAST_IN_MEMORY));
	is_int(p.pool_used[1], LAST, "the last word may be anywhere");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CLEANUP(free) char *one = xasprintf("%s%s", FIRST(""), wrong[i]);

		p = find_both(one, REGISTERS);
		ok(has_none(&p), "an argument that is not understood is not taken: %s", wrong[i]);
		p = find_both(REGISTERS, one);
		ok(has_none(&p), "nor that of the other place");
	}
}

static void test_cookies(void)
{
	const struct flat_probes p = find_both(REGISTERS, FIRST(LAST_IN_MEMORY));
	const uint64_t cookie = flat_cookie(&p, FLAT_PROBE_POOL_AFTER);

	ok(FLAT_COOKIE_PROBE(cookie) == FLAT_PROBE_POOL_AFTER &&
		   FLAT_COOKIE_FIRST(cookie) == p.pool_name[1] &&
		   FLAT_COOKIE_SECOND(cookie) == LAST,
	   "a program gets the probe and its arguments");
	is_int(FLAT_ARGUMENT_OFFSET(FLAT_COOKIE_SECOND(cookie)), 32767, "with the largest offset");
	is_int(FLAT_ARGUMENT_OFFSET(FLAT_ARGUMENT(1, true, -32768)), -32768, "or the smallest");
	is_int((int64_t)flat_cookie(&p, FLAT_PROBE_END), FLAT_PROBE_END,
	       "of other probes nothing but the probe");
}

static void test_notes(void)
{
	CLEANUP(str_fini) struct str one = {0}, cut = {0};
	struct flat_probes p;

	add_note(&one, 0x1120, BEFORE, REGISTERS, false);
	p = find(&one);
	ok(has_none(&p), "one place without the other is not taken");
	add_note(&cut, 0x1120, BEFORE, REGISTERS, true);
	add_note(&cut, 0x1140, AFTER, REGISTERS, false);
	p = find(&cut);
	ok(has_none(&p), "nor is a note that has no end");
	p = find_both("", "");
	ok(has_none(&p), "or no arguments");
}

static void test_code(void)
{
	CLEANUP(str_fini) struct str all = {0}, bad = {0};
	struct flat_probes p;

	add_note(&all, 0x1120, LOAD, CODE, false);
	add_note(&all, 0x1130, BEFORE, REGISTERS, false);
	add_note(&all, 0x1140, AFTER, REGISTERS, false);
	p = find(&all);
	is_int(p.offset[FLAT_PROBE_CODE], 0x1120, "where code has been made");
	is_int(p.code, CODE_REGISTER, "with the register of where it begins");
	ok(FLAT_COOKIE_PROBE(flat_cookie(&p, FLAT_PROBE_CODE)) == FLAT_PROBE_CODE &&
		   FLAT_COOKIE_FIRST(flat_cookie(&p, FLAT_PROBE_CODE)) == CODE_REGISTER,
	   "which the program gets");
	add_note(&all, 0x1150, UNLOAD, "8@%rdx -4@%eax", false);
	p = find_in(&all, true);
	ok(p.offset[FLAT_PROBE_CODE] == 0x1120 && p.code == CODE_REGISTER && has_none(&p),
	   "it is found alone, too");
	is_int(p.offset[FLAT_PROBE_UNLOAD], 0x1150, "with where classes are unloaded");
	add_note(&bad, 0x1120, LOAD, REGISTERS, false);
	p = find_in(&bad, true);
	ok(p.offset[FLAT_PROBE_CODE] == 0x1120, "whatever its other arguments are");
	str_clear(&bad);
	add_note(&bad, 0x1120, LOAD, "1 2 3 4 5 6", false);
	ok(!find_in(&bad, true).offset[FLAT_PROBE_CODE], "none with too few arguments");
	str_clear(&bad);
	add_note(&bad, 0x1120, LOAD, "1 2 3 4 5 6 8@nowhere", false);
	ok(!find_in(&bad, true).offset[FLAT_PROBE_CODE], "or one that is not understood");
	str_clear(&bad);
	add_note(&bad, 0x1120, LOAD, "8@[x29 1 2 3 4 5 6 7", false);
	ok(!find_in(&bad, true).offset[FLAT_PROBE_CODE], "or with a bracket that stays open");
}

int main(void)
{
	test_arguments();
	test_cookies();
	test_code();
	test_notes();
	return tap_done();
}
