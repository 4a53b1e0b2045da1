// SPDX-License-Identifier: Apache-2.0
#include "report/summary.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/str.h"

#define PATH_SHOWN 160 /* bytes */

static const char nameless_files[] = "files with more symbols than are read";

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Share of one processor, over the recording. */
static double watch_share(const struct session *s, const struct session_jvm *j)
{
	return s->duration > 0 ? (double)j->watch_us / 1e6 / s->duration : 0;
}

static void print_jvm(const struct session *s, const struct session_jvm *j)
{
	printf("  JVM          %d (%d inside, uid %u%s%s): ", (int)j->pid, (int)j->nspid,
	       (unsigned)j->uid, j->version[0] ? ", Java " : "", j->version);
	if (j->source == JVM_SOURCE_NONE)
		printf("no names for its Java code");
	else if (j->source == JVM_SOURCE_MAP)
		printf("names by the map that it writes");
	else
		printf("%u entries of compiled code, by %s in %.1f ms", j->methods,
		       j->source == JVM_SOURCE_AGENT  ? "the agent"
		       : j->source == JVM_SOURCE_HOST ? "the host's reader"
						      : "an unknown source",
		       j->dump_us / 1000.0);
	if (j->skipped)
		printf(", %u not readable", j->skipped);
	printf("\n");
	if (j->snapshots > 1)
		printf("               %u snapshots taken, %.1f %% of a processor\n", j->snapshots,
		       100 * watch_share(s, j));
	if (j->note[0])
		printf("               %s\n", j->note);
}

/* Prints the thread and as many of the innermost frames as fit on a line. */
static void print_path(const char *path)
{
	size_t len = strlen(path);
	const char *rest = strchr(path, ';'), *from;

	if (len <= PATH_SHOWN || !rest) {
		puts(path);
		return;
	}
	from = strchr(path + len - PATH_SHOWN, ';');
	printf("%.*s;...%s\n", (int)(rest - path), path, from ? from : strrchr(path, ';'));
}

static void print_result(const struct render_result *r)
{
	CLEANUP(str_fini) struct str quality = {0};

	draw_quality(&quality, &r->quality);
	printf("  samples      %s\n", quality.buf);
	if (r->cut)
		printf("  damaged      %llu bytes at the end of the recording could not be read\n",
		       (unsigned long long)r->cut);
	if (r->skipped)
		printf("  damaged      %llu lines of text could not be read\n",
		       (unsigned long long)r->skipped);
	if (r->nameless_files)
		printf("  cut          %llu %s\n", (unsigned long long)r->nameless_files,
		       nameless_files);
	if (r->leaf[0])
		printf("  hottest leaf %5.1f %%  %s\n",
		       100 * share(r->leaf_self, r->quality.samples), r->leaf);
	if (r->path[0]) {
		printf("  hottest path %5.1f %%  ", 100 * share(r->path_self, r->quality.samples));
		print_path(r->path);
	}
}

static void print_cuts(const struct session *s)
{
	for (size_t i = 0; i < s->cut_count; i++)
		printf("  cut          %s\n", s->cuts[i].text);
}

static void print_graphs(const struct summary *s)
{
	for (size_t i = 0; i < s->formats->count; i++) {
		CLEANUP(free) char *file = formats_file(s->formats, s->formats->list[i]);

		printf("  %-12s %s/%s\n", s->formats->list[i]->name, s->outdir, file);
	}
}

/* Returns the path of the session's directory, sanitised. Owned. */
static char *session_path(const struct session *s)
{
	struct str clean = {0};

	str_add_clean(&clean, s->dir, strlen(s->dir));
	return clean.buf;
}

static void print_recorder(const struct session *s)
{
	if (s->in_kernel)
		printf("  recorder     in the kernel: %llu stacks walked there, %llu copied\n",
		       (unsigned long long)s->walked, (unsigned long long)s->copied);
}

void summary_print(const struct summary *s)
{
	CLEANUP(free) char *dir = session_path(s->session);

	printf("%s: %.1f s at %u Hz\n", s->session->label, s->session->duration,
	       s->session->frequency);
	print_result(s->result);
	print_recorder(s->session);
	for (size_t i = 0; i < s->session->jvm_count; i++)
		print_jvm(s->session, &s->session->jvms[i]);
	print_cuts(s->session);
	print_graphs(s);
	printf("  session      %s\n", dir);
	fflush(stdout);
}

void summary_print_merged(const struct summary *s, const struct inputs *in)
{
	printf("%zu recording%s\n", in->count, in->count == 1 ? "" : "s together");
	print_result(s->result);
	print_graphs(s);
	fflush(stdout);
}

static json_t *graphs_json(const struct summary *s)
{
	json_t *graphs = json_object();

	for (size_t i = 0; i < s->formats->count; i++) {
		CLEANUP(free) char *file = formats_file(s->formats, s->formats->list[i]);
		CLEANUP(free) char *path = xasprintf("%s/%s", s->outdir, file);

		json_object_set_new(graphs, s->formats->list[i]->name, json_string(path));
	}
	return graphs;
}

static json_t *jvms_json(const struct session *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->jvm_count; i++) {
		const struct session_jvm *j = &s->jvms[i];

		json_array_append_new(
			list, json_pack("{si si si ss ss si si sf si sf ss}", "pid", (int)j->pid,
					"nspid", (int)j->nspid, "uid", (int)j->uid, "version",
					j->version, "source", jvm_source_name(j->source), "methods",
					(int)j->methods, "skipped", (int)j->skipped, "dump_ms",
					j->dump_us / 1000.0, "snapshots", (int)j->snapshots,
					"watch_cpu", watch_share(s, j), "note", j->note));
	}
	return list;
}

/* s: NULL for several recordings that were merged. */
static json_t *cuts_json(const struct session *s, const struct render_result *r)
{
	json_t *list = json_array();

	for (size_t i = 0; s && i < s->cut_count; i++)
		json_array_append_new(list, json_string(s->cuts[i].text));
	if (r->nameless_files)
		json_array_append_new(list,
				      json_sprintf("%llu %s", (unsigned long long)r->nameless_files,
						   nameless_files));
	return list;
}

/* The keys that do not belong to one session. */
static json_t *result_json(const struct summary *s)
{
	const struct render_result *r = s->result;
	const struct quality *q = &r->quality;

	return json_pack("{so sI sI sI sf sf sf sf sf sf s{ss sI} s{ss sI} sI sI so}", "graphs",
			 graphs_json(s), "samples", (json_int_t)q->samples, "lost",
			 (json_int_t)q->lost, "java_samples", (json_int_t)q->java_samples,
			 "complete", share(q->java_complete, q->java_samples), "unknown_frames",
			 share(q->frames_unknown, q->frames), "nameless_frames",
			 share(q->frames_nameless, q->frames), "truncated",
			 share(q->truncated, q->samples), "without_debug_info",
			 share(q->between_safepoints, q->java_samples), "stale",
			 share(q->stale, q->java_frames), "hottest_leaf", "frame", r->leaf,
			 "samples", (json_int_t)r->leaf_self, "hottest_path", "stack", r->path,
			 "samples", (json_int_t)r->path_self, "damaged_bytes", (json_int_t)r->cut,
			 "post_ms", (json_int_t)s->post_ms, "cut", cuts_json(s->session, r));
}

static void print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(object);
	putchar('\n');
	fflush(stdout);
}

/* 0: the recording is not kept. */
static double bytes_per_sample(const struct summary *s)
{
	struct stat st;

	if (fstatat(s->session->dirfd, "perf.data", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return share((uint64_t)st.st_size, s->result->quality.samples);
}

void summary_json(const struct summary *s)
{
	CLEANUP(free) char *dir = session_path(s->session);
	const struct session *of = s->session;
	json_t *all = json_pack("{s{ss ss ss ss} ss ss sf si ss sf sf so}", "container", "id",
				s->session->container_id, "name", s->session->container_name, "pod",
				s->session->pod, "namespace", s->session->namespace, "host",
				s->session->host, "session", dir, "duration", s->session->duration,
				"frequency", (int)s->session->frequency, "recorder",
				session_recorder_name(of), "fallback",
				share(of->copied, of->walked + of->copied), "bytes_per_sample",
				bytes_per_sample(s), "jvms", jvms_json(s->session));
	json_t *result = result_json(s);

	json_object_update(all, result);
	json_decref(result);
	print_object(all);
}

void summary_json_merged(const struct summary *s, const struct inputs *in)
{
	json_t *all = result_json(s), *list = json_array();

	for (size_t i = 0; i < in->count; i++)
		json_array_append_new(list, json_string(in->list[i].path));
	json_object_set_new(all, "inputs", list);
	json_object_set_new(all, "damaged_lines", json_integer((json_int_t)s->result->skipped));
	print_object(all);
}
