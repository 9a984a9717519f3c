#define _GNU_SOURCE
#include "CAppMigrationKit.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// The part that is written in Swift.
void appmigrationkit_process_ends(void);

// Where Foundation looks for preferences. It does so once, when it is loaded.
#define VARIABLE "XDG_CONFIG_HOME"

static pid_t process;
static int is_test;
// What a test's process has in its environment, and the path in it, which is empty in other processes.
static char entry[PATH_MAX] = VARIABLE "=";
static char *const preferences = entry + sizeof VARIABLE;
// A variable that gave its place in the environment to that one for a moment.
static char **lent;
static char *lender;

int appmigrationkit_is_test(void) { return is_test; }

const char *appmigrationkit_test_preferences(void) { return *preferences ? preferences : NULL; }

// Looks for a class of XCTest's, and for the function by which tools start Testing.
static int find_test(void) {
  return dlsym(RTLD_DEFAULT, "$s6XCTest0A4CaseCMn") || dlsym(RTLD_DEFAULT, "swt_abiv0_getEntryPoint");
}

static int begins(const char *text, const char *beginning) { return !strncmp(text, beginning, strlen(beginning)); }

// Names a directory that cannot be guessed, so that what is at it, if anything, is this process's.
static int name_preferences(const char *temporary) {
  unsigned char chance[16];
  if (!temporary || *temporary != '/' || strlen(temporary) > PATH_MAX / 2) temporary = "/tmp";
  if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return 0;
  const size_t room = sizeof entry - sizeof VARIABLE;
  size_t length = (size_t)snprintf(preferences, room, "%s/peer-test-preferences-", temporary);
  for (size_t index = 0; index < sizeof chance; index++)
    length += (size_t)snprintf(preferences + length, room - length, "%02x", chance[index]);
  return 1;
}

// Runs before any library begins, Foundation among them. The environment cannot grow yet: the C library forgets what it would be
// told now. So another variable lends its place, one that no library looks for when it begins; HOME only where there is no other.
static void before_libraries(int count, char **arguments, char **environment) {
  (void)count;
  (void)arguments;
  if (!find_test()) return;
  static const char *const looked_for[] = {
      "USER=", "PATH=", "TMPDIR=", "TZ", "LANG", "LC_", "XDG_", "LD_", "MALLOC_", "GLIBC_", "SWIFT", "LIBDISPATCH", "ASAN_", "TSAN_"};
  const char *temporary = NULL;
  char **own = NULL, **other = NULL, **home = NULL;
  for (char **variable = environment; *variable; variable++) {
    if (begins(*variable, "TMPDIR=")) temporary = *variable + strlen("TMPDIR=");
    if (begins(*variable, VARIABLE "=")) own = variable;
    if (begins(*variable, "HOME=")) home = variable;
    // What peer starts has a home of its own.
    if (begins(*variable, "PEER_APP=")) return;
    int is_free = !begins(*variable, "HOME=");
    for (size_t index = 0; index < sizeof looked_for / sizeof *looked_for; index++)
      if (begins(*variable, looked_for[index])) is_free = 0;
    if (is_free) other = variable;
  }
  char **place = own ? own : other ? other : home;
  if (!place || !name_preferences(temporary)) return;
  if (!own) {
    lent = place;
    lender = *place;
  }
  *place = entry;
}

// Only an executable's entry is used; the kit in a library of its own leaves a test's preferences where they are.
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before_libraries;

static void end(void) {
  // A fork has the locks as they were, and not the threads that would let go of them.
  if (getpid() == process) appmigrationkit_process_ends();
}

// Runs before main, and so registers what is to run after nearly everything else: what other parts of the program set when it
// ends is kept as well.
__attribute__((constructor)) static void begin(void) {
  process = getpid();
  is_test = find_test();
  if (lent) *lent = lender;
  if (*preferences) setenv(VARIABLE, preferences, 1);
  atexit(end);
}
