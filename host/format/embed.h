/* SPDX-License-Identifier: Apache-2.0 */
/* Embeds a file of the source tree: EMBED(page, "host/format/page/page.html") defines page[] and
 * page_end[]. The path is relative to the directory of make; the Makefile names the file as a
 * prerequisite of the object. */
#ifndef DFG_FORMAT_EMBED_H
#define DFG_FORMAT_EMBED_H

#define EMBED(name, path)                                                                          \
	__asm__(".pushsection .rodata\n"                                                           \
		".globl " #name ", " #name "_end\n"                                                \
		".hidden " #name ", " #name "_end\n" #name ":\n"                                   \
		".incbin \"" path "\"\n" #name "_end:\n"                                           \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char name[], name##_end[]

#endif
