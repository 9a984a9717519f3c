#define _GNU_SOURCE

#include "CFilter.h"
#include "CSpawn.h"

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Calls that reach into other processes. The receiver may read memory: it needs that of its child,
// an extension, and Landlock keeps it from the memory of other processes.
static const short refused[] = {
    __NR_ptrace, __NR_process_vm_writev, call_pidfd_getfd, __NR_perf_event_open, __NR_bpf, __NR_userfaultfd,
};

// Keys, shared memory, queues of other programs.
static const short without_access[] = {
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_shmdt, __NR_semget,
    __NR_semop, __NR_semtimedop, __NR_semctl, __NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open,
    __NR_mq_unlink, __NR_mq_timedsend, __NR_mq_timedreceive, __NR_mq_notify, __NR_mq_getsetattr,
};

// Queues of calls, which a filter cannot check.
static const short missing[] = {call_io_uring_setup, call_io_uring_enter, call_io_uring_register};

// The network, and the kernel's answers about it.
static const uint32_t families[] = {AF_INET, AF_INET6, AF_NETLINK};

// The kinds of pairs that stay connected. A datagram socket can reach any other socket by its path.
static const uint32_t pairs[] = {SOCK_STREAM, SOCK_SEQPACKET};
enum { kind_of_socket = 0xf };

// The two ioctl commands type into the terminal, as if its user had done so.
static const struct csystem_call_rule rules[] = {
    ONE_OF(__NR_socketpair, 1, kind_of_socket, pairs, EACCES),
    RULE(__NR_ioctl, 1, not_value, TIOCSTI, EPERM),
    RULE(__NR_ioctl, 1, not_value, TIOCLINUX, EPERM),
    ONE_OF(__NR_socket, 0, ~0U, families, EACCES),
};
enum { rule_count = sizeof rules / sizeof rules[0] };

void csystem_write_receiver_calls(struct csystem_calls *filter, int reaches_services) {
  // Some kernels otherwise slow a filtered process down, so that it cannot guess at its own memory.
  *filter = (struct csystem_calls){.optional_flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW};
  uint32_t verdicts[LAST_CONSIDERED + 1];
  for (int call = 0; call <= LAST_CONSIDERED; call++) verdicts[call] = SECCOMP_RET_ALLOW;
  SET_VERDICTS(verdicts, refused, SECCOMP_RET_ERRNO | EPERM);
  SET_VERDICTS(verdicts, without_access, SECCOMP_RET_ERRNO | EACCES);
  SET_VERDICTS(verdicts, missing, SECCOMP_RET_ERRNO | ENOSYS);
  // The rule about sockets is the last rule.
  csystem_write_filter(filter, rules, rule_count - (reaches_services != 0), verdicts, SECCOMP_RET_ALLOW);
}

static int leave_others(struct csystem_calls *filter) {
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ? -1 : csystem_filter_calls(filter);
}

// Whether a socket of a family can be made. A kernel may lack the family.
static int can_make(int family) {
  int made = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made != -1) close(made);
  return made != -1 || errno == EAFNOSUPPORT;
}

// Tries the filter in another process: if an emulator translates the program for another processor,
// a filter for the program's processor ends the process.
static int works(struct csystem_calls *filter, int reaches_services) {
  pid_t child = fork();
  if (child == 0) {
    if (leave_others(filter) == -1) _exit(1);
    _exit(can_make(AF_INET) && can_make(AF_INET6) && can_make(AF_UNIX) == reaches_services ? 0 : 1);
  }
  int status = 1;
  while (child != -1 && waitpid(child, &status, 0) == -1 && errno == EINTR) continue;
  return child != -1 && status == 0;
}

int csystem_leave_others(int reaches_services) {
  struct csystem_calls filter;
  csystem_write_receiver_calls(&filter, reaches_services);
  if (!works(&filter, reaches_services)) return 0;
  return leave_others(&filter) == -1 ? -1 : 1;
}
