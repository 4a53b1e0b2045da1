// SPDX-License-Identifier: Apache-2.0
#include "format/buffer.h"

#include "common/fs.h"

#define OUT_CHUNK (256u << 10)

static void out_flush(struct out *o)
{
	if (!o->failed && o->buf.len && fs_write_all(o->fd, o->buf.buf, o->buf.len, o->err) < 0)
		o->failed = true;
	str_clear(&o->buf);
}

void out_tick(struct out *o)
{
	if (o->buf.len >= OUT_CHUNK)
		out_flush(o);
}

int out_end(struct out *o)
{
	out_flush(o);
	str_fini(&o->buf);
	return o->failed ? -1 : 0;
}
