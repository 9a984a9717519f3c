#define _GNU_SOURCE

#include "CDetach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT_DESCRIPTOR = 3 };

// The runtime reacts to a crash by starting a program that reads this process's memory; a process
// with secrets must not allow that.
static void forget_handlers(void) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int number = 1; number < NSIG; number++) {
    if (number != SIGPIPE) sigaction(number, &usual, NULL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

// Keeps only one of the first process's descriptors, and none of its other state.
static int settle(int descriptor, const char *name) {
  forget_handlers();
  int kept = fcntl(descriptor, F_DUPFD, KEPT_DESCRIPTOR + 1);
  int nothing = open("/dev/null", O_RDWR);
  if (kept == -1 || nothing == -1) return -1;
  for (int standard = 0; standard < KEPT_DESCRIPTOR; standard++) {
    if (dup2(nothing, standard) == -1) return -1;
  }
  if (dup2(kept, KEPT_DESCRIPTOR) == -1 || fcntl(KEPT_DESCRIPTOR, F_SETFD, FD_CLOEXEC) == -1) return -1;
  if (syscall(SYS_close_range, KEPT_DESCRIPTOR + 1, ~0U, 0) == -1) {
    for (int other = KEPT_DESCRIPTOR + 1; other < 65536; other++) close(other);
  }
  umask(077);
  prctl(PR_SET_NAME, name);
  return chdir("/");
}

// Runs the process in between: when it ends, its child no longer has a parent in this program.
static void part(int descriptor, const char *name) {
  if (setsid() == -1) _exit(errno);
  pid_t child = fork();
  if (child == -1) _exit(errno);
  if (child > 0) _exit(0);
  if (settle(descriptor, name) == -1) _exit(1);
}

int csystem_detach(int descriptor, const char *name) {
  pid_t between = fork();
  if (between == -1) return -1;
  if (between == 0) {
    part(descriptor, name);
    return KEPT_DESCRIPTOR;
  }
  int status = 0;
  while (waitpid(between, &status, 0) == -1) {
    // If the end of child processes is ignored, there is no exit status to read.
    if (errno == ECHILD) return 0;
    if (errno != EINTR) return -1;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
  return -1;
}
