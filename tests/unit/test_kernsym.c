// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel.h"

#include "common/str.h"
#include "lib/tap.h"
#include "lib/textfile.h"

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000100 t local_one\n"
			   "ffffffff81000100 T global_one\n"
			   "ffffffff81000180 D some_data\n"
			   "garbage\n"
			   "ffffffff81000200 T\n"
			   "ffffffff81000200 W weak_one\n"
			   "ffffffff81005000 T last_of_kernel\n"
			   "ffffffffc0002000 t second\t[mod]\n"
			   "ffffffffc0001000 t first\t[mod]\n"
			   "ffffffffc0008000 t other\t[other]\n"
			   "ffffffffc0009000 t cut_off";

static struct kallsyms *kallsyms_of(const char *p, size_t len)
{
	CLEANUP(close_fd) int fd = file_of(p, len);
	struct err err;

	return kallsyms_open(fd, &err);
}

static void is_at(const struct kernel *k, uint64_t addr, const char *want)
{
	struct kernel_symbol s;
	char name[64] = "";

	if (kernel_find(k, addr, &s))
		snprintf(name, sizeof(name), "%.*s", (int)s.len, s.name);
	ok(strcmp(name, want) == 0, "%#llx is %s (%s)", (unsigned long long)addr,
	   *want ? want : "nothing", name);
}

/* Functions, aliases of some, data between them: each has the name of the last line of it. */
static void test_order(void)
{
	CLEANUP(str_fini) struct str lines = {0};
	struct kernel_symbol s;
	struct kallsyms *ks;
	struct kernel *k;
	uint64_t wrong = 0, base = 0xffffffff81000000;

	for (unsigned i = 0; i < 3000; i++) {
		if (i % 5 == 0)
			str_addf(&lines, "%llx t alias\n", (unsigned long long)base + i * 16);
		str_addf(&lines, "%llx T f%u\n", (unsigned long long)base + i * 16, i);
		for (unsigned n = 0; n < i % 7; n++)
			str_addf(&lines, "%llx D data\n", (unsigned long long)base + i * 16);
	}
	ks = kallsyms_of(lines.buf, lines.len);
	k = kernel_new(ks);
	for (unsigned i = 0; i < 3000; i++) {
		CLEANUP(free) char *name = xasprintf("f%u", i);

		wrong += !kernel_find(k, base + i * 16 + i % 16, &s) || s.len != strlen(name) ||
			 memcmp(s.name, name, s.len) || (i < 2999 && s.end != s.start + 16);
	}
	is_int(wrong, 0, "each of 3000 is found");
	kernel_free(k);
	kallsyms_close(ks);
}

/* Lines alone: which of them is a function of this name, and up to where. */
static void test_lines(void)
{
	static const struct {
		const char *line, *name;
		uint64_t last; /* byte of the function */
	} t[] = {
		{"ffffffff81000000 T f", "f", 0xffffffff81000fff},
		{"ffffffff81000000 t f", "f", 0xffffffff81000fff},
		{"ffffffff81000000 W f", "f", 0xffffffff81000fff},
		{"ffffffff81000000 w f", "f", 0xffffffff81000fff},
		{"ffffffff81000000 T f\n", "f", 0xffffffff81000fff},
		{"ffffffff81000000 T f\t[m]", "f", 0xffffffff81000fff},
		{"ffffffff81000001 T f", "f", 0xffffffff81001fff},
		{"ffffffff81000fff T f", "f", 0xffffffff81001fff},
		{"ffffffff81000000 D f", "", 0},
		{"ffffffff81000000 T ", "", 0},
		{"ffffffff81000000 T \t[m]", "", 0},
		{"ffffffff81000000_T f", "", 0},
		{"ffffffff81000000 T_f", "", 0},
		{"ffffffffg1000000 T f", "", 0},
		{"fffffffff000 T forest", "", 0},
		{"0000000000000000 T f", "", 0},
		{"ffffffff81000000 D d\nffffffff81000100 D d\n", "", 0},
		{"ffffffff81000000 T f\nffffffff81000010 T g\n", "f", 0xffffffff8100000f},
		{"ffffffff81000000 T f\nffffffff81008000 T g\n", "f", 0xffffffff81007fff},
		{"ffffffff81000000 T f\nffffffff81000010 D d\n", "f", 0xffffffff81000fff},
		{"ffffffff81000000 T f\nffffffff81000010 t g\t[m]\n", "f", 0xffffffff8100000f},
		{"ffffffff81000000 T f\nffffffff81000fff t g\t[m]\n", "f", 0xffffffff81000ffe},
		{"ffffffff81000000 T f\nffffffff81008000 t g\t[m]\n", "f", 0xffffffff81000fff},
		{"ffffffff81000000 t f\t[m]\nffffffff81008000 t g\t[m]\n", "f", 0xffffffff81007fff},
		{"ffffffff81000000 t f\t[m]\nffffffff81008000 t g\t[n]\n", "f", 0xffffffff81000fff},
		{"ffffffff81000000 t f\t[m]\nffffffff81008000 t g\t[mm]\n", "f",
		 0xffffffff81000fff},
		{"fffffffffffff000 T f", "f", UINT64_MAX - 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct kallsyms *ks = kallsyms_of(t[i].line, strlen(t[i].line));
		struct kernel *k = kernel_new(ks);
		struct kernel_symbol s = {0};

		kernel_find(k, t[i].last ? t[i].last : 0xffffffff81000000, &s);
		ok(s.len == strlen(t[i].name) && (!s.len || !memcmp(s.name, t[i].name, s.len)) &&
			   (!s.len || s.end == t[i].last + 1),
		   "lines %zu name a function or none", i);
		if (t[i].last)
			ok(!kernel_find(k, t[i].last + 1, &s) || *s.name != 'f',
			   "lines %zu name no byte after it", i);
		kernel_free(k);
		kallsyms_close(ks);
	}
}

/* Functions of modules stand among those of the kernel; whichever begins last has the address. */
static void test_between(void)
{
	static const char lines[] = "ffffffff81000000 T low\n"
				    "ffffffff81009000 T high\n"
				    "ffffffff81004000 t in\t[m]\n"
				    "ffffffff81004000 t again\t[m]\n"
				    "ffffffff81009000 t same\t[m]\n";
	static const struct {
		uint64_t addr;
		const char *name;
	} row[] = {{0xffffffff81000fff, "low"},	  {0xffffffff81001000, ""},
		   {0xffffffff81003fff, ""},	  {0xffffffff81004000, "again"},
		   {0xffffffff81004fff, "again"}, {0xffffffff81009000, "same"}};
	struct kallsyms *ks = kallsyms_of(lines, strlen(lines));
	struct kernel *k = kernel_new(ks);

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		is_at(k, row[i].addr, row[i].name);
	kernel_free(k);
	kallsyms_close(ks);
}

static void test_many(void)
{
	const uint64_t base = 0xffffffffc0000000;
	struct kernel *k = kernel_new(NULL);
	struct kernel_symbol s;
	unsigned known = 0;

	for (unsigned i = 0; i < 65537; i++)
		kernel_add(k, base + i * 16, 16, i % 2 ? "odd" : "even");
	for (unsigned i = 0; i < 65536; i++)
		known += kernel_find(k, base + i * 16 + 15, &s) && s.start == base + i * 16 &&
			 s.end == s.start + 16 && !memcmp(s.name, i % 2 ? "odd" : "even", s.len);
	is_int(known, 65536, "65536 programs are known");
	ok(!kernel_find(k, base + 65536 * 16, &s), "one more is not");
	kernel_remove(k, base + 16);
	ok(!kernel_find(k, base + 16, &s) && kernel_find(k, base + 15, &s) &&
		   kernel_find(k, base + 32, &s),
	   "one that goes leaves those beside it");
	kernel_add(k, base + 65536 * 16, 16, "last");
	is_at(k, base + 65536 * 16, "last");
	kernel_add(k, base + 16, 0, "empty");
	ok(!kernel_find(k, base + 16, &s), "one without a byte is none");
	kernel_free(k);
}

int main(void)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 t x\t[mod]\n";
	struct kallsyms *ks = kallsyms_of(text, strlen(text));
	struct kernel *k = kernel_new(ks);
	struct err err;

	is_at(k, 0xffffffff80ffffff, "");
	is_at(k, 0xffffffff81000000, "_stext");
	is_at(k, 0xffffffff810000ff, "_stext");
	is_at(k, 0xffffffff81000100, "global_one");
	is_at(k, 0xffffffff81000190, "global_one");
	is_at(k, 0xffffffff81000200, "weak_one");
	is_at(k, 0xffffffff81005010, "last_of_kernel");
	is_at(k, 0xffffffff81006000, "");
	is_at(k, 0xffffffffc0001fff, "first");
	is_at(k, 0xffffffffc0002001, "second");
	is_at(k, 0xffffffffc0007000, "");
	is_at(k, 0xffffffffc0009001, "cut_off");

	kernel_add(k, 0xffffffffc0002100, 0x100, "bpf_prog_a");
	kernel_add(k, 0xffffffffa0000000, 0x100, "bpf_prog_b");
	kernel_add(k, UINT64_MAX, 0x100, "over_the_end");
	is_at(k, 0xffffffffc0002180, "bpf_prog_a");
	is_at(k, 0xffffffffc0002200, "second");
	is_at(k, 0xffffffffa0000000, "bpf_prog_b");
	is_at(k, UINT64_MAX, "");
	kernel_add(k, 0xffffffffa0000000, 0x10, "bpf_prog_c");
	is_at(k, 0xffffffffa0000000, "bpf_prog_c");
	is_at(k, 0xffffffffa0000020, "");
	kernel_remove(k, 0xffffffffc0002100);
	kernel_remove(k, 0x1234);
	is_at(k, 0xffffffffc0002180, "second");
	kernel_free(k);
	kallsyms_close(ks);

	ks = kallsyms_of(hidden, strlen(hidden));
	k = kernel_new(ks);
	is_at(k, 0, "");
	is_at(k, 0x1000, "");
	kernel_free(k);
	kallsyms_close(ks);
	ok(!kallsyms_open(-1, &err), "without a file there are no symbols: %s", err.msg);
	k = kernel_new(NULL);
	is_at(k, 0xffffffff81000000, "");
	kernel_free(k);
	test_order();
	test_lines();
	test_between();
	test_many();
	return tap_done();
}
