/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of <sys/sdt.h>: for a made-up file, and in code of this program. */
#ifndef DFG_LIB_SDTNOTE_H
#define DFG_LIB_SDTNOTE_H

#include "common/str.h"

/* Adds a note about a place, as linked where .stapsdt.base was linked at 0. `texts`: the provider,
 * the name and the arguments, each with its NUL. */
__attribute__((unused)) static void sdt_add_note(struct str *s, uint64_t place, const char *texts,
						 size_t len)
{
	const uint64_t places[] = {place, 0, 0};
	const uint32_t head[] = {8, (uint32_t)(sizeof(places) + len), 3};

	str_add(s, (const char *)head, sizeof(head));
	str_add(s, "stapsdt", 8);
	str_add(s, (const char *)places, sizeof(places));
	str_add(s, texts, len);
	while (s->len % 4)
		str_addc(s, 0);
}

/* A nop in assembly text with a note of the provider "hotspot". */
#define SDT_NOTE(name, arguments)                                                                  \
	"990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                          \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"                \
	"993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"hotspot\"\n"                                \
	".asciz \"" name "\"\n.asciz \"" arguments "\"\n994: .balign 4\n.popsection\n"             \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                    \
	".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"                 \
	".size _.stapsdt.base, 1\n.popsection\n.endif\n"

#endif
