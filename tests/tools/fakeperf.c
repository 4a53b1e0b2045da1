// SPDX-License-Identifier: Apache-2.0
/* fakeperf make PID FILE	writes a recording of the process
 * fakeperf map			prints the process's perf map
 * fakeperf KIND FILE ARGUMENTS	plays perf, with this recording (lib/fakeperf.h)
 */
#include "lib/fakeperf.h"

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "map"))
		return fputs(FAKEPERF_MAP, stdout) < 0;
	if (argc < 4)
		return 64;
	if (strcmp(argv[1], "make") != 0)
		return fakeperf_record(argv[1], argv[2], argc - 2, argv + 2);
	fakeperf_make_at(argv[3], atoi(argv[2]));
	return 0;
}
