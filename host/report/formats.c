// SPDX-License-Identifier: Apache-2.0
#include "report/formats.h"

#include "common/fs.h"
#include "common/log.h"
#include "format/tree.h"
#include "jit/perf_map.h"
#include "report/sandbox.h"

/* ---- perf maps ----------------------------------------------------------------------------- */

#define BLOCK 512

/* A header of tar(5), POSIX.1-1988. Members are owned by root: perf run by root reads no other map.
 */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32];
	char rest[BLOCK - 329];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static void tar_add(struct str *out, const char *name, const struct str *text)
{
	static const char zeros[BLOCK];
	struct tar_header h = {.mode = "0000644",
			       .uid = "0000000",
			       .gid = "0000000",
			       .mtime = "00000000000",
			       .checksum = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '},
			       .type = '0',
			       .magic = "ustar",
			       .version = {'0', '0'},
			       .user = "root",
			       .group = "root"};
	unsigned sum = 0;

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.size, sizeof(h.size), "%011zo", text->len);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum) - 1, "%06o", sum & 0777777);
	str_add(out, &h, sizeof(h));
	str_add(out, text->buf, text->len);
	str_add(out, zeros, (BLOCK - text->len % BLOCK) % BLOCK);
}

/* Appends the lines of the map that the agent itself dumped. */
static void agent_map_text(int fd, struct str *ret)
{
	struct perf_map *pm = perf_map_new();
	struct err err;

	if (perf_map_read(pm, fd, &err) == 0)
		perf_map_lines(pm, ret);
	perf_map_free(pm);
}

/* Writes the map of a process: the agent's, else one of all of its snapshots. False: it has none.
 * *ret_refused: the process, where its agent's map has no valid line. */
static bool map_text(const struct recording *rec, pid_t pid, struct str *ret, pid_t *ret_refused)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	bool any = false;
	struct err ignored;

	for (size_t i = 0; i < rec->map_count; i++) {
		const struct session_map *m = &rec->maps[i];

		if (m->pid != pid || m->fd < 0)
			continue;
		if (session_map_is_dump(m)) {
			agent_map_text(m->fd, ret);
			*ret_refused = ret->len ? *ret_refused : pid;
		} else if (snapfile_is(m->fd)) {
			any = snapfile_read(sf, m->fd, &ignored) == 0 || any;
		}
	}
	if (ret->len > 0)
		return true;
	if (!any)
		return false;
	snapfile_finish(sf);
	perf_map_text(sf, ret);
	return ret->len > 0;
}

static bool is_first_map(const struct recording *rec, size_t map)
{
	for (size_t i = 0; i < map; i++)
		if (rec->maps[i].pid == rec->maps[map].pid)
			return false;
	return true;
}

static int write_maps(const struct recording *rec, int fd, pid_t *ret_refused, struct err *err)
{
	for (size_t i = 0; i < rec->map_count; i++) {
		pid_t pid = rec->maps[i].pid;
		CLEANUP(str_fini) struct str text = {0};
		CLEANUP(str_fini) struct str member = {0};
		char name[32];

		if (!is_first_map(rec, i) || !map_text(rec, pid, &text, ret_refused))
			continue;
		snprintf(name, sizeof(name), "perf-%d.map", (int)pid);
		tar_add(&member, name, &text);
		if (fs_write_all(fd, member.buf, member.len, err) < 0)
			return -1;
	}
	return 0;
}

/* In the child. */
static int write_tar(struct reading *r, void *arg, void *reply, struct err *err)
{
	static const char end[2 * BLOCK];
	const struct inputs *in = reading_inputs(r);
	int fd = *(const int *)arg;

	while (reading_at(r) < in->count) {
		CLEANUP(input_close) struct open_input files = {0};

		if (reading_files(r, &files, err) < 0)
			return -1;
		if (tree_is(files.recording.perf_fd))
			return err_set(err, 0, "%s has no snapshots; record with --keep-stacks",
				       in->list[reading_at(r) - 1].path);
		if (write_maps(&files.recording, fd, reply, err) < 0)
			return -1;
	}
	return fs_write_all(fd, end, sizeof(end), err);
}

/* Draws a tar archive for stock perf with a perf-<pid>.map, by host pid, for each JVM that has a
 * snapshot. Snapshots come from containers: they are read in the sandbox. */
static int draw_perf_maps(const struct inputs *in, int fd, struct err *err)
{
	const struct reading_job job = {
		.fn = write_tar, .arg = &fd, .outputs = &fd, .output_count = 1};
	pid_t refused = 0;
	int rc = reading_run(in, &job, &refused, sizeof(refused), err);

	if (rc == 0 && refused)
		log_warn("the perf map of %d is made by the host: the agent's has no valid line",
			 (int)refused);
	return rc;
}

/* ---- the table ----------------------------------------------------------------------------- */

static int draw_folded_text(const struct stacks *s, const struct picture *p, int fd,
			    struct err *err)
{
	(void)p;
	return draw_folded(s, fd, err);
}

static int needs_recording(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	(void)s;
	(void)p;
	(void)fd;
	return err_set(err, 0, "it is made from a recording, with dfg-trigger");
}

static const struct format formats[] = {
	{"svg", "flame.svg", false, draw_svg, NULL, "diff.svg", draw_difference_svg},
	{"html", "flame.html", true, draw_html, NULL, "diff.html", draw_difference_html},
	{"folded", "flame.folded", false, draw_folded_text, NULL, "diff.folded",
	 draw_difference_folded},
	{"pprof", "flame.pb.gz", true, draw_pprof, NULL, NULL, NULL},
	{"speedscope", "flame.speedscope.json", true, draw_speedscope, NULL, NULL, NULL},
	{"firefox", "flame.firefox.json", true, draw_firefox, NULL, NULL, NULL},
	{"json", "flame.json", true, draw_json, NULL, NULL, NULL},
	{"perf-map", "perf-map.tar", false, needs_recording, draw_perf_maps, NULL, NULL},
};
_Static_assert(ARRAY_LEN(formats) < FORMATS_MAX, "room for all formats and the tree");

const struct format format_tree = {"tree", "flame.tree", true, draw_tree, NULL, NULL, NULL};

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

void formats_remove_of_inputs(struct format_set *set)
{
	size_t kept = 0;

	for (size_t i = 0; i < set->count; i++)
		if (!set->list[i]->draw_inputs)
			set->list[kept++] = set->list[i];
	set->count = kept;
}

int formats_check(const struct format_set *set, const struct inputs *in, struct err *err)
{
	for (size_t i = 0; i < in->count; i++)
		if (input_session(&in->list[i]))
			return 0;
	for (size_t i = 0; i < set->count; i++)
		if (set->list[i]->draw_inputs)
			return err_set(
				err, 0,
				"format %s: needs a session directory; folded text and pprof "
				"have no addresses of code",
				set->list[i]->name);
	return 0;
}

#define USUAL_STEM "flame."

char *formats_file(const struct format_set *set, const struct format *f)
{
	bool usual = has_prefix(f->file, USUAL_STEM);
	const char *rest = f->file + (usual ? strlen(USUAL_STEM) : 0);

	if (f == &format_tree)
		return xstrdup(set->tree ? set->tree : f->file);
	if (!set->event)
		return set->stem ? xasprintf("%s.%s", set->stem, rest) : xstrdup(f->file);
	return xasprintf("%s-%s.%s", set->stem ? set->stem : "flame", set->event, rest);
}

const struct format *formats_get(const char *name)
{
	return find(name, false);
}

void formats_add(const char *name, struct format_set *set)
{
	const struct format *f = find(name, false);

	if (!has(set, f))
		set->list[set->count++] = f;
}

bool formats_include(const struct format_set *set, const char *name)
{
	return has(set, find(name, false));
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
