#define _GNU_SOURCE

#include "CFilter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the filters of system calls are for x86-64 and 64-bit ARM"
#endif

static void put(struct csystem_calls *filter, uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t operand) {
  filter->code[filter->length++] = (struct sock_filter){code, if_true, if_false, operand};
}

static void load(struct csystem_calls *filter, size_t offset) {
  put(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void compare(struct csystem_calls *filter, uint16_t how, uint32_t with, uint8_t if_true, uint8_t if_false) {
  put(filter, (uint16_t)(BPF_JMP | how | BPF_K), if_true, if_false, with);
}

static void keep_bits(struct csystem_calls *filter, uint32_t mask) {
  put(filter, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
}

static void give(struct csystem_calls *filter, uint32_t verdict) { put(filter, BPF_RET | BPF_K, 0, 0, verdict); }

static void put_condition(struct csystem_calls *filter, const struct csystem_call_rule *rule) {
  // The kernel reads only the lower half of each of these arguments; both architectures are
  // little-endian.
  load(filter, offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)rule->argument);
  switch (rule->condition) {
  case itself:
    compare(filter, BPF_JEQ, 0, 2, 0);
    compare(filter, BPF_JEQ, OWN_PROCESS, 1, 0);
    break;
  case value: compare(filter, BPF_JEQ, rule->value, 1, 0); break;
  case not_value: compare(filter, BPF_JEQ, rule->value, 0, 1); break;
  case any_bit_of: compare(filter, BPF_JSET, rule->value, 1, 0); break;
  case not_all_bits_of:
    keep_bits(filter, rule->value);
    compare(filter, BPF_JEQ, rule->value, 0, 1);
    break;
  case one_of:
    if (rule->value != ~0U) keep_bits(filter, rule->value);
    for (size_t index = 0; index < rule->count; index++)
      compare(filter, BPF_JEQ, rule->list[index], (uint8_t)(rule->count - index), 0);
    break;
  case truncates_only_to_write:
    compare(filter, BPF_JSET, O_TRUNC, 0, 4);
    keep_bits(filter, O_ACCMODE);
    compare(filter, BPF_JEQ, O_WRONLY, 2, 0);
    compare(filter, BPF_JEQ, O_RDWR, 1, 0);
    break;
  }
  give(filter, SECCOMP_RET_ERRNO | (uint32_t)rule->error);
}

// Writes the rules of one call: they alone decide about it. Returns the index of the next call's.
static size_t put_call(struct csystem_calls *filter, const struct csystem_call_rule *rules, size_t count, size_t first) {
  size_t begin = filter->length, index = first;
  compare(filter, BPF_JEQ, (uint32_t)rules[first].call, 0, 0);
  for (; index < count && rules[index].call == rules[first].call; index++) put_condition(filter, &rules[index]);
  give(filter, SECCOMP_RET_ALLOW);
  filter->code[begin].jf = (uint8_t)(filter->length - begin - 1);
  return index;
}

void csystem_set_verdicts(uint32_t *verdicts, const short *calls, size_t count, uint32_t verdict) {
  for (size_t index = 0; index < count; index++) verdicts[calls[index]] = verdict;
}

void csystem_write_filter(
    struct csystem_calls *filter, const struct csystem_call_rule *rules, size_t count, const uint32_t *verdicts,
    uint32_t usual) {
  load(filter, offsetof(struct seccomp_data, arch));
  compare(filter, BPF_JEQ, OUR_ARCHITECTURE, 1, 0);
  give(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(struct seccomp_data, nr));
  for (size_t index = 0; index < count;) index = put_call(filter, rules, count, index);
  // Runs of numbers with the same verdict.
  for (int first = 0, last; first <= LAST_CONSIDERED; first = last + 1) {
    for (last = first; last < LAST_CONSIDERED && verdicts[last + 1] == verdicts[first];) last++;
    if (verdicts[first] == usual) continue;
    compare(filter, BPF_JGE, (uint32_t)first, 0, 2);
    compare(filter, BPF_JGT, (uint32_t)last, 1, 0);
    give(filter, verdicts[first]);
  }
  // Also the numbers of the second interface of x86-64, which begin at 0x40000000.
  compare(filter, BPF_JGT, LAST_CONSIDERED, 0, 1);
  give(filter, SECCOMP_RET_ERRNO | ENOSYS);
  give(filter, usual);
}

int csystem_filter_calls(struct csystem_calls *filter) {
  for (size_t index = 0; index < filter->length; index++) {
    if (filter->code[index].k == OWN_PROCESS) filter->code[index].k = (uint32_t)getpid();
  }
  struct sock_fprog program = {.len = (unsigned short)filter->length, .filter = filter->code};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, filter->flags | filter->optional_flags, &program);
  if (result == -1 && errno == EINVAL) result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, filter->flags, &program);
  return (int)result;
}
