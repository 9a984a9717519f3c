#define _GNU_SOURCE

#include "CAttributes.h"

#include "CExtensionCalls.h"
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Makes a call with an empty path, which the parent can answer only if it can read this memory.
static void ask(int report, pid_t parent) {
  struct csystem_calls filter;
  // This process ends with its parent: otherwise it would wait for an answer, and keep locks.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent) _exit(1);
  // The parent can read this memory as it reads a program's, even if its own memory is secret.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  csystem_write_calls(&filter, csystem_calls_ask);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) _exit(1);
  int listener = csystem_filter_calls(&filter);
  if (listener == -1 || csystem_send_packet(report, "", 1, listener, 1) == -1) _exit(1);
  _exit(fchmodat(AT_FDCWD, "", 0600, 0) == -1 && errno == ENOENT ? 0 : 1);
}

static int answers(int report) {
  int listener;
  char byte;
  if (csystem_receive_packet(report, &byte, 1, &listener, 1) != 1 || listener == -1) return 0;
  // A process that was killed makes no call.
  struct pollfd question = {.fd = listener, .events = POLLIN};
  int result = poll(&question, 1, 10000) == 1 ? csystem_answer(listener, NULL, 0) : -1;
  close(listener);
  return result == 0;
}

int csystem_can_answer(void) {
  int here = csystem_open_beneath(AT_FDCWD, ".", csystem_open_path | O_CLOEXEC), report[2], status = 1;
  if (here == -1) return 0;
  close(here);
  if (csystem_packet_pair(report) == -1) return 0;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t parent = getpid(), child = fork();
  if (child == 0) ask(report[1], parent);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report[1]);
  int is_answered = child != -1 && answers(report[0]);
  close(report[0]);
  if (child == -1) return 0;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) == -1 && errno == EINTR) continue;
  return is_answered && ended == child && status == 0;
}
