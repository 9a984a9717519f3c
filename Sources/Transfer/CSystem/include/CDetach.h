#pragma once

// A process of this program that is not its child.

// Creates a process with a copy of this process's memory. It has a session of its own, /dev/null as
// its standard descriptors, exactly one more descriptor of this process, the root as its directory,
// and a name. A crash ends it immediately. Returns 0 in this process, which has no child
// afterwards; the number of the descriptor in the new process; -1 on failure. The calling process
// must have only one thread.
int csystem_detach(int descriptor, const char *name);
