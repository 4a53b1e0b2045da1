// SPDX-License-Identifier: Apache-2.0
#include "format/draw.h"
#include "format/layout.h"
#include "format/text.h"

/* To the nearest tenth, but never rounded to nothing or to all: "99.9 %" stands for 99.96 % too,
 * since a reader takes "100 %" for a promise. */
static void share_add(struct str *out, uint64_t part, uint64_t whole)
{
	uint64_t tenths;

	if (part == 0 || whole == 0) {
		str_adds(out, "0 %");
		return;
	}
	if (part >= whole) {
		str_adds(out, "100 %");
		return;
	}
	tenths = (layout_scale(part, 10000, whole) + 5) / 10;
	if (tenths == 0) {
		str_adds(out, "<0.1 %");
		return;
	}
	text_fixed(out, tenths < 1000 ? tenths : 999, 1);
	str_adds(out, " %");
}

void draw_quality(struct str *out, const struct quality *q)
{
	text_count(out, q->samples, " ");
	str_adds(out, q->samples == 1 ? " sample · " : " samples · ");
	text_count(out, q->lost, " ");
	str_adds(out, " lost");
	if (q->samples == 0)
		return;
	if (q->unrated) {
		str_adds(out, " · ");
		share_add(out, q->unrated, q->samples);
		str_adds(out, " of unknown quality");
	}
	if (q->unrated == q->samples)
		return;
	if (q->java_samples) {
		str_adds(out, " · ");
		share_add(out, q->java_complete, q->java_samples);
		str_adds(out, " of Java stacks complete");
	} else {
		str_adds(out, " · no Java stacks");
	}
	str_adds(out, " · ");
	share_add(out, q->frames_unknown, q->frames);
	str_adds(out, " frames unknown · ");
	if (q->frames_nameless) {
		share_add(out, q->frames_nameless, q->frames);
		str_adds(out, " nameless · ");
	}
	share_add(out, q->truncated, q->samples);
	str_adds(out, " truncated");
	if (q->between_safepoints) {
		str_adds(out, " · ");
		share_add(out, q->between_safepoints, q->java_samples);
		str_adds(out, " of Java without DebugNonSafepoints");
	}
	if (q->stale) {
		str_adds(out, " · ");
		share_add(out, q->stale, q->java_frames);
		str_adds(out, " Java frames stale");
	}
}
