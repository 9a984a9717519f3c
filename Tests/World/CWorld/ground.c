#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file >= 0) (void)!write(file, text, strlen(text));
  close(file);
}

void world_ground(void) {
  uid_t user = geteuid();
  gid_t group = getegid();
  if (unshare(user == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) {
    perror("error: the world needs a mount namespace of its own");
    exit(3);
  }
  char map[64];
  if (user != 0) {
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", map);
  }
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("world", "/dev/shm", "tmpfs", 0, "mode=700") != 0) {
    perror("error: the world has no file system of its own");
    exit(3);
  }
  static const char *const folders[] = {"old", "new", "old-home", "new-home", "other-home"};
  for (int i = 0; i < 5; i++) {
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/%s", folders[i]);
    if (mkdir(path, 0700) != 0) abort();
  }
}

void world_settle(char **arguments) {
  own_random();
  // A descriptor would shift the numbers of all others.
  close_range(3, ~0U, 0);
  if ((personality(0xFFFFFFFF) & ADDR_NO_RANDOMIZE) && getenv("SWIFT_DETERMINISTIC_HASHING")) return;
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1);
  if (personality(ADDR_NO_RANDOMIZE) == -1) return;
  execv("/proc/self/exe", arguments);
}

int world_fork(int processor) {
  pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The baton goes from one thread to the next one sooner on the same processor.
  cpu_set_t all, own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return 0;
  processor %= CPU_COUNT(&all);
  for (size_t i = 0; i < CPU_SETSIZE; i++) {
    if (CPU_ISSET(i, &all) && processor-- == 0) CPU_SET(i, &own);
  }
  sched_setaffinity(0, sizeof own, &own);
  return 0;
}
