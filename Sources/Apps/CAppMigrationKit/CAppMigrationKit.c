#define _GNU_SOURCE
#include "CAppMigrationKit.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// The part in Swift.
void appmigrationkit_process_ends(void);

// The variable with Foundation's directory for preferences. Foundation reads it once, when it is
// loaded.
#define VARIABLE "XDG_CONFIG_HOME"

static pid_t process;
static int is_test;
// The entry in the environment of a test's process, and the path in it, which is empty in other
// processes.
static char entry[PATH_MAX] = VARIABLE "=";
static char *const preferences = entry + sizeof VARIABLE;
// The variable that the entry briefly replaces in the environment.
static char **lent;
static char *lender;

int appmigrationkit_is_test(void) { return is_test; }

const char *appmigrationkit_test_preferences(void) { return *preferences ? preferences : NULL; }

// Looks for a class of XCTest's, and for the function by which tools start Testing.
static int find_test(void) {
  return dlsym(RTLD_DEFAULT, "$s6XCTest0A4CaseCMn") || dlsym(RTLD_DEFAULT, "swt_abiv0_getEntryPoint");
}

static int begins(const char *text, const char *beginning) { return !strncmp(text, beginning, strlen(beginning)); }

// Makes a directory's name that other processes cannot guess. A file with this name therefore
// belongs to this process.
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

// Runs before any library begins, including Foundation. The environment cannot grow yet: the C
// library would forget a new variable now. The entry therefore replaces another variable for a
// while: a variable that no library reads when it begins, or HOME if there is no other.
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
    // A program that peer starts has its own home.
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

// The loader uses only an executable's entry. In a dynamic library, the kit does not move a test's
// preferences.
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = before_libraries;

static void end(void) {
  // A fork has the locks in their former state, but not the threads that would release them.
  if (getpid() == process) appmigrationkit_process_ends();
}

// Runs before main, so its handler runs after nearly all others: the preferences that other parts
// of the program set at its end are written as well.
__attribute__((constructor)) static void begin(void) {
  process = getpid();
  is_test = find_test();
  if (lent) *lent = lender;
  if (*preferences) setenv(VARIABLE, preferences, 1);
  atexit(end);
}
