#pragma once

// Within CSystem: rules about files, which the kernel enforces.

#include "CSpawn.h"

// From now on this thread can use only the files and directories of the rules, as each rule says.
// Without Landlock in the kernel, nothing happens. -1 on failure. Only system calls, for use
// between fork and exec.
int csystem_confine_files(const struct csystem_rule *rules, size_t rule_count);
