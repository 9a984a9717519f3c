#pragma once

// Within CSystem: how the filters of system calls are assembled from rules and verdicts. Also compiled
// on its own, for other architectures, by the check that evaluates the filters.

#include "CExtensionCalls.h"

#include <stdint.h>

// The newest call that was considered. Later ones do not exist for a process with a filter: ENOSYS
// makes programs use what they used before.
#define LAST_CONSIDERED 469

// Calls that the headers of older distributions lack; their numbers are the same on all
// architectures.
enum {
  call_io_uring_setup = 425, call_io_uring_enter, call_io_uring_register,
  call_clone3 = 435, call_close_range, call_openat2, call_pidfd_getfd, call_faccessat2,
  call_epoll_pwait2 = 441,
  call_landlock_create_ruleset = 444, call_landlock_add_rule, call_landlock_restrict_self,
  call_futex_waitv = 449,
  call_cachestat = 451, call_fchmodat2, call_map_shadow_stack, call_futex_wake, call_futex_wait, call_futex_requeue,
  call_mseal = 462, call_setxattrat, call_getxattrat, call_listxattrat, call_removexattrat,
  call_file_getattr = 468, call_file_setattr,
};

// Conditions for an argument of a call.
enum csystem_condition {
  // Zero, or the number of this process.
  itself,
  value,
  not_value,
  any_bit_of,
  not_all_bits_of,
  // The argument's bits that the value selects, as a number, are in a list.
  one_of,
  // Flags of opening: a file that is truncated is opened for writing.
  truncates_only_to_write,
};

// A call fails with the error unless the condition holds. All rules of a call are in a row.
struct csystem_call_rule {
  short call;
  short argument;
  enum csystem_condition condition;
  uint32_t value;
  int error;
  const uint32_t *list;
  size_t count;
};

#define RULE(call, argument, condition, value, error) {call, argument, condition, value, error, NULL, 0}
#define ONE_OF(call, argument, bits, list, error) \
  {call, argument, one_of, bits, error, list, sizeof list / sizeof list[0]}

#define SET_VERDICTS(verdicts, calls, verdict) \
  csystem_set_verdicts(verdicts, calls, sizeof calls / sizeof calls[0], verdict)

void csystem_set_verdicts(uint32_t *verdicts, const short *calls, size_t count, uint32_t verdict);

// Writes a filter. The rules decide about the calls that they name; the verdicts, one for each call
// up to the newest, decide about all others. `usual` is the most frequent verdict.
void csystem_write_filter(
    struct csystem_calls *filter, const struct csystem_call_rule *rules, size_t count, const uint32_t *verdicts,
    uint32_t usual);
