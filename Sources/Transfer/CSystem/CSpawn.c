#define _GNU_SOURCE

#include "CSpawn.h"

#include "CAttributes.h"
#include "CExtensionCalls.h"
#include "CLandlock.h"
#include "CMounts.h"
#include "CSystem.h"

#include <errno.h>
#include <link.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

// The numbers that descriptors have in the child.
enum { CHANNEL_DESCRIPTOR = 3, REPORT_DESCRIPTOR = 5 };

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

int csystem_has_call_filter(void) { return prctl(PR_GET_SECCOMP) != -1; }

// Root's rights over files, which all have numbers below 32.
static const uint32_t file_rights = 1 << CAP_CHOWN | 1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH | 1 << CAP_FOWNER;

// Root keeps only its rights over files, which the rules limit.
static int drop_capabilities(void) {
  for (int capability = 0; capability < 64; capability++) {
    if (capability < 32 && (file_rights >> capability & 1)) continue;
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  // Inheritable capabilities would be added to those; clearing them also removes the capabilities
  // that a service passes on to the programs it starts.
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) == -1) return -1;
  for (int index = 0; index < _LINUX_CAPABILITY_U32S_3; index++) sets[index].inheritable = 0;
  return (int)syscall(SYS_capset, &header, sets);
}

int csystem_keep_file_rights(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
  if (syscall(SYS_capget, &header, sets) == -1) return -1;
  for (int index = 0; index < _LINUX_CAPABILITY_U32S_3; index++) {
    const uint32_t kept = index == 0 ? file_rights | 1 << CAP_SYS_PTRACE : 0;
    sets[index].effective &= kept;
    sets[index].permitted &= kept;
    sets[index].inheritable &= kept;
  }
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

// When memory is short, the kernel ends this process before others.
static void volunteer(void) {
  int file = open("/proc/self/oom_score_adj", O_WRONLY);
  if (file == -1) return;
  // If this fails, the limits apply anyway.
  (void)!write(file, "1000", 4);
  close(file);
}

// First moves the descriptors away from the target numbers, then to those numbers.
static int arrange_descriptors(const struct csystem_spawn *what, int report) {
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing == -1) return -1;
  // Without a lock, its number leads to no other file either.
  const int lock = what->lock == -1 ? nothing : what->lock;
  const int input = what->input == -1 ? nothing : what->input;
  const int from[] = {input, what->output, what->error, [CHANNEL_DESCRIPTOR] = what->channel,
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

// Opens the empty device on the process's own mounts, where its mode cannot be changed.
static int open_nothing_again(const struct csystem_spawn *what) {
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing == -1 || dup2(nothing, 0) == -1) return -1;
  if (what->lock == -1 && dup2(nothing, LOCK_DESCRIPTOR) == -1) return -1;
  return close(nothing);
}

// The step at which the child failed.
static const char *const stages[] = {
    "", "arrange its descriptors", "tie it to this process", "limit it", "enter its directory", "confine it", "start it",
};

// Confines files and calls, and passes the filter's listener on.
static int confine_rest(const struct csystem_spawn *what, struct csystem_calls *filter) {
  if (csystem_confine_files(what->rules, what->rule_count) == -1) return -1;
  int listener = csystem_filter_calls(filter);
  if (listener <= 0) return listener;
  return csystem_send_packet(REPORT_DESCRIPTOR, "", 1, listener, 1) == 1 ? 0 : -1;
}

static int prepare(
    const struct csystem_spawn *what, struct csystem_calls *filter, pid_t parent, int report, int *stage) {
  *stage = 1;
  if (arrange_descriptors(what, report) == -1) return -1;
  setsid();
  umask(077);
  *stage = 3;
  if (limit(RLIMIT_CORE, 0) == -1 || limit(RLIMIT_NOFILE, what->files) == -1) return -1;
  if (limit(RLIMIT_DATA, what->memory) == -1) return -1;
  if (what->is_confined && (limit(RLIMIT_RTPRIO, 0) == -1 || limit(RLIMIT_NICE, 0) == -1)) return -1;
  volunteer();
  *stage = 5;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) return -1;
  if (what->is_confined) {
    if (what->is_sealed && (seal_files(what->changeable) == -1 || open_nothing_again(what) == -1)) return -1;
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
  return what->is_confined ? confine_rest(what, filter) : 0;
}

static void run_child(const struct csystem_spawn *what, struct csystem_calls *filter, pid_t parent, int report) {
  // This message has another size than the message that passes the listener on.
  int message[2] = {0, 0};
  if (prepare(what, filter, parent, report, &message[0]) == 0) {
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

static int ways_of(const struct csystem_spawn *what) {
  if (!what->is_confined || !what->is_answered) return 0;
  // As of version 3, Landlock restricts truncating.
  return csystem_calls_ask | (csystem_landlock_version() < 3 ? csystem_calls_ask_truncating : 0);
}

// Reads the child's reports until it becomes the program: returns 0, and the listener. If the child
// fails, returns its step, and the reason in errno.
static int hear(int report, int *listener) {
  while (1) {
    int message[2], descriptor;
    ssize_t count = csystem_receive_packet(report, message, sizeof message, &descriptor, 1);
    if (count == -1 && errno == EINTR) continue;
    if (count == 0) return 0;
    if (count == 1) *listener = descriptor;
    if (count == 1) continue;
    if (count == sizeof message) errno = message[1];
    return count == sizeof message ? message[0] : 2;
  }
}

static pid_t make_child(const struct csystem_spawn *what, const int report[2]) {
  struct csystem_calls filter;
  csystem_write_calls(&filter, ways_of(what));
  pid_t parent = getpid();
  sigset_t before;
  block_signals(&before);
  pid_t child = fork();
  if (child == 0) run_child(what, &filter, parent, report[1]);
  int failure = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = failure;
  return child;
}

pid_t csystem_start(const struct csystem_spawn *what, int *process, int *listener, const char **stage) {
  int report[2], step = 0, failure;
  *process = *listener = -1;
  *stage = "make a pair of sockets for it";
  if (csystem_packet_pair(report) == -1) return -1;
  *stage = "make it";
  pid_t child = make_child(what, report);
  failure = errno;
  close(report[1]);
  if (child != -1) {
    step = hear(report[0], listener);
    failure = errno;
  }
  close(report[0]);
  if (child != -1 && step == 0) {
    *process = (int)syscall(SYS_pidfd_open, child, 0);
    if (*process != -1 && (*listener == -1 || csystem_keep_file_rights() == 0)) return child;
    failure = errno;
    step = 2;
    kill(child, SIGKILL);
  }
  if (child != -1) {
    while (waitpid(child, NULL, 0) == -1 && errno == EINTR) continue;
    if (*listener != -1) close(*listener);
    if (*process != -1) close(*process);
    *stage = stages[step];
  }
  errno = failure;
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
