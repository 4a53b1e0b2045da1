/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM's command line says. Pure. */
#ifndef INJECTOR_JVM_ARGS_H
#define INJECTOR_JVM_ARGS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether -XX:+DisableAttachMechanism is in force, as far as /proc/PID/cmdline and
 * /proc/PID/environ (NUL-separated; either may be empty) tell: JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS,
 * the options in front of the main class, _JAVA_OPTIONS; the last one wins. Argument files and
 * .hotspotrc are not read, and what the application itself is given is not mistaken for an option
 * of the JVM. */
bool jvm_args_disable_attach(const char *cmdline, size_t cmdline_len, const char *env,
			     size_t env_len);

#endif
