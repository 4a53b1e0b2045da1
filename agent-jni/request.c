// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/request.h"

#include "dfg/paths.h"

#define PID_LIMIT (1u << 22) /* PID_MAX_LIMIT */
#define KEEP_MAX  60

static bool copy(struct text_scanner from, char *to, size_t cap)
{
	struct text_builder t = {.buf = to, .cap = cap};

	text_add(&t, from.p, from.len);
	return !t.cut;
}

static bool path_parse(struct text_scanner value, char *to)
{
	return value.len > 0 && value.p[0] == '/' && copy(value, to, AGENT_PATH_MAX);
}

static bool signal_parse(struct text_scanner value, int *ret)
{
	uint64_t n;

	/* Lower numbers are the libcs' own real-time signals; 64 is the last signal. */
	if (!scan_number(&value, 64, &n) || value.len > 0 || n < 35)
		return false;
	*ret = (int)n;
	return true;
}

static bool bool_parse(struct text_scanner value, bool *ret)
{
	*ret = value.len == 1 && value.p[0] == '1';
	return *ret || (value.len == 1 && value.p[0] == '0');
}

static bool numbers_parse(struct text_scanner *s, const char *between, struct request *ret)
{
	uint64_t seq, pid;

	if (!scan_number(s, UINT32_MAX, &seq) || !scan_word(s, between) ||
	    !scan_number(s, PID_LIMIT, &pid) || pid == 0)
		return false;
	ret->seq = (uint32_t)seq;
	ret->host_pid = (uint32_t)pid;
	return true;
}

static bool request_option_parse(struct text_scanner value, struct request *ret)
{
	return scan_word(&value, "seq:") && numbers_parse(&value, ":", ret) &&
	       scan_word(&value, ":") && scan_is_name(&value) &&
	       copy(value, ret->name, sizeof(ret->name));
}

static bool number_parse(struct text_scanner value, uint64_t max, uint32_t *ret)
{
	uint64_t n;

	if (!scan_number(&value, max, &n) || value.len > 0)
		return false;
	*ret = (uint32_t)n;
	return true;
}

/* Parses the options that a request and a load share; ignores unknown ones. */
static bool word_parse(struct text_scanner word, struct request *ret)
{
	if (scan_word(&word, "since="))
		return number_parse(word, UINT32_MAX, &ret->since);
	if (scan_word(&word, "keep="))
		return number_parse(word, KEEP_MAX, &ret->keep);
	if (scan_word(&word, "named="))
		return bool_parse(word, &ret->named);
	return true;
}

static bool option_parse(struct text_scanner part, struct load_options *ret)
{
	if (scan_word(&part, "dir="))
		return path_parse(part, ret->dir);
	if (scan_word(&part, "ctl="))
		return path_parse(part, ret->ctl);
	if (scan_word(&part, "signal="))
		return signal_parse(part, &ret->signal);
	if (scan_word(&part, "dns="))
		return bool_parse(part, &ret->debug_info);
	if (scan_word(&part, "request="))
		return ret->has_request = request_option_parse(part, &ret->request);
	return word_parse(part, &ret->request);
}

bool options_parse(const char *text, struct load_options *ret)
{
	struct text_scanner s = scan_of(text);

	ret->signal = 0;
	ret->debug_info = false;
	ret->has_request = false;
	ret->request.since = 0;
	ret->request.keep = 0;
	ret->request.named = false;
	copy(scan_of(DFG_OUT_PATH), ret->dir, sizeof(ret->dir));
	copy(scan_of(DFG_CTL_PATH), ret->ctl, sizeof(ret->ctl));
	while (s.len > 0) {
		if (!option_parse(scan_until(&s, ','), ret))
			return false;
		scan_word(&s, ",");
	}
	return copy(scan_of(ret->dir), ret->request.dir, sizeof(ret->request.dir));
}

bool request_parse(const char *line, size_t len, struct request *ret)
{
	struct text_scanner s = {.p = line, .len = len}, rest, name;

	ret->since = 0;
	ret->keep = 0;
	ret->named = false;
	if (!scan_word(&s, "dfg1 dump seq=") || !numbers_parse(&s, " host_pid=", ret) ||
	    !scan_word(&s, " out="))
		return false;
	rest = scan_until(&s, '\n');
	name = scan_until(&rest, ' ');
	while (scan_word(&rest, " "))
		if (!word_parse(scan_until(&rest, ' '), ret))
			return false;
	return s.len == 1 && scan_is_name(&name) && copy(name, ret->name, sizeof(ret->name));
}

bool request_from_pid(uint32_t host_pid, struct request *ret)
{
	struct text_builder name = TEXT_OF(ret->name);

	if (host_pid == 0 || host_pid > PID_LIMIT)
		return false;
	ret->seq = 0;
	ret->since = 0;
	ret->keep = 0;
	ret->named = false;
	ret->host_pid = host_pid;
	text_adds(&name, "perf-");
	text_addu(&name, host_pid);
	text_adds(&name, ".map");
	return true;
}
