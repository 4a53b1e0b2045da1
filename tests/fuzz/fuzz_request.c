// SPDX-License-Identifier: Apache-2.0
/* Requests to the agent in a JVM: a line of its control directory, or the options of a load. The
 * first byte chooses. The sources are included, since the agent is in no archive. */
#include "agent-jni/request.c"
#include "agent-jni/text.c"

#include "fuzz/fuzz.h"

static void check(const struct request *r)
{
	require(r->host_pid > 0 && r->host_pid <= 1u << 22 && r->keep <= 60);
	require(memchr(r->name, '\0', sizeof(r->name)) && r->name[0] && !strchr(r->name, '/') &&
		strcmp(r->name, ".") != 0 && strcmp(r->name, "..") != 0);
	for (const char *p = r->name; *p; p++)
		require((unsigned char)*p >= ' ' && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct load_options o;
	static struct request r;
	char text[4096];

	if (!size)
		return 0;
	if (data[0] == 'r') {
		if (request_parse((const char *)data + 1, size - 1, &r))
			check(&r);
		return 0;
	}
	size = size - 1 < sizeof(text) - 1 ? size - 1 : sizeof(text) - 1;
	memcpy(text, data + 1, size);
	text[size] = '\0';
	if (!options_parse(text, &o))
		return 0;
	require(o.dir[0] == '/' && memchr(o.dir, '\0', sizeof(o.dir)));
	require(o.ctl[0] == '/' && memchr(o.ctl, '\0', sizeof(o.ctl)));
	require(o.signal == 0 || (o.signal >= 35 && o.signal <= 64));
	if (o.has_request)
		check(&o.request);
	return 0;
}
