// SPDX-License-Identifier: Apache-2.0
/* The contents of a page: samples with times and threads, source lines. */
#include "calltree/samples.h"
#include "format/html.h"
#include "lib/drawn.h"
#include "lib/tap.h"

static const struct quality good = {.samples = 3};

/* Two methods, the callee at two lines; a thread of each of two containers. */
static void profile_make(struct profile *p)
{
	const struct origin a = {"a", "1", "", "", "", ""}, b = {"b\"<", "2", "", "", "", ""};
	struct frames *frames;
	uint32_t thread, run, get, path[3], nodes[2];

	profile_init(p, true);
	frames = stacks_frames(p->stacks);
	thread = frames_intern(frames, "main", 4, FRAME_ROOT);
	run = frames_intern(frames, "Run.run", 7, FRAME_JAVA);
	get = frames_intern(frames, "</script>", 9, FRAME_INLINED);
	for (uint32_t i = 0; i < 2; i++) {
		path[0] = thread;
		path[1] = run;
		path[2] = frames_place(frames, get, 300 + i, frames_intern_module(frames, "/x"));
		nodes[i] = stacks_add(p->stacks, path, 3, 1 + i);
		samples_add_thread(p->samples, samples_add_origin(p->samples, i ? &b : &a),
				   10 + (int)i, 20 + (int)i);
	}
	samples_add(p->samples, 0, nodes[0], 0);
	samples_add(p->samples, 20000000, nodes[1], 0);
	samples_add(p->samples, 10000000, nodes[1], 1);
}

static char *data_of(const struct page *page)
{
	struct str text = {0};

	page_data(&text, page);
	return text.buf;
}

/* LEB128 in base64: "AQABAQ==" is 1, 0, 1, 1. */
static void test_details(void)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	struct profile p;
	struct stacks *plain;
	CLEANUP(free) char *text = NULL;

	profile_make(&p);
	plain = stacks_plain(p.stacks, &nodes);
	text = data_of(&(struct page){.stacks = plain,
				      .title = "t",
				      .subtitle = "",
				      .quality = "",
				      .details = &p,
				      .nodes = nodes});
	ok(strstr(text, "\"names\":[\"\\u003c/script>\",\n\"Run.run\",\n\"main\"]"),
	   "names, sorted");
	ok(strstr(text, "\"frame\":\"AQABAQ==\""), "two places are of one frame");
	ok(strstr(text, "\"line\":\"rAKtAgAA\""), "lines 300 and 301");
	ok(strstr(text, "\"module\":\"AQEAAA==\""), "their file");
	ok(strstr(text, "\"modules\":[\"\",\n\"/x\"]"), "by name");
	ok(strstr(text, "\"time\":\"AJADxwE=\""), "0, 20 and 10 ms in ticks of 0.1 ms, signed");
	ok(strstr(text, "\"thread\":\"AAAB\""), "their threads");
	ok(strstr(text, "\"threads\":[[10,20,0],\n[11,21,1]]"), "process, thread, container");
	ok(strstr(text, "\"container\":\"b\\\"\\u003c\""), "a container's name is text");
	ok(strstr(text, "\"left_out\":[]"), "all of it");
	ok(!strchr(text, '<'), "nothing ends the script (case 63)");
	stacks_free(plain);
	profile_fini(&p);
}

/* The details of so many stacks, and of one sample too many or not. */
static void check_details_limit(struct stacks *many)
{
	struct profile p;
	struct stacks *own, *plain = stacks_of("main;f 1\n");
	CLEANUP(free) uint32_t *nodes = xcalloc(stacks_node_count(many), sizeof(*nodes));
	struct page page = {.stacks = plain,
			    .title = "",
			    .subtitle = "",
			    .quality = "",
			    .details = &p,
			    .nodes = nodes};

	profile_init(&p, true);
	own = p.stacks;
	p.stacks = many;
	samples_add_thread(p.samples,
			   samples_add_origin(p.samples, &(struct origin){"", "", "", "", "", ""}),
			   1, 1);
	for (size_t i = 0; i < PAGE_SAMPLES_MOST; i++)
		samples_add(p.samples, 0, 0, 0);
	for (unsigned more = 0; more < 2; more++) {
		CLEANUP(free) char *text = data_of(&page);

		ok(strstr(text, more ? "\"left_out\":[\"Source lines: there are too many different "
				       "stacks.\",\"Times and thread numbers: there are more than "
				       "2,000,000 samples.\"]"
				     : "\"left_out\":[\"Source lines: there are too many different "
				       "stacks.\"]"),
		   "the page says which details it lacks");
		ok((strstr(text, "\"samples\":") == NULL) == more &&
			   strstr(text, "\"names\":[\"f\","),
		   "it has the others, and all names");
		samples_add(p.samples, 0, 0, 0);
	}
	p.stacks = own;
	stacks_free(plain);
	profile_fini(&p);
}

/* More nodes than a browser can take: the narrowest are left out, no sample is. */
static void test_limit(void)
{
	struct stacks *s = stacks_new();
	uint32_t path[2] = {stacks_intern(s, "main", 4, FRAME_ROOT), 0};
	CLEANUP(free) char *text = NULL;
	char name[32];

	stacks_add(s, path, 1, 1);
	for (unsigned i = 0; i < PAGE_NODES_MOST + 10; i++) {
		int len = snprintf(name, sizeof(name), "m%u", i);

		path[1] = stacks_intern(s, name, (size_t)len, FRAME_JAVA);
		stacks_add(s, path, 2, i % 2 + 1);
	}
	text = data_of(&(struct page){.stacks = s, .title = "", .subtitle = "", .quality = ""});
	ok(strstr(text, "\"left_out\":[\"Frames with fewer than "), "the page says what it lacks");
	ok(strstr(text, "\"m1\"") && !strstr(text, "\"m2\""), "the narrowest are left out");
	check_details_limit(s);
	stacks_free(s);
}

static void test_difference(void)
{
	struct stacks *before = stacks_of("main;Old.run_[j] 2\nmain;Both.run_[j] 1\n");
	struct stacks *after = stacks_of("main;New.run_[j] 3\nmain;Both.run_[j] 1\n");
	struct difference_picture p = {.title = "a", .subtitle = "b", .before_quality = good};
	CLEANUP(close_fd) int fd = memfd_create("page", MFD_CLOEXEC);
	CLEANUP(free) char *text = NULL;
	struct difference d;
	struct err err;

	difference_make(&d, before, after, true);
	is_int(draw_difference_html(&d, &p, fd, &err), 0, "a difference is drawn");
	text = drawn_text(fd);
	ok(strstr(text, "\"before\":\"AAABAAI=\",\n\"self\":\"AAABAwA=\""), "both sides' counts");
	ok(strstr(text, "\"z\":2.576"), "the least z of a significant change");
	ok(strstr(text,
		  "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-"),
	   "no network, no script but its own");
	difference_fini(&d);
	stacks_free(before);
	stacks_free(after);
}

int main(void)
{
	test_details();
	test_limit();
	test_difference();
	return tap_done();
}
