/* SPDX-License-Identifier: Apache-2.0 */
/* Included before each file that an analyzer reads, one at a time: what it cannot see in another file. */
#include "common/err.h"

#define err_set(...)  ((void)err_set(__VA_ARGS__), -1)
#define err_wrap(...) ((void)err_wrap(__VA_ARGS__), -1)
