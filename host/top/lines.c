// SPDX-License-Identifier: Apache-2.0
#include "top/lines.h"

#include "format/text.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void lines_share(struct str *out, uint64_t part, uint64_t whole)
{
	str_addf(out, "%5.1f %%", percent(part, whole));
}

void lines_title(struct str *out, const char *name, const struct moment *m, unsigned frequency)
{
	double seconds = (double)m->us / 1e6;

	str_addf(out, "%s · %.1f s", name, seconds);
	if (m->gap_us >= 100000)
		str_addf(out, ", %.1f s not recorded", (double)m->gap_us / 1e6);
	str_adds(out, " · ");
	text_count(out, m->quality.samples, " ");
	str_addf(out, " samples · %.2f processors",
		 seconds > 0 ? (double)m->quality.samples / seconds / frequency : 0);
}

void lines_busy(struct str *out, const struct view *v)
{
	for (enum busy b = 0; b < BUSY_KINDS; b++)
		str_addf(out, "%s%s %.1f %%", b ? "   " : "", busy_name(b),
			 percent(v->busy[b], v->samples));
}

void lines_row_head(struct str *out, enum lens_order order)
{
	str_adds(out, order == ORDER_SELF ? "  SELF>   TOTAL  HOW     METHOD"
					  : "  SELF   >TOTAL  HOW     METHOD");
}

void lines_row(struct str *out, const struct row *r, uint64_t samples)
{
	lines_share(out, r->self, samples);
	str_addc(out, ' ');
	lines_share(out, r->total, samples);
	str_addf(out, "  %-*s  %s", LINES_HOW, how_name(row_how(r)), r->name);
}

void lines_thread_head(struct str *out)
{
	str_adds(out, "  TOTAL  KERNEL  FOR          THREAD");
}

void lines_thread(struct str *out, const struct thread_row *t, uint64_t samples)
{
	enum busy most = BUSY_APPLICATION;

	for (enum busy b = 0; b < BUSY_KERNEL; b++)
		if (t->busy[b] > t->busy[most])
			most = b;
	lines_share(out, t->total, samples);
	str_addc(out, ' ');
	lines_share(out, t->busy[BUSY_KERNEL], t->total);
	str_addf(out, "  %-11s  %s", busy_name(most), t->name);
}
