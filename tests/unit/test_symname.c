// SPDX-License-Identifier: Apache-2.0
#include "elf/names.h"

#include "lib/tap.h"

static void shows(const char *name, const char *want)
{
	CLEANUP(str_fini) struct str s = {0};

	symname_add(&s, name, strlen(name));
	is_str(s.buf, want, "%s", name);
}

static void test_shown(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	CLEANUP(str_fini) struct str bomb = {0}, out = {0};

	shows("main", "main");
	shows("_ZN9JavaCalls11call_"
	      "helperEP9JavaValueRK12methodHandleP17JavaCallArgumentsP10JavaThread",
	      "JavaCalls::call_helper");
	shows("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	shows("sem_post@GLIBC_2.2.5", "sem_post");
	shows("clock_gettime@@GLIBC_2.17", "clock_gettime");
	shows("@odd", "@odd");
	shows("_Znot_mangled", "_Znot_mangled");
	shows("", "?");
	symname_add(&out, "a;b\n\033c", 6);
	is_str(out.buf, "a:b??c", "text from outside is made clean");
	str_clear(&out);
	/* std::pair<int, int>, a pair of two of these, a pair of two of those …: 2^30 "int". */
	str_adds(&bomb, "_Z1fISt4pairIiiE");
	for (int i = 0; i < 30; i++)
		str_addf(&bomb, "S0_IS%c_S%c_E", digits[i + 1], digits[i + 1]);
	str_adds(&bomb, "EvT_");
	symname_add(&out, bomb.buf, bomb.len);
	is_int(out.len, SYMNAME_SHOWN, "a name that stands for gigabytes is cut");
	ok(has_prefix(out.buf, "f<std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<"),
	   "and readable up to there: %.80s", out.buf);
	str_clear(&out);
	str_clear(&bomb);
	for (int i = 0; i < 5000; i++)
		str_addc(&bomb, 'x');
	symname_add(&out, bomb.buf, bomb.len);
	is_int(out.len, SYMNAME_SHOWN, "a long name is cut");
}

static void is_class(const char *raw, size_t len, const char *want)
{
	CLEANUP(str_fini) struct str s = {0};

	symname_add_class(&s, raw, len);
	is_str(s.buf, want, "the class %s", want);
}

#define IS_CLASS(raw, want) is_class(raw, sizeof(raw) - 1, want)

static void test_class(void)
{
	IS_CLASS("java/lang/String", "java.lang.String");
	IS_CLASS("A", "A");
	IS_CLASS("B", "B");
	IS_CLASS("Lone;", "Lone:");
	IS_CLASS("[[B", "byte[][]");
	IS_CLASS("[C", "char[]");
	IS_CLASS("[D", "double[]");
	IS_CLASS("[F", "float[]");
	IS_CLASS("[I", "int[]");
	IS_CLASS("[J", "long[]");
	IS_CLASS("[S", "short[]");
	IS_CLASS("[Z", "boolean[]");
	IS_CLASS("[Q", "Q[]");
	IS_CLASS("[Bytes", "Bytes[]");
	IS_CLASS("[Ljava/lang/String;", "java.lang.String[]");
	IS_CLASS("[[LB;", "B[][]");
	IS_CLASS("[LA", "LA[]");
	IS_CLASS("[L;", "L:[]");
	IS_CLASS("[", "?[]");
	IS_CLASS("", "?");
	IS_CLASS("a\nb;c\033/d\0e", "a?b:c?.d?e");
	is_class("[Bytes", 2, "byte[]");
}

static void test_hidden_class(void)
{
	CLEANUP(str_fini) struct str s = {0};

	IS_CLASS("a/A$$Lambda+0x7f12", "a.A$$Lambda.0x7f12");
	IS_CLASS("a/A$$Lambda$14+0x7f12/7582", "a.A$$Lambda$14.0x7f12");
	IS_CLASS("[La/A$$Lambda+0x7f12/7582;", "a.A$$Lambda.0x7f12[]");
	IS_CLASS("A$$Lambda$14/7582", "A$$Lambda$14/7582");
	IS_CLASS("[La/A$$Lambda$14/7582;", "a.A$$Lambda$14/7582[]");
	IS_CLASS("a/7b/B", "a.7b.B");
	IS_CLASS("a/7582x", "a.7582x");
	IS_CLASS("7582", "7582");
	IS_CLASS("a/", "a.");
	IS_CLASS("+0x", ".0x");
	str_adds(&s, "x/y+0x1/2;");
	symname_add_class(&s, "a/b", 3);
	is_str(s.buf, "x/y+0x1/2;a.b", "a class is added to what is there");
}

/* No class is so long: a forged recording. */
static void test_long_class(void)
{
	CLEANUP(str_fini) struct str raw = {0}, out = {0};

	for (int i = 0; i < 5000; i++)
		str_addc(&raw, i < 4990 ? 'x' : '7');
	memcpy(raw.buf + 4989, "/", 1);
	memcpy(raw.buf, "+0x", 3);
	symname_add_class(&out, raw.buf, raw.len);
	ok(out.len <= SYMNAME_SHOWN && has_prefix(out.buf, ".0xxx"), "a long class is cut");
}

static bool better(struct symbol_rank a, struct symbol_rank b)
{
	return symname_better(&a, &b);
}

static void test_alias(void)
{
	struct symbol_rank a = {.name = "name", .size = 10, .typed = true};
	struct symbol_rank b = a;

	b.size = 0;
	ok(better(b, a) && !better(a, b), "one with a size");
	b = a;
	b.typed = false;
	ok(better(b, a) && !better(a, b), "a function");
	b = a;
	b.weak = true;
	ok(better(b, a) && !better(a, b), "not a weak one");
	b = a;
	b.global = true;
	ok(better(a, b) && !better(b, a), "a global one");
	b = a;
	b.name = "_name";
	ok(better(b, a) && !better(a, b), "fewer underscores");
	b = a;
	b.name = "longer";
	ok(better(a, b) && !better(b, a), "the longer");
	b.name = "SySx";
	ok(better(b, a) && !better(a, b), "not the alias SyS");
	ok(!better(a, a), "the first of two that are equal");
}

static void test_base(void)
{
	size_t len;
	const char *base = symname_base("/usr/lib/libc.so.6 (deleted)", &len);

	ok(len == 9 && memcmp(base, "libc.so.6", 9) == 0, "the name of a file that is gone");
	base = symname_base("[vdso]", &len);
	ok(len == 6 && base[0] == '[', "no path");
	base = symname_base("/", &len);
	is_int(len, 1, "nothing but a slash");
}

int main(void)
{
	test_shown();
	test_class();
	test_hidden_class();
	test_long_class();
	test_alias();
	test_base();
	return tap_done();
}
