// SPDX-License-Identifier: Apache-2.0
/* Case 66. An ELF file of a container: rules of unwinding, and the rows of them for the kernel. */
#include "common/filemap.h"
#include "fuzz/fuzz.h"

/* A mapping that ends with its pages: the libraries are not built with a sanitizer, and one byte
 * read after the file must show. So what reads it is compiled here, with another filemap. */
static struct {
	const uint8_t *data;
	size_t size;
	void *map;
	size_t map_len;
} input;

static int guarded_open(int fd, uint64_t max, struct filemap *ret, struct err *err)
{
	size_t len = (input.size + 0xfff) & ~(size_t)0xfff;
	uint8_t *map = mmap(NULL, len + 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	(void)fd;
	(void)max;
	(void)err;
	if (map == MAP_FAILED)
		abort();
	memcpy(map + len - input.size, input.data, input.size);
	if (mprotect(map, len, PROT_READ) < 0 && len)
		abort();
	if (mprotect(map + len, 0x1000, PROT_NONE) < 0)
		abort();
	input.map = map;
	input.map_len = len + 0x1000;
	*ret = (struct filemap){.p = map + len - input.size, .len = input.size};
	return 0;
}

static void guarded_close(struct filemap *m)
{
	munmap(input.map, input.map_len);
	*m = (struct filemap){0};
}

#define filemap_open  guarded_open
#define filemap_close guarded_close
#include "bpf/table_rows.c"
#include "unwind/cfi.c"

const char *__asan_default_options(void);

/* In place of the memory limit under which this runs: libdw asks for as many registers as a file
 * says there are. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

/* Steps until the end; every step must go up, or be a signal's. */
static void walk(struct cfi *c, uint64_t offset, struct stack_copy *stack)
{
	struct unwind_regs regs = {.known = UNWIND_ALL, .exact = true};

	for (unsigned i = 0; i < UNWIND_REGS; i++)
		regs.reg[i] = stack->base + 8 * i;
	for (int frames = 0; frames < 32; frames++) {
		struct unwind_regs before = regs;
		enum cfi_result result = cfi_step(c, offset, !regs.exact, &regs, stack);

		if (result != CFI_OK) {
			if (memcmp(&before, &regs, sizeof(regs)) != 0)
				abort();
			return;
		}
		if (!unwind_pc(&regs) || !unwind_known(&regs, UNWIND_SP) ||
		    (!regs.exact && unwind_sp(&regs) <= unwind_sp(&before)))
			abort();
		offset = unwind_pc(&regs) & 0xffff;
	}
}

/* Spots ascend in their blocks, and have rows. */
static void build_rows(void)
{
	struct flat_tables *t = flat_tables_new();
	struct flat_file file;
	struct err err;

	if (flat_add_file(t, -1, &file, &err) == 0) {
		for (size_t i = 0; i < t->count[FLAT_SPOTS]; i++)
			require(t->spots[i].row < t->count[FLAT_ROWS]);
		for (size_t b = 0; b < t->count[FLAT_BLOCKS]; b++) {
			require(t->blocks[b] < t->count[FLAT_SPOTS]);
			for (size_t i = b ? t->blocks[b - 1] + 2 : 1; i <= t->blocks[b]; i++)
				require(!b || (uint16_t)(t->spots[i].at - t->spots[i - 1].at) <
						      FLAT_BLOCK);
		}
		flat_file_fini(&file);
	}
	flat_tables_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	uint8_t bytes[512];
	struct stack_copy stack = {.base = 0x7ffc00000000, .p = bytes, .len = sizeof(bytes)};
	struct cfi *c;

	input.data = data;
	input.size = size;
	c = cfi_open(-1, &err);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37);
	if (c) {
		for (uint64_t offset = 0; offset < 0x3000; offset += 0x0b)
			walk(c, offset, &stack);
		walk(c, UINT64_MAX, &stack);
	}
	cfi_close(c);
	build_rows();
	return 0;
}
