#define _GNU_SOURCE

#include "CMounts.h"

#include "CView.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_file(const char *path, const char *text, size_t size) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file == -1) return -1;
  ssize_t count = write(file, text, size);
  close(file);
  return count == (ssize_t)size ? 0 : -1;
}

// Maps one number to itself in a new user namespace; without formatted output, which is unsafe
// between fork and exec.
static int map_number(const char *path, unsigned number) {
  char digits[10];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  char line[32];
  size_t size = 0;
  for (int time = 0; time < 2; time++) {
    for (int index = count; index > 0; index--) line[size++] = digits[index - 1];
    line[size++] = ' ';
  }
  line[size++] = '1';
  return write_file(path, line, size);
}

// The numbers of a user namespace are in files that the process owns only while its memory is not
// kept secret.
static int map_user(unsigned user, unsigned group) {
  if (write_file("/proc/self/setgroups", "deny", 4) == -1) return -1;
  if (map_number("/proc/self/gid_map", group) == -1) return -1;
  return map_number("/proc/self/uid_map", user);
}

int csystem_leave_mounts(void) {
  if (syscall(SYS_unshare, CLONE_NEWNS) == 0) return 0;
  // A process without the permission has it in a user namespace of its own.
  unsigned user = geteuid(), group = getegid();
  if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) == -1) return -1;
  int is_readable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
  if (is_readable == 0) prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  int result = map_user(user, group);
  if (is_readable == 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return result;
}

// Creates the directories of a path that lie behind its first `from` bytes and before its last
// slash.
static int make_parents(const char *path, size_t from) {
  char beginning[PATH_MAX];
  for (const char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
    size_t length = (size_t)(slash - path);
    if (length >= sizeof beginning) {
      errno = ENAMETOOLONG;
      return -1;
    }
    memcpy(beginning, path, length);
    beginning[length] = 0;
    if (mkdir(beginning, 0700) == -1 && errno != EEXIST) return -1;
  }
  return 0;
}

// Creates an item on which a tree can be mounted: a directory, or a file.
static int make_place(const char *path, size_t from, int tree) {
  struct stat status;
  if (fstat(tree, &status) == -1 || make_parents(path, from) == -1) return -1;
  if (S_ISDIR(status.st_mode)) return mkdir(path, 0700) == -1 && errno != EEXIST ? -1 : 0;
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return file == -1 ? -1 : close(file);
}

// Hides a directory by mounting an empty one on it.
static int cover(const char *directory) {
  return mount("peer", directory, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=64k");
}

// Data written to a directory that does not exist outside would be lost silently.
static int close_for_writing(const char *directory) {
  struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
  return (int)syscall(SYS_mount_setattr, AT_FDCWD, directory, 0, &read_only, sizeof read_only);
}

static int show(const struct csystem_view *view, int *trees) {
  for (size_t index = 0; index < view->shown_count; index++) {
    trees[index] = (int)syscall(
        SYS_open_tree, AT_FDCWD, view->shown[index], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (trees[index] == -1) return -1;
  }
  if (cover(view->directory) == -1) return -1;
  for (size_t index = 0; index < view->shown_count; index++) {
    const char *path = view->shown[index];
    if (make_place(path, strlen(view->directory) + 1, trees[index]) == -1) return -1;
    if (syscall(SYS_move_mount, trees[index], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == -1) return -1;
    close(trees[index]);
  }
  return close_for_writing(view->directory);
}

static int hide(const char *directory) {
  if (cover(directory) == 0) return close_for_writing(directory);
  // A hidden directory inside the narrowed directory is hidden by the view already.
  return errno == ENOENT ? 0 : -1;
}

// A directory that was entered before leads past all later mounts.
static void enter_again(void) {
  char path[PATH_MAX];
  if (!getcwd(path, sizeof path) || path[0] != '/' || chdir(path) == -1) {
    if (chdir("/") == -1) _exit(127);
  }
}

int csystem_narrow(const struct csystem_view *view) {
  int *trees = malloc((view->shown_count + 1) * sizeof *trees);
  if (!trees) return -1;
  int result = csystem_leave_mounts();
  // Later mounts outside are visible here too.
  if (result == 0) result = mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL);
  if (result == 0) result = show(view, trees);
  free(trees);
  if (result == 0 && view->hidden) result = hide(view->hidden);
  if (result == 0) enter_again();
  return result;
}

int csystem_try_to_narrow(const struct csystem_view *view) {
  pid_t child = fork();
  if (child == -1) return errno;
  if (child == 0) _exit(csystem_narrow(view) == 0 ? 0 : errno);
  int status;
  while (waitpid(child, &status, 0) == -1) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}
