#pragma once

// Answers a confined process's calls that change modes, owners, times and extended attributes of
// files, which its rules about files do not cover. The kernel holds the calling thread until the
// answer comes, and the call is made here: the process cannot change the checked arguments.

#include <stddef.h>

// Whether this machine can answer calls of a confined process. Tries it with another process.
int csystem_can_answer(void);

// Takes the next call from a listener, and answers it. A call about one of the given directories,
// or about an item below one, is made here, and its result is the answer. For others, the answer is
// EPERM. -1 with ENOENT if the caller has ended meanwhile.
//
// A path is resolved once, as the caller sees it. The item is then opened below the directory,
// without any link. It counts as an item below only if that leads to the same item.
int csystem_answer(int listener, const int *directories, size_t count);

// From now on the calling thread has only a confined process's part of root's rights, and may read
// the memory of such a process.
int csystem_keep_file_rights(void);
