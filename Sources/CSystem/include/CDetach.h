#pragma once

// A process of this program's that is no child of it.

// Makes a process with a copy of this one's memory. It has a session of its own, /dev/null for the standard descriptors, one
// descriptor of this process besides and no other, the root for its directory, a name, and a crash ends it at once. 0 in this process, which has no child
// afterwards; the number of the descriptor in the new one; -1 on failure. This process has no other thread.
int csystem_detach(int descriptor, const char *name);
