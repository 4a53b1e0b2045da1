// SPDX-License-Identifier: Apache-2.0
/* marked TEXT: computes in marked_work(), with its stack full of the text. */
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) static void marked_work(const char *text)
{
	volatile unsigned sum = 0;
	char stack[4096] = "";

	while (strlen(stack) + strlen(text) < sizeof(stack))
		strcat(stack, text);
	__asm__ volatile("" : : "r"(stack) : "memory");
	for (;;)
		sum += (unsigned char)stack[sum % sizeof(stack)] + 1u;
}

int main(int argc, char **argv)
{
	if (argc != 2 || !argv[1][0])
		return 2;
	puts("ready");
	fflush(stdout);
	marked_work(argv[1]);
}
