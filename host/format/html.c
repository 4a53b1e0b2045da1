// SPDX-License-Identifier: Apache-2.0
/* Writes a self-contained HTML file: page/page.html with style, script and data inserted at the
 * marks "@name@". The folder page/ has the script's modules. */
#include "format/html.h"

#include "format/embed.h"
#include "format/text.h"

EMBED(page_html, "host/format/page/page.html");
EMBED(page_css, "host/format/page/page.css");
/* The Makefile makes these: the script from all modules, and a Content-Security-Policy that allows
 * only this style and this script. */
EMBED(page_js, "page.js");
EMBED(page_policy, "page.policy");

/* Adds links to the pages of the recording's other events. */
static void add_events(struct str *out, const struct page *page)
{
	if (page->link_count < 2)
		return;
	str_adds(out, "<nav id=\"events\" aria-label=\"Events\">");
	for (size_t i = 0; i < page->link_count; i++) {
		const struct page_link *l = &page->links[i];

		str_adds(out, l->file ? "<a href=\"" : "<span aria-current=\"page\">");
		if (l->file)
			text_escape(out, l->file, strlen(l->file));
		str_adds(out, l->file ? "\">" : "");
		text_escape(out, l->name, strlen(l->name));
		str_adds(out, l->file ? "</a>" : "</span>");
	}
	str_adds(out, "</nav>");
}

static void add_mark(struct out *out, const char *mark, size_t len, const struct page *page)
{
	const struct {
		const char *name, *text, *end;
	} embedded[] = {
		{"policy", page_policy, page_policy_end},
		{"style", page_css, page_css_end},
		{"script", page_js, page_js_end},
	};
	CLEANUP(free) char *name = xstrndup(mark, len);

	if (!strcmp(name, "title"))
		text_escape(&out->buf, page->title, strlen(page->title));
	else if (!strcmp(name, "events"))
		add_events(&out->buf, page);
	else if (!strcmp(name, "data"))
		page_data(&out->buf, page);
	for (size_t i = 0; i < ARRAY_LEN(embedded); i++)
		if (!strcmp(name, embedded[i].name))
			str_add(&out->buf, embedded[i].text,
				(size_t)(embedded[i].end - embedded[i].text));
}

static int page_write(const struct page *page, int fd, struct err *err)
{
	struct out out = {.fd = fd, .err = err};
	const char *text = page_html, *mark, *end;

	while ((mark = memchr(text, '@', (size_t)(page_html_end - text)))) {
		end = strchr(mark + 1, '@');
		str_add(&out.buf, text, (size_t)(mark - text));
		add_mark(&out, mark + 1, (size_t)(end - mark - 1), page);
		text = end + 1;
	}
	str_add(&out.buf, text, (size_t)(page_html_end - text));
	return out_end(&out);
}

int draw_html(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	struct page page = {.stacks = s,
			    .title = p->title,
			    .subtitle = p->subtitle,
			    .details = p->details,
			    .nodes = p->nodes,
			    .picture = p->verdict || p->subjects || p->wall ? p : NULL,
			    .threads = p->threads,
			    .full = p->full,
			    .unit = p->unit,
			    .links = p->links,
			    .link_count = p->link_count};

	draw_quality_of(&quality, &p->quality, p->unit);
	page.quality = quality.buf;
	return page_write(&page, fd, err);
}

int draw_difference_html(const struct difference *d, const struct difference_picture *p, int fd,
			 struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	struct page page = {.stacks = d->tree,
			    .title = p->title,
			    .subtitle = p->subtitle,
			    .difference = d,
			    /* The tree has the roots that were asked for. */
			    .threads = "name",
			    .unit = p->unit};

	draw_difference_quality(&quality, p);
	page.quality = quality.buf;
	return page_write(&page, fd, err);
}
