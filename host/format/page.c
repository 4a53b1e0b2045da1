// SPDX-License-Identifier: Apache-2.0
/* Stacks -> one HTML file that needs nothing else: page.html with its style, script and data put
 * in at the marks "@name@". The folder page/ has the script. */
#include "format/page.h"

#include "format/buffer.h"
#include "format/embed.h"
#include "format/text.h"

EMBED(page_html, "host/format/page/page.html");
EMBED(page_css, "host/format/page/page.css");
/* All of page/'s .js, and a policy for the browser by which only this style and this script count;
 * made by make. */
EMBED(page_js, "page.js");
EMBED(page_policy, "page.policy");

static void put_mark(struct out *out, const char *mark, size_t len, const struct page *page)
{
	if (len == 5 && memcmp(mark, "title", len) == 0)
		text_escape(&out->buf, page->title, strlen(page->title));
	else if (len == 6 && memcmp(mark, "policy", len) == 0)
		str_add(&out->buf, page_policy, (size_t)(page_policy_end - page_policy));
	else if (len == 5 && memcmp(mark, "style", len) == 0)
		str_add(&out->buf, page_css, (size_t)(page_css_end - page_css));
	else if (len == 6 && memcmp(mark, "script", len) == 0)
		str_add(&out->buf, page_js, (size_t)(page_js_end - page_js));
	else if (len == 4 && memcmp(mark, "data", len) == 0)
		page_data(&out->buf, page);
}

static int page_write(const struct page *page, int fd, struct err *err)
{
	struct out out = {.fd = fd, .err = err};
	const char *text = page_html, *mark, *end;

	while ((mark = memchr(text, '@', (size_t)(page_html_end - text)))) {
		end = strchr(mark + 1, '@');
		str_add(&out.buf, text, (size_t)(mark - text));
		put_mark(&out, mark + 1, (size_t)(end - mark - 1), page);
		text = end + 1;
	}
	str_add(&out.buf, text, (size_t)(page_html_end - text));
	return out_end(&out);
}

int draw_page(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	struct page page = {.stacks = s,
			    .title = p->title,
			    .subtitle = p->subtitle,
			    .details = p->details,
			    .nodes = p->nodes};

	draw_quality(&quality, &p->quality);
	page.quality = quality.buf;
	return page_write(&page, fd, err);
}

int draw_difference_page(const struct difference *d, const struct difference_picture *p, int fd,
			 struct err *err)
{
	CLEANUP(free) char *subtitle = xasprintf("compared with %s", p->before);
	CLEANUP(str_fini) struct str quality = {0};
	struct page page = {
		.stacks = d->tree, .title = p->after, .subtitle = subtitle, .difference = d};

	str_adds(&quality, "before: ");
	draw_quality(&quality, &p->before_quality);
	str_adds(&quality, " | after: ");
	draw_quality(&quality, &p->after_quality);
	page.quality = quality.buf;
	return page_write(&page, fd, err);
}
