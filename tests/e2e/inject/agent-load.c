// SPDX-License-Identifier: Apache-2.0
/* A program that is no JVM loads the agent, as an attach would have a JVM do it: first argument the
 * library, the others option texts ("-": none), each loaded once. Prints each return code, then
 * what a loader must not notice: its signal mask, its errno. Ends when standard input does. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static void *table[16];
	static void *vm = table;
	int (*attach)(void *, char *, void *);
	sigset_t before, after;
	void *so;
	char c;

	if (argc < 2)
		return 2;
	so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		printf("dlopen: %s\n", dlerror());
		return 1;
	}
	*(void **)&attach = dlsym(so, "Agent_OnAttach");
	if (!attach)
		return 1;
	for (int i = 3; i < 8; i++)
		table[i] = *(void **)&attach;
	sigprocmask(SIG_SETMASK, NULL, &before);
	errno = 4711;
	for (int i = 2; i < argc; i++)
		printf("%d\n",
		       attach(i & 1 ? &vm : NULL, strcmp(argv[i], "-") ? argv[i] : NULL, NULL));
	printf("errno %s\n", errno == 4711 ? "kept" : "changed");
	sigprocmask(SIG_SETMASK, NULL, &after);
	printf("mask %s\n", memcmp(&before, &after, 8) ? "changed" : "kept");
	dlclose(so);
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	printf("end\n");
	return 0;
}
