#define _GNU_SOURCE

#include "CSpawn.h"

#include "CMounts.h"

#include <errno.h>
#include <link.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

// The numbers that descriptors have in the child.
enum { CHANNEL_DESCRIPTOR = 3, LOCK_DESCRIPTOR = 4, REPORT_DESCRIPTOR = 5 };

// Landlock

// As of version 6; older kernels take the first fields.
struct ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

enum {
  right_execute = 1 << 0,
  right_write_file = 1 << 1,
  right_read_file = 1 << 2,
  right_read_directory = 1 << 3,
  right_make_device_from = 6,
  right_refer = 1 << 13,
  right_truncate = 1 << 14,
  right_device_ioctl = 1 << 15,
  rights_of_version_1 = (1 << 13) - 1,
  // Character and block devices: data migrations never create them.
  rights_of_devices = 1 << 6 | 1 << 11,
  rights_of_files = right_execute | right_write_file | right_read_file | right_truncate,
  connections = 3,
  scopes = 3,
};

int csystem_landlock_version(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? (int)version : 0;
}

static uint64_t known_rights(int version) {
  uint64_t rights = rights_of_version_1;
  if (version >= 2) rights |= right_refer;
  if (version >= 3) rights |= right_truncate;
  if (version >= 5) rights |= right_device_ioctl;
  return rights;
}

static uint64_t rights_for(enum csystem_access access) {
  const uint64_t reading = right_read_file | right_read_directory;
  switch (access) {
  case csystem_access_read: return reading;
  case csystem_access_execute: return reading | right_execute;
  case csystem_access_write:
    return (rights_of_version_1 | right_refer | right_truncate) & ~(uint64_t)(right_execute | rights_of_devices);
  }
  return 0;
}

static int allow(int ruleset, const struct csystem_rule *rule, uint64_t known) {
  int place = open(rule->path, O_PATH | O_CLOEXEC);
  if (place == -1) return rule->is_optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES) ? 0 : -1;
  struct stat status;
  if (fstat(place, &status) == -1) return -1;
  uint64_t rights = rights_for(rule->access) & known;
  if (!S_ISDIR(status.st_mode)) rights &= rights_of_files;
  struct landlock_path_beneath_attr attribute = {.allowed_access = rights, .parent_fd = place};
  int result = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attribute, 0);
  close(place);
  return result;
}

static int confine_files(const struct csystem_spawn *what) {
  int version = csystem_landlock_version();
  if (version == 0) return 0;
  struct ruleset attribute = {.handled_access_fs = known_rights(version), connections, scopes};
  size_t size = version >= 6 ? sizeof attribute : version >= 4 ? 16 : 8;
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, size, 0);
  if (ruleset == -1) return -1;
  for (size_t index = 0; index < what->rule_count; index++) {
    if (allow(ruleset, &what->rules[index], attribute.handled_access_fs) == -1) return -1;
  }
  return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

static int confine_writing(int version, const char *const *directories, size_t count) {
  const uint64_t changing = rights_for(csystem_access_write) & ~rights_for(csystem_access_read);
  struct ruleset attribute = {.handled_access_fs = (changing | rights_of_devices) & known_rights(version)};
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, 8, 0);
  if (ruleset == -1) return -1;
  static const char *const devices[] = {"/dev/null", "/dev/tty"};
  enum { device_count = sizeof devices / sizeof devices[0] };
  int result = 0;
  for (size_t index = 0; index < count + device_count && result == 0; index++) {
    struct csystem_rule rule = {
        .path = index < count ? directories[index] : devices[index - count],
        .access = csystem_access_write,
        .is_optional = index >= count,
    };
    result = allow(ruleset, &rule, attribute.handled_access_fs);
  }
  if (result == 0) result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (result == 0) result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
  close(ruleset);
  return result;
}

int csystem_confine_writing(const char *const *directories, size_t count) {
  int version = csystem_landlock_version();
  // Before version 2, Landlock forbade every move between directories.
  if (version < 2) return 0;
  return confine_writing(version, directories, count) == 0 ? 1 : -1;
}

// Mounts

// Gives the process private mounts that are read-only, except for one directory if it is given.
static int seal_files(const char *changeable) {
  if (csystem_leave_mounts() == -1) return -1;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) return -1;
  if (changeable && mount(changeable, changeable, NULL, MS_BIND | MS_REC, NULL) == -1) return -1;
  struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY}, writable = {.attr_clr = MOUNT_ATTR_RDONLY};
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) == -1) return -1;
  if (!changeable) return 0;
  return (int)syscall(SYS_mount_setattr, AT_FDCWD, changeable, AT_RECURSIVE, &writable, sizeof writable);
}

// System calls

#if defined(__x86_64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCHITECTURE

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE(call, error)                                                                                            \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error)

// A call about a process: refused unless its argument is this process's own number, which the
// filter finds by its placeholder value.
#define OWN_PROCESS 0xfffffffe
#define ONLY_ABOUT_ITSELF(call, argument)                                                                              \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 5), LOAD(args[argument]),                                               \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_PROCESS, 1, 0),            \
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
// A call that is refused if an argument has a given value.
#define REFUSE_WITH(call, argument, value)                                                                             \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4), LOAD(args[argument]),                                               \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), LOAD(nr)

// Refuses sockets, processes, access to other processes, the kernel's per-user objects, and the
// ways around these refusals.
static const struct sock_filter call_filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    // The numbers of the kernel's second system call interface begin here.
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    REFUSE(SYS_fork, EPERM),
    REFUSE(SYS_vfork, EPERM),
#endif
    REFUSE(SYS_socket, EACCES),
    // A datagram socket of a pair can reach any other socket by its path.
    REFUSE(SYS_socketpair, EACCES),
    REFUSE(SYS_connect, EACCES),
    REFUSE(SYS_bind, EACCES),
    REFUSE(SYS_listen, EACCES),
    REFUSE(SYS_io_uring_setup, ENOSYS),
    REFUSE(SYS_ptrace, EPERM),
    REFUSE(SYS_process_vm_readv, EPERM),
    REFUSE(SYS_process_vm_writev, EPERM),
    REFUSE(SYS_pidfd_getfd, EPERM),
    REFUSE(SYS_unshare, EPERM),
    REFUSE(SYS_setns, EPERM),
    REFUSE(SYS_open_by_handle_at, EPERM),
    // Keys, shared memory, queues: they have no place in the file system to which a rule could
    // apply.
    REFUSE(SYS_add_key, EACCES),
    REFUSE(SYS_request_key, EACCES),
    REFUSE(SYS_keyctl, EACCES),
    REFUSE(SYS_shmget, EACCES),
    REFUSE(SYS_shmat, EACCES),
    REFUSE(SYS_msgget, EACCES),
    REFUSE(SYS_semget, EACCES),
    REFUSE(SYS_mq_open, EACCES),
    // Watches reveal the names of files that may not be read.
    REFUSE(SYS_inotify_add_watch, EACCES),
    REFUSE(SYS_fanotify_init, EACCES),
    REFUSE(SYS_bpf, EPERM),
    REFUSE(SYS_perf_event_open, EPERM),
    REFUSE(SYS_userfaultfd, EPERM),
    // The process must die with its parent.
    REFUSE_WITH(SYS_prctl, 0, PR_SET_PDEATHSIG),
    // All holders of the descriptor share the lock: a holder could release it for all of them, and
    // a copy of the descriptor has another number.
    REFUSE_WITH(SYS_flock, 0, LOCK_DESCRIPTOR),
    REFUSE_WITH(SYS_fcntl, 0, LOCK_DESCRIPTOR),
    REFUSE_WITH(SYS_dup, 0, LOCK_DESCRIPTOR),
    REFUSE_WITH(SYS_dup3, 0, LOCK_DESCRIPTOR),
#ifdef __x86_64__
    REFUSE_WITH(SYS_dup2, 0, LOCK_DESCRIPTOR),
#endif
    // Signals that are sent when a descriptor becomes readable.
    REFUSE_WITH(SYS_fcntl, 1, F_SETOWN),
    REFUSE_WITH(SYS_fcntl, 1, F_SETOWN_EX),
    REFUSE(SYS_pidfd_send_signal, EPERM),
    REFUSE(SYS_tkill, EPERM),
    ONLY_ABOUT_ITSELF(SYS_kill, 0),
    ONLY_ABOUT_ITSELF(SYS_tgkill, 0),
    ONLY_ABOUT_ITSELF(SYS_rt_sigqueueinfo, 0),
    ONLY_ABOUT_ITSELF(SYS_rt_tgsigqueueinfo, 0),
    ONLY_ABOUT_ITSELF(SYS_prlimit64, 0),
    // Its flags are in memory that a filter cannot read; the C library uses the older call instead.
    REFUSE(SYS_clone3, ENOSYS),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static int confine_calls(void) {
  enum { length = sizeof call_filter / sizeof call_filter[0] };
  struct sock_filter filter[length];
  for (int index = 0; index < length; index++) {
    filter[index] = call_filter[index];
    if (filter[index].code == (BPF_JMP | BPF_JEQ | BPF_K) && filter[index].k == OWN_PROCESS) {
      filter[index].k = (uint32_t)getpid();
    }
  }
  struct sock_fprog program = {.len = length, .filter = filter};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int csystem_has_call_filter(void) { return prctl(PR_GET_SECCOMP) != -1; }

#else

static int confine_calls(void) { return 0; }
int csystem_has_call_filter(void) { return 0; }

#endif

// Root keeps only its rights over files, which the rules limit.
static int drop_capabilities(void) {
  for (int capability = 0; capability < 64; capability++) {
    switch (capability) {
    case CAP_CHOWN:
    case CAP_DAC_OVERRIDE:
    case CAP_DAC_READ_SEARCH:
    case CAP_FOWNER: break;
    default: prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    }
  }
  // Inheritable capabilities would be added to those; clearing them also removes the capabilities
  // that a service passes on to the programs it starts.
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) == -1) return -1;
  for (int index = 0; index < _LINUX_CAPABILITY_U32S_3; index++) sets[index].inheritable = 0;
  return (int)syscall(SYS_capset, &header, sets);
}

// The child

static int limit(int resource, uint64_t most) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) == -1) return -1;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > most) limit.rlim_max = most;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
  return setrlimit(resource, &limit);
}

// First moves the descriptors away from the target numbers, then to those numbers.
static int arrange_descriptors(const struct csystem_spawn *what, int report) {
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing == -1) return -1;
  // Without a lock, its number leads to no other file either.
  const int lock = what->lock == -1 ? nothing : what->lock;
  const int from[] = {nothing, what->output, what->error, [CHANNEL_DESCRIPTOR] = what->channel,
                      [LOCK_DESCRIPTOR] = lock, [REPORT_DESCRIPTOR] = report};
  enum { count = sizeof from / sizeof from[0] };
  int moved[count];
  for (int index = 0; index < count; index++) {
    moved[index] = fcntl(from[index], F_DUPFD, count);
    if (moved[index] == -1) return -1;
  }
  for (int index = 0; index < count; index++) {
    if (dup2(moved[index], index) == -1) return -1;
  }
  if (syscall(SYS_close_range, count, ~0U, 0) == -1) {
    for (int descriptor = count; descriptor < 65536; descriptor++) close(descriptor);
  }
  return fcntl(REPORT_DESCRIPTOR, F_SETFD, FD_CLOEXEC);
}

// The step at which the child failed.
static const char *const stages[] = {
    "", "arrange its descriptors", "tie it to this process", "limit it", "enter its directory", "confine it", "start it",
};

static int prepare(const struct csystem_spawn *what, pid_t parent, int report, int *stage) {
  *stage = 1;
  if (arrange_descriptors(what, report) == -1) return -1;
  setsid();
  umask(077);
  *stage = 3;
  if (limit(RLIMIT_CORE, 0) == -1 || limit(RLIMIT_NOFILE, what->files) == -1) return -1;
  if (limit(RLIMIT_DATA, what->memory) == -1) return -1;
  *stage = 5;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) return -1;
  if (what->is_confined) {
    if (what->is_sealed && seal_files(what->changeable) == -1) return -1;
    if (drop_capabilities() == -1) return -1;
  }
  // The directory entered now is on the process's own mounts.
  *stage = 4;
  if (chdir(what->directory) == -1) return -1;
  // After every change of permissions, because such a change could undo it.
  *stage = 2;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1) return -1;
  if (getppid() != parent) _exit(1);
  *stage = 5;
  if (what->is_confined && (confine_files(what) == -1 || confine_calls() == -1)) return -1;
  return 0;
}

static void run_child(const struct csystem_spawn *what, pid_t parent, int report) {
  int message[2] = {0, 0};
  if (prepare(what, parent, report, &message[0]) == 0) {
    message[0] = 6;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &usual, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(what->executable, what->arguments, what->environment);
  }
  message[1] = errno;
  if (write(message[0] > 1 ? REPORT_DESCRIPTOR : report, message, sizeof message) == -1) _exit(126);
  _exit(127);
}

// The parent

// A signal between fork and exec must not run this process's handlers in the child.
static void block_signals(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

int csystem_has_own_mounts(void) {
  sigset_t before;
  block_signals(&before);
  pid_t child = fork();
  if (child == 0) _exit(seal_files(NULL) == 0 ? 0 : 1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (child == -1) return 0;
  int status;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) == -1 && errno == EINTR) continue;
  return ended == child && status == 0;
}

pid_t csystem_start(const struct csystem_spawn *what, int *process, const char **stage) {
  int report[2];
  *stage = "create a pipe for it";
  if (pipe2(report, O_CLOEXEC) == -1) return -1;
  *stage = "make it";
  pid_t parent = getpid();
  sigset_t before;
  block_signals(&before);
  pid_t child = fork();
  if (child == 0) run_child(what, parent, report[1]);
  int failure = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  if (child == -1) {
    close(report[0]);
    errno = failure;
    return -1;
  }
  int message[2];
  ssize_t count;
  while ((count = read(report[0], message, sizeof message)) == -1 && errno == EINTR) continue;
  close(report[0]);
  if (count == 0) {
    *process = (int)syscall(SYS_pidfd_open, child, 0);
    if (*process != -1) return child;
    message[0] = 2;
    message[1] = errno;
    kill(child, SIGKILL);
  }
  while (waitpid(child, NULL, 0) == -1 && errno == EINTR) continue;
  *stage = stages[message[0]];
  errno = message[1];
  return -1;
}

int csystem_wait(pid_t process) {
  int status;
  if (waitpid(process, &status, 0) == -1) return -1;
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int csystem_kill(int process) { return (int)syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0); }

struct wanted_library {
  const char *name;
  char *path;
  size_t size;
};

static int compare_library(struct dl_phdr_info *library, size_t size, void *data) {
  (void)size;
  struct wanted_library *wanted = data;
  const char *slash = library->dlpi_name ? strrchr(library->dlpi_name, '/') : NULL;
  if (!slash || strcmp(slash + 1, wanted->name) != 0 || strlen(library->dlpi_name) >= wanted->size) return 0;
  strcpy(wanted->path, library->dlpi_name);
  return 1;
}

int csystem_loaded_library(const char *name, char *path, size_t size) {
  struct wanted_library wanted = {name, path, size};
  return dl_iterate_phdr(compare_library, &wanted);
}

int csystem_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int csystem_access_mode(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1) return -1;
  return flags & O_PATH ? -1 : flags & O_ACCMODE;
}

int csystem_is_process_file(int descriptor) {
  struct statfs status;
  return fstatfs(descriptor, &status) == -1 ? -1 : status.f_type == PROC_SUPER_MAGIC;
}
