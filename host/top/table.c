// SPDX-License-Identifier: Apache-2.0
#include "top/table.h"

#define CALLS_LEAST 100 /* lines with less than 1 % of the method's samples are left out */

static const char *const help[] = {
	"Enter   a method: who calls it, what it calls; a thread: only its methods",
	"Esc     back; all threads; no filter",
	"/       filter: type a part of the name, Enter",
	"f       freeze, and go on",
	"s       by time of its own, or with what it calls",
	"t       threads, or methods",
	"+ -     add up more windows, or fewer",
	"w       write what is seen as a flame graph",
	"q       quit",
	"",
	"SELF    time in the method itself        TOTAL   and in what it calls",
	"HOW     C1, C2: compiled; inline: into its caller; interp: by the interpreter;",
	"        java: native method; native, jvm, stub, kernel: no Java; ?: not known",
};

void table_fini(struct table *t)
{
	paper_fini(&t->paper);
	view_fini(&t->view);
	calls_fini(&t->calls);
}

void table_make(const struct screen *s, struct table *ret)
{
	struct lens lens = s->lens;

	*ret = (struct table){0};
	if (s->mode == SCREEN_HELP)
		for (size_t i = 0; i < ARRAY_LEN(help); i++)
			paper_add(&ret->paper, help[i], NULL, FRAME_UNKNOWN);
	if (!s->shown.stacks)
		return;
	if (s->mode == SCREEN_CALLS)
		lens.filter = NULL;
	view_make(s->shown.stacks, &lens, &ret->view);
	if (s->mode == SCREEN_METHODS)
		paper_methods(&ret->paper, &ret->view);
	else if (s->mode == SCREEN_THREADS)
		paper_threads(&ret->paper, &ret->view, &lens);
	else if (s->mode == SCREEN_CALLS) {
		calls_make(s->shown.stacks, &lens, s->method, s->method_kind, CALLS_LEAST,
			   &ret->calls);
		paper_calls(&ret->paper, &ret->calls, &ret->view, s->method);
	}
	if (ret->paper.count == 0)
		paper_add(&ret->paper, lens.filter ? "no name has this in it" : "nothing ran", NULL,
			  FRAME_UNKNOWN);
}
