#pragma once

// What a program sees of the files that are there: for one that this process becomes.

#include <stddef.h>

struct csystem_view {
  // The directory of which only some things are seen, by an absolute path without links.
  const char *directory;
  // Those: absolute paths in it, of directories and files that are there.
  const char *const *shown;
  size_t shown_count;
  // A directory that is seen empty, or NULL.
  const char *hidden;
};

// From now on this process, what it becomes and what it starts sees in the directory only what the view shows; everything else
// there is neither seen nor made. The current directory is entered again, or else the root. -1 on failure: then the process may
// have mounts of its own, and part of the view. The process has no other thread.
int csystem_narrow(const struct csystem_view *view);

// Tries that in another process: 0 if it can be done, else the number of the error.
int csystem_try_to_narrow(const struct csystem_view *view);
