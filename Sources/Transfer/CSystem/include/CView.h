#pragma once

// The files that a program sees, for a program that this process becomes.

#include <stddef.h>

struct csystem_view {
  // The directory that is narrowed, as an absolute path without links.
  const char *directory;
  // The visible items: absolute paths in it, of existing directories and files.
  const char *const *shown;
  size_t shown_count;
  // A directory that appears empty, or NULL.
  const char *hidden;
};

// From now on this process, the programs that it becomes and those that it starts see only the
// view's items in the directory; other items there are invisible and cannot be created. The process
// enters the current directory again, or else the root. -1 on failure: then the process may have
// private mounts, and a part of the view. The process must have only one thread.
int csystem_narrow(const struct csystem_view *view);

// Tries this in another process: 0 if it is possible, otherwise the error number.
int csystem_try_to_narrow(const struct csystem_view *view);
