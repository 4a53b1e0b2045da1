// SPDX-License-Identifier: Apache-2.0
/* runc and crun: the hook in a bundle's config.json. */
#include "oci/jsontext.h"
#include "oci/spec.h"
#include "setup/engine.h"

void look_spec(int rootfd, const char *file, struct engine_setting *ret)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *program = NULL;
	struct err err;

	if (change_read(rootfd, file, &text, &err) <= 0)
		return;
	program = oci_spec_find_hook(&text);
	engine_setting_take(ret, file, program, true);
	ret->early |= program && oci_spec_is_early(&text);
}

static int put(struct str *text, const void *what, struct err *err)
{
	const struct setup *s = what;

	if (!text->len)
		return err_set(err, 0, "there is no bundle");
	if (oci_spec_add_hook(text, s->hook, s->root, err) < 0)
		return -1;
	return s->early && oci_spec_add_early(text, err) < 0 ? -1 : 0;
}

static int take(struct str *text, const struct str *before, const void *what, struct err *err)
{
	(void)before;
	(void)what;
	int hook = oci_spec_remove_hook(text, err);

	/* The flags are ours where the hook is. */
	return hook < 0 || (hook && oci_spec_remove_early(text, err) < 0) ? -1 : 0;
}

int plan_bundle(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err)
{
	return change_plan(ret, s->rootfd, file, &(struct edit){s, put, take}, install, err);
}
