// SPDX-License-Identifier: Apache-2.0
#include "hook/precreate.h"

#include <unistd.h>

#include "common/fs.h"
#include "oci/conf.h"
#include "oci/config.h"
#include "oci/spec.h"

#define TEXT_MAX (64u << 20)

static bool is_wanted(const struct hook_options *options, const struct str *text)
{
	CLEANUP(oci_config_fini) struct oci_config config = {0};
	struct conf conf;
	struct err err;

	return text->len <= OCI_CONFIG_MAX && conf_load(options->conf, &conf, &err) == 0 &&
	       oci_config_parse(text->buf, text->len, "/", &config, &err) == 0 &&
	       conf_selects(&conf, options->asked, config.annotations, &err);
}

int hook_precreate(const struct hook_options *options)
{
	CLEANUP(str_fini) struct str text = {0};
	struct err err;

	if (fs_read_all(STDIN_FILENO, TEXT_MAX, &text, &err) < 0 || !text.len)
		return 1;
	if (is_wanted(options, &text))
		(void)!oci_spec_add_early(&text, &err);
	return fs_write_all(STDOUT_FILENO, text.buf, text.len, &err) < 0;
}
