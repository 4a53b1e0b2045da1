// SPDX-License-Identifier: Apache-2.0
#include "report/formats.h"

#include "common/str.h"
#include "report/perfmaps.h"

static int folded(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	(void)p;
	return draw_folded(s, fd, err);
}

static int no_recording(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	(void)s;
	(void)p;
	(void)fd;
	return err_set(err, 0, "it is made of a recording, with dfg-trigger");
}

static const struct format formats[] = {
	{"svg", "flame.svg", false, draw_svg, NULL, "diff.svg", draw_difference_svg},
	{"html", "flame.html", true, draw_html, NULL, "diff.html", draw_difference_html},
	{"folded", "flame.folded", false, folded, NULL, "diff.folded", draw_difference_folded},
	{"pprof", "flame.pb.gz", true, draw_pprof, NULL, NULL, NULL},
	{"speedscope", "flame.speedscope.json", true, draw_speedscope, NULL, NULL, NULL},
	{"firefox", "flame.firefox.json", true, draw_firefox, NULL, NULL, NULL},
	{"json", "flame.json", true, draw_json, NULL, NULL, NULL},
	{"perf-map", "perf-map.tar", false, no_recording, perfmaps_draw, NULL, NULL},
};
_Static_assert(ARRAY_LEN(formats) <= FORMATS_MAX, "room for all formats");

static bool is_for(const struct format *f, bool difference)
{
	return !difference || f->draw_difference;
}

static const struct format *find(const char *name, bool difference)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (is_for(&formats[i], difference) && !strcmp(formats[i].name, name))
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

const char *formats_file(const char *name)
{
	return find(name, false)->file;
}

void formats_add(const char *name, struct format_set *set)
{
	const struct format *f = find(name, false);

	if (!has(set, f))
		set->list[set->count++] = f;
}

bool formats_take_details(const struct format_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i]->details)
			return true;
	return false;
}

static int parse(const char *list, bool difference, struct format_set *ret, struct err *err)
{
	CLEANUP(free) char *copy = xstrdup(list);
	struct format_set set = {0};
	char *save = NULL;

	for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		const struct format *f = find(name, difference);

		if (!f) {
			CLEANUP(str_fini) struct str known = {0};

			for (size_t i = 0; i < ARRAY_LEN(formats); i++)
				if (is_for(&formats[i], difference))
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

int formats_parse(const char *list, struct format_set *ret, struct err *err)
{
	return parse(list, false, ret, err);
}

int formats_parse_difference(const char *list, struct format_set *ret, struct err *err)
{
	return parse(list, true, ret, err);
}
