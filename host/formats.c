// SPDX-License-Identifier: Apache-2.0
#include "formats.h"

#include "dfg/str.h"

static int folded(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	(void)p;
	return draw_folded(s, fd, err);
}

static const struct format formats[] = {
	{"svg", "flame.svg", false, draw_svg},
	{"html", "flame.html", true, draw_page},
	{"folded", "flame.folded", false, folded},
	{"pprof", "flame.pb.gz", true, draw_pprof},
	{"speedscope", "flame.speedscope.json", true, draw_speedscope},
	{"firefox", "flame.firefox.json", true, draw_firefox},
	{"json", "flame.json", true, draw_tree},
};
_Static_assert(ARRAY_LEN(formats) <= FORMATS_MAX, "room for all formats");

static const struct format *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static bool has(const struct format_set *set, const struct format *f)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i] == f)
			return true;
	return false;
}

bool formats_take_details(const struct format_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i]->details)
			return true;
	return false;
}

int formats_parse(const char *list, struct format_set *ret, struct err *err)
{
	CLEANUP(free) char *copy = xstrdup(list);
	struct format_set set = {0};
	char *save = NULL;

	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		const struct format *f = find(name);

		if (!f) {
			CLEANUP(str_fini) struct str known = {0};

			for (size_t i = 0; i < ARRAY_LEN(formats); i++)
				str_addf(&known, "%s%s", i ? ", " : "", formats[i].name);
			return err_set(err, 0, "unknown format \"%s\"; there are: %s", name,
				       known.buf);
		}
		if (!has(&set, f))
			set.list[set.count++] = f;
	}
	if (set.count == 0)
		return err_set(err, 0, "no format given");
	*ret = set;
	return 0;
}
