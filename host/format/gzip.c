// SPDX-License-Identifier: Apache-2.0
#include "format/gzip.h"

#define GZIP_WINDOW (15 + 16) /* zlib.h: largest window; gzip's header and trailer */
#define CHUNK	    (64u << 10)

/* ---- writing ---- */

void gzip_begin(struct gzip *g, int fd, struct err *err)
{
	*g = (struct gzip){.out = {.fd = fd, .err = err}};
	if (deflateInit2(&g->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		g->out.failed = true;
		err_set(err, 0, "initialise zlib: out of memory, or incompatible version");
	}
}

static void compress_some(struct gzip *g, int flush)
{
	Bytef chunk[4096];

	do {
		g->z.next_out = chunk;
		g->z.avail_out = sizeof(chunk);
		if (g->out.failed || deflate(&g->z, flush) == Z_STREAM_ERROR)
			return;
		str_add(&g->out.buf, chunk, sizeof(chunk) - g->z.avail_out);
		out_tick(&g->out);
	} while (g->z.avail_out == 0);
}

void gzip_add(struct gzip *g, const struct str *s)
{
	size_t at = 0;

	while (at < s->len && !g->out.failed) {
		size_t n = s->len - at < CHUNK ? s->len - at : CHUNK;

		g->z.next_in = (Bytef *)(uintptr_t)(s->buf + at);
		g->z.avail_in = (uInt)n;
		compress_some(g, Z_NO_FLUSH);
		at += n;
	}
}

int gzip_end(struct gzip *g)
{
	g->z.avail_in = 0;
	compress_some(g, Z_FINISH);
	deflateEnd(&g->z);
	return out_end(&g->out);
}

/* ---- reading ---- */

bool gzip_is(const void *data, size_t len)
{
	return len >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

static int expand(z_stream *z, const uint8_t *data, size_t len, size_t limit, struct str *ret)
{
	Bytef chunk[CHUNK];
	int rc;

	do {
		if (z->avail_in == 0) {
			size_t n = len < CHUNK ? len : CHUNK;

			z->next_in = (Bytef *)(uintptr_t)data;
			z->avail_in = (uInt)n;
			data += n;
			len -= n;
		}
		z->next_out = chunk;
		z->avail_out = sizeof(chunk);
		rc = inflate(z, Z_NO_FLUSH);
		if (sizeof(chunk) - z->avail_out > limit)
			return Z_MEM_ERROR;
		limit -= sizeof(chunk) - z->avail_out;
		str_add(ret, chunk, sizeof(chunk) - z->avail_out);
	} while (rc == Z_OK);
	return rc;
}

int gzip_expand(const void *data, size_t len, size_t limit, struct str *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	z_stream z = {0};
	int rc = inflateInit2(&z, GZIP_WINDOW);

	if (rc != Z_OK)
		return err_set(err, 0, "initialise zlib: %s", zError(rc));
	rc = expand(&z, data, len, limit, &text);
	inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		return err_set(err, 0, "expands to more than %zu bytes", limit);
	if (rc != Z_STREAM_END)
		return err_set(err, 0, "damaged gzip data: %s", zError(rc));
	if (text.len)
		str_add(ret, text.buf, text.len);
	return 0;
}
