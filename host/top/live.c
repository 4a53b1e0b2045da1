// SPDX-License-Identifier: Apache-2.0
#include "top/top.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "record/target.h"
#include "report/merge.h"
#include "top/screen.h"

struct live {
	const struct live_config *config;
	const char *name;
	struct screen screen;
	bool on; /* the screen has begun */
	int feed, log;
	char id[128];	 /* of the container, for what is written */
	struct str late; /* lines since the last window */
};

/* ---- graphs of the screen's content ---- */

static int draw_one(const struct format *f, const struct stacks *s, const struct picture *p,
		    const struct outdir *dir, struct err *err)
{
	CLEANUP(close_fd) int fd = fs_create(dir->fd, f->file, 0644, err);

	if (fd < 0)
		return -1;
	outdir_give(dir, fd);
	return f->draw(s, p, fd, err);
}

/* Draws without times and lines of samples, which stay in the process that read them. */
static int draw_shown(const struct live *l, struct stacks *s, const struct outdir *dir,
		      struct err *err)
{
	const struct lens *lens = &l->screen.lens;
	const unsigned sampled = record_sampled(l->config->record);
	const double seconds = (double)l->screen.shown.us / 1e6;
	CLEANUP(free)
	char *title = sampled ? xasprintf("%s: %.1f s at %u Hz", l->name, seconds, sampled)
			      : xasprintf("%s: %s in %.1f s", l->name,
					  event_names[l->screen.shown.event].text, seconds);
	CLEANUP(free)
	char *subtitle =
		xasprintf("dfg-top%s%s%s%s", lens->thread ? " · thread " : "",
			  lens->thread ? lens->thread : "", lens->filter ? " · stacks with " : "",
			  lens->filter ? lens->filter : "");
	struct picture p = {.title = title,
			    .subtitle = subtitle,
			    .quality = l->screen.shown.quality,
			    .unit = event_names[l->screen.shown.event].unit};

	stacks_sort(s);
	for (size_t i = 0; i < l->config->formats->count; i++) {
		const struct format *f = l->config->formats->list[i];

		if (draw_one(f, s, &p, dir, err) < 0)
			return -1;
	}
	return 0;
}

static void write_shown(struct live *l)
{
	struct stacks *s = screen_stacks(&l->screen);
	CLEANUP(free) char *message = NULL;
	CLEANUP(outdir_close) struct outdir dir = {0};
	CLEANUP(outdir_close) struct outdir here = {0};
	struct record_config config = *l->config->record;
	struct err err;

	if (!s)
		return;
	if (!config.output && outdir_open_here(&here))
		config.output = "."; /* for the user who called sudo */
	if (target_new_graphs(&config, l->id, &dir, &err) == 0 && draw_shown(l, s, &dir, &err) == 0)
		message = xasprintf("written to %s", dir.path);
	screen_set_message(&l->screen, message ? message : err.msg);
	stacks_free(s);
}

/* ---- input ---- */

static int receive_window(struct live *l, struct err *err)
{
	struct stacks *stacks;
	struct window w;
	int rc = feed_receive(l->feed, &w, &stacks, err);

	if (rc <= 0)
		return rc;
	if (!l->on)
		screen_begin(&l->screen, l->name, record_sampled(l->config->record));
	if (!l->on) {
		l->screen.history.event = event_kind_of(record_event(l->config->record));
		if (l->screen.history.event == EVENT_CLOCK)
			l->screen.mode = SCREEN_THREADS;
		l->screen.history.pools = l->config->roots & ROOT_POOL;
		l->screen.history.fold_start = !(l->config->roots & ROOT_FULL);
	}
	l->on = true;
	snprintf(l->id, sizeof(l->id), "%s", w.id);
	str_clear(&l->late);
	if (history_add(&l->screen.history, &w, stacks))
		screen_update(&l->screen);
	return 1;
}

/* Reads whole lines and shows the last one without the program's name. */
static void receive_log(struct live *l)
{
	char buf[1024];
	ssize_t n = read(l->log, buf, sizeof(buf) - 1);
	char *line = buf, *colon;

	if (n <= 0) {
		l->log = -1; /* the caller's */
		return;
	}
	buf[n] = '\0';
	if (!l->on) {
		(void)!write(STDERR_FILENO, buf, (size_t)n);
		return;
	}
	str_clear(&l->late);
	str_add(&l->late, buf, (size_t)n);
	buf[n - 1] = '\0';
	if (strrchr(buf, '\n'))
		line = strrchr(buf, '\n') + 1;
	colon = strstr(line, ": ");
	screen_set_message(&l->screen, colon ? colon + 2 : line);
}

/* 1, 0 at the end, -1. */
static int step(struct live *l, struct err *err)
{
	struct pollfd p[3] = {{.fd = l->on ? STDIN_FILENO : -1, .events = POLLIN},
			      {.fd = l->feed, .events = POLLIN},
			      {.fd = l->log, .events = POLLIN}};

	if (poll(p, 3, -1) < 0 && errno != EINTR)
		return err_set(err, errno, "poll");
	if (p[2].revents)
		receive_log(l);
	if (p[1].revents) {
		int rc = receive_window(l, err);

		if (rc < 0)
			return err->code == EINTR ? 1 : -1;
		if (rc == 0 && (!l->on || l->config->count))
			return 0;
		if (rc == 0)
			l->feed = -1; /* keep showing the last window */
		if (l->config->count && l->screen.history.seen >= l->config->count)
			return 0;
	}
	/* Also after a signal: the terminal's size may have changed. */
	if (l->on) {
		enum screen_wish wish = screen_read_keys(&l->screen);

		if (wish == WISH_QUIT || (p[0].revents & (POLLHUP | POLLERR)))
			return 0;
		if (wish == WISH_WRITE)
			write_shown(l);
		screen_draw(&l->screen);
	}
	return 1;
}

int live_show(const struct live_config *c, const char *name, int feed, int log,
	      const volatile sig_atomic_t *stop, struct err *err)
{
	struct live l = {.config = c, .name = name, .feed = feed, .log = log};
	int rc = 1;

	log_progress("recording %s", name);
	while (rc > 0 && !*stop)
		rc = step(&l, err);
	if (l.on)
		screen_end(&l.screen);
	else
		log_progress("%s", "");
	if (l.late.len)
		(void)!write(STDERR_FILENO, l.late.buf, l.late.len);
	str_fini(&l.late);
	return rc < 0 ? -1 : 0;
}
