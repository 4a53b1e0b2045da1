/* SPDX-License-Identifier: Apache-2.0 */
/* Tells an analyzer, which reads one file at a time, what is in another; included before each. */
#include "common/err.h"

#define err_set(...)  ((void)err_set(__VA_ARGS__), -1)
#define err_wrap(...) ((void)err_wrap(__VA_ARGS__), -1)
