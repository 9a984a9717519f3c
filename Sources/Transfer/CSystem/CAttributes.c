#define _GNU_SOURCE

#include "CAttributes.h"

#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

// Every function in this file returns a negative error number if it fails.

// The caller's memory

static int read_memory(pid_t caller, uint64_t address, void *buffer, size_t size) {
  struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
  ssize_t count = process_vm_readv(caller, &here, 1, &there, 1, 0);
  if (count == (ssize_t)size) return 0;
  return count == -1 ? -errno : -EFAULT;
}

// Reads a text of less than `size` bytes. Parts end where pages end, since the next may be missing.
static int read_text(pid_t caller, uint64_t address, char *text, size_t size, int error_if_long) {
  const size_t page = 4096;
  for (size_t length = 0; length < size;) {
    size_t part = page - (address + length) % page;
    if (part > size - length) part = size - length;
    int result = read_memory(caller, address + length, text + length, part);
    if (result < 0) return result;
    if (memchr(text + length, 0, part)) return 0;
    length += part;
  }
  return -error_if_long;
}

// The item that a call names

static int open_beside(int directory, const char *path, int flags, uint64_t resolve) {
  struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = resolve};
  int file = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
  return file == -1 ? -errno : file;
}

// An open file of the caller, or its current directory.
static int open_descriptor(pid_t caller, int number) {
  char path[64];
  if (number == AT_FDCWD) snprintf(path, sizeof path, "/proc/%d/cwd", caller);
  else if (number < 0) return -EBADF;
  else snprintf(path, sizeof path, "/proc/%d/fd/%d", caller, number);
  int file = open(path, O_PATH | O_CLOEXEC);
  if (file == -1) return errno == ENOENT ? -EBADF : -errno;
  return file;
}

// The number in a path that names an open file of the caller, as the C library makes it; -1 for
// other paths.
static int number_in(const char *path) {
  static const char *const beginnings[] = {"/proc/self/fd/", "/proc/thread-self/fd/"};
  for (size_t index = 0; index < sizeof beginnings / sizeof beginnings[0]; index++) {
    size_t length = strlen(beginnings[index]);
    if (strncmp(path, beginnings[index], length) != 0) continue;
    size_t digits = strspn(path + length, "0123456789");
    if (digits > 0 && digits < 8 && path[length + digits] == 0) return atoi(path + length);
  }
  return -1;
}

// Opens the item that a call names, as O_PATH.
static int open_named(pid_t caller, int directory, uint64_t address, int flags) {
  char path[PATH_MAX];
  int result = read_text(caller, address, path, sizeof path, ENAMETOOLONG);
  if (result < 0) return result;
  if (path[0] == 0) return flags & AT_EMPTY_PATH ? open_descriptor(caller, directory) : -ENOENT;
  int is_followed = !(flags & AT_SYMLINK_NOFOLLOW), number = number_in(path);
  if (number >= 0 && is_followed) return open_descriptor(caller, number);
  int beside = path[0] == '/' ? AT_FDCWD : open_descriptor(caller, directory);
  if (beside < 0 && beside != AT_FDCWD) return beside;
  // Other links in /proc would lead to files of this process.
  int file = open_beside(beside, path, is_followed ? 0 : O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
  if (beside >= 0) close(beside);
  return file;
}

static int name_of(int file, char *name, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, name, size);
  if (length == -1) return -errno;
  if ((size_t)length >= size) return -ENAMETOOLONG;
  name[length] = 0;
  return 0;
}

static int is_same(const struct stat *one, int file) {
  struct stat other;
  return fstat(file, &other) == 0 && one->st_dev == other.st_dev && one->st_ino == other.st_ino;
}

// Opens the item with this name below a directory.
static int open_below(int directory, const char *name) {
  char root[PATH_MAX];
  int result = name_of(directory, root, sizeof root);
  if (result < 0) return result;
  size_t length = strlen(root);
  if (strncmp(name, root, length) != 0 || (name[length] != '/' && name[length] != 0)) return -EPERM;
  const char *rest = name[length] == 0 ? "." : name + length + 1;
  return open_beside(
      directory, rest, O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

// Opens a file again, below one of the directories; EPERM if it is in none of them.
static int admitted(int file, const int *directories, size_t count) {
  struct stat status;
  if (fstat(file, &status) == -1) return -errno;
  // If another process renames the item meanwhile, the next look finds its new name.
  for (int look = 0; look < 8; look++) {
    char name[PATH_MAX];
    int result = name_of(file, name, sizeof name);
    if (result < 0) return result;
    // No process can find a file without a name.
    const char *space = strrchr(name, ' ');
    if (S_ISREG(status.st_mode) && status.st_nlink == 0 && space && strcmp(space, " (deleted)") == 0) return dup(file);
    for (size_t index = 0; index < count; index++) {
      int found = open_below(directories[index], name);
      if (found < 0) continue;
      if (is_same(&status, found)) return found;
      close(found);
    }
  }
  return -EPERM;
}

// The change

// A call, with its arguments in one form for all calls of its kind.
struct change {
  enum { none, modes, owners, times, attribute, no_attribute, size } kind;
  // The item: an open file, if there is no path.
  int directory, flags, has_path;
  uint64_t path;
  uint64_t values[4];
  // The form of the times.
  enum { in_nanoseconds, in_microseconds, in_seconds } form;
};

static struct change of_path(int kind, int directory, uint64_t path, int flags) {
  return (struct change){.kind = kind, .directory = directory, .path = path, .has_path = 1, .flags = flags};
}

static struct change of_file(int kind, int file) { return (struct change){.kind = kind, .directory = file}; }

static struct change with(struct change change, uint64_t one, uint64_t two, uint64_t three, uint64_t four) {
  uint64_t values[] = {one, two, three, four};
  memcpy(change.values, values, sizeof values);
  return change;
}

#ifdef __x86_64__
static struct change given(int form, struct change change) {
  change.form = form;
  return change;
}
#endif

static struct change change_by(const struct seccomp_data *call) {
  const __u64 *a = call->args;
  const int link = AT_SYMLINK_NOFOLLOW;
  switch (call->nr) {
  case SYS_fchmod: return with(of_file(modes, (int)a[0]), a[1], 0, 0, 0);
  case SYS_fchmodat: return with(of_path(modes, (int)a[0], a[1], 0), a[2], 0, 0, 0);
  case SYS_fchmodat2: return with(of_path(modes, (int)a[0], a[1], (int)a[3]), a[2], 0, 0, 0);
  case SYS_fchown: return with(of_file(owners, (int)a[0]), a[1], a[2], 0, 0);
  case SYS_fchownat: return with(of_path(owners, (int)a[0], a[1], (int)a[4]), a[2], a[3], 0, 0);
  case SYS_utimensat:
    return with(a[1] ? of_path(times, (int)a[0], a[1], (int)a[3]) : of_file(times, (int)a[0]), a[2], 0, 0, 0);
  case SYS_setxattr: return with(of_path(attribute, AT_FDCWD, a[0], 0), a[1], a[2], a[3], a[4]);
  case SYS_lsetxattr: return with(of_path(attribute, AT_FDCWD, a[0], link), a[1], a[2], a[3], a[4]);
  case SYS_fsetxattr: return with(of_file(attribute, (int)a[0]), a[1], a[2], a[3], a[4]);
  case SYS_removexattr: return with(of_path(no_attribute, AT_FDCWD, a[0], 0), a[1], 0, 0, 0);
  case SYS_lremovexattr: return with(of_path(no_attribute, AT_FDCWD, a[0], link), a[1], 0, 0, 0);
  case SYS_fremovexattr: return with(of_file(no_attribute, (int)a[0]), a[1], 0, 0, 0);
  case SYS_truncate: return with(of_path(size, AT_FDCWD, a[0], 0), a[1], 0, 0, 0);
#ifdef __x86_64__
  case SYS_chmod: return with(of_path(modes, AT_FDCWD, a[0], 0), a[1], 0, 0, 0);
  case SYS_chown: return with(of_path(owners, AT_FDCWD, a[0], 0), a[1], a[2], 0, 0);
  case SYS_lchown: return with(of_path(owners, AT_FDCWD, a[0], link), a[1], a[2], 0, 0);
  case SYS_utime: return given(in_seconds, with(of_path(times, AT_FDCWD, a[0], 0), a[1], 0, 0, 0));
  case SYS_utimes: return given(in_microseconds, with(of_path(times, AT_FDCWD, a[0], 0), a[1], 0, 0, 0));
#endif
  default: return (struct change){.kind = none};
  }
}

// Reads the access and the modification time.
static int read_times(pid_t caller, const struct change *change, struct timespec times[2]) {
  int result = 0;
  if (change->form == in_nanoseconds) {
    result = read_memory(caller, change->values[0], times, 2 * sizeof times[0]);
  } else if (change->form == in_microseconds) {
    struct timeval given[2];
    result = read_memory(caller, change->values[0], given, sizeof given);
    for (int index = 0; index < 2 && result == 0; index++) {
      if (given[index].tv_usec < 0 || given[index].tv_usec >= 1000000) return -EINVAL;
      times[index] = (struct timespec){given[index].tv_sec, given[index].tv_usec * 1000};
    }
  } else {
    struct utimbuf given;
    result = read_memory(caller, change->values[0], &given, sizeof given);
    times[0] = (struct timespec){.tv_sec = given.actime};
    times[1] = (struct timespec){.tv_sec = given.modtime};
  }
  return result;
}

static int change_attribute(pid_t caller, const struct change *change, const char *path) {
  char name[XATTR_NAME_MAX + 1];
  int result = read_text(caller, change->values[0], name, sizeof name, ERANGE);
  if (result < 0) return result;
  if (change->kind == no_attribute) return removexattr(path, name) == -1 ? -errno : 0;
  size_t length = change->values[2];
  if (length > XATTR_SIZE_MAX) return -E2BIG;
  char *value = malloc(length + 1);
  if (!value) return -ENOMEM;
  if (length > 0) result = read_memory(caller, change->values[1], value, length);
  if (result == 0 && setxattr(path, name, value, length, (int)change->values[3]) == -1) result = -errno;
  free(value);
  return result;
}

// Makes the change to an open item, which may be a symbolic link.
static int make(pid_t caller, const struct change *change, int file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const uint64_t *values = change->values;
  switch (change->kind) {
  case modes: return chmod(path, (mode_t)values[0]) == -1 ? -errno : 0;
  case owners: return fchownat(file, "", (uid_t)values[0], (gid_t)values[1], AT_EMPTY_PATH) == -1 ? -errno : 0;
  case size: return truncate(path, (off_t)values[0]) == -1 ? -errno : 0;
  case times: {
    struct timespec times[2];
    int result = values[0] ? read_times(caller, change, times) : 0;
    if (result < 0) return result;
    return utimensat(AT_FDCWD, path, values[0] ? times : NULL, 0) == -1 ? -errno : 0;
  }
  case attribute:
  case no_attribute: return change_attribute(caller, change, path);
  case none: break;
  }
  return -EPERM;
}

static int is_waiting(int listener, uint64_t question) {
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &question) == 0;
}

static int result_of(int listener, const struct seccomp_notif *question, const int *directories, size_t count) {
  struct change change = change_by(&question->data);
  pid_t caller = (pid_t)question->pid;
  if (change.kind == none) return -EPERM;
  if (change.flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) return -EINVAL;
  int file = change.has_path ? open_named(caller, change.directory, change.path, change.flags)
                             : open_descriptor(caller, change.directory);
  if (file < 0) return file;
  int item = admitted(file, directories, count);
  close(file);
  if (item < 0) return item;
  // While the caller waits, its number is no other process's.
  int result = is_waiting(listener, question->id) ? make(caller, &change, item) : -EINTR;
  close(item);
  return result;
}

int csystem_answer(int listener, const int *directories, size_t count) {
  // The kernel's structure may be larger than the structure of the headers.
  union {
    struct seccomp_notif question;
    char room[512];
  } received;
  memset(&received, 0, sizeof received);
  while (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received) == -1) {
    if (errno != EINTR) return -1;
  }
  union {
    struct seccomp_notif_resp answer;
    char room[512];
  } sent;
  memset(&sent, 0, sizeof sent);
  sent.answer.id = received.question.id;
  sent.answer.error = result_of(listener, &received.question, directories, count);
  return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &sent);
}
