// SPDX-License-Identifier: Apache-2.0
#include "discover/jvm.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/tap.h"

/* The parts of a native image. */
__attribute__((section(".svm_heap"), used)) static int heap = 1;

static void test_cut(int self)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	struct stat st;
	struct err err;
	unsigned found = 0;

	fstat(self, &st);
	lseek(self, 0, SEEK_SET);
	if (!ok(fd >= 0 && fs_copy(self, fd, (uint64_t)st.st_size, &err) == st.st_size, "a copy"))
		return;
	ok(jvm_file_has_section(fd, ".svm_heap"), "has it, too");
	/* Section headers are at the end. */
	for (off_t size = st.st_size; size > 0; size -= size > 8192 ? 512 : 1) {
		(void)!ftruncate(fd, size - 1);
		found += jvm_file_has_section(fd, ".svm_heap");
	}
	ok(found < 100, "cut anywhere it is read without harm");
	close(fd);
}

static void test_lies(int self)
{
	int fd = memfd_create("lies", MFD_CLOEXEC);
	Elf64_Ehdr head;

	(void)!pread(self, &head, sizeof(head), 0);
	head.e_shoff = UINT64_MAX - 64;
	(void)!pwrite(fd, &head, sizeof(head), 0);
	ok(!jvm_file_has_section(fd, ".text"), "headers after the end of everything");
	head.e_shoff = 64;
	head.e_shnum = 0xffff;
	(void)!pwrite(fd, &head, sizeof(head), 0);
	ok(!jvm_file_has_section(fd, ".text"), "more sections than there can be");
	close(fd);
}

int main(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), none = open("/dev/null", O_RDONLY);

	ok(heap == 1 && jvm_file_has_section(self, ".svm_heap"), "a native image's section");
	ok(!jvm_file_has_section(self, ".svm_hea"), "not by the beginning of its name");
	ok(!jvm_file_has_section(none, ".svm_heap"), "an empty file");
	ok(runtime_note(RUNTIME_HOTSPOT) == NULL, "of a HotSpot there is nothing to say");
	ok(runtime_note(RUNTIME_OPENJ9) != NULL, "of OpenJ9 there is");
	test_cut(self);
	test_lies(self);
	return tap_done();
}
