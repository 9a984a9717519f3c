#pragma once

// Within CSystem: the filters of the system calls of confined processes. Also compiled on their own,
// for other architectures, by the check that evaluates the filters.

#include <linux/filter.h>
#include <stddef.h>

// The number that the descriptor of the lock has in an extension's process.
#define LOCK_DESCRIPTOR 4

// A placeholder in a filter: the number of the process, which only the process itself knows.
#define OWN_PROCESS 0xfffffffe

struct csystem_calls {
  size_t length;
  // The flags of seccomp(2), and the flags that may be missing in an older kernel.
  unsigned long flags, optional_flags;
  struct sock_filter code[1024];
};

// Ways of filtering an extension's calls, to be combined.
enum {
  // The filter's listener answers the calls that change modes, owners, times and attributes of
  // files; otherwise the filter allows them.
  csystem_calls_ask = 1,
  // The listener also answers calls that truncate files, which Landlock before version 3 allows.
  csystem_calls_ask_truncating = 2,
};

// Writes the filter of an extension, a list of allowed calls.
void csystem_write_calls(struct csystem_calls *filter, int ways);

// Writes the filter of a receiver, a list of refused calls: the calls by which it could act in
// other programs. With `reaches_services`, it may use the sockets of this machine's services.
void csystem_write_receiver_calls(struct csystem_calls *filter, int reaches_services);

// Filters the calls of this thread from now on. The thread has set `no_new_privs` before.
// Returns the listener's descriptor if the filter was written to ask, otherwise 0; -1 on failure,
// with EBUSY if another listener answers for this process already. Only system calls, for use
// between fork and exec.
int csystem_filter_calls(struct csystem_calls *filter);
