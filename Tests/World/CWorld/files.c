#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

// MARK: Statuses

/// What the world knows of a file; the numbers are in the order in which files are first seen.
static struct inode *inode_of(ino_t real) {
  uint64_t place = (uint64_t)real * 0x9E3779B97F4A7C15 >> 32;
  for (int i = 0; i < most_inodes; i++) {
    struct inode *one = &world->inodes[(place + (uint64_t)i) % most_inodes];
    if (one->real == real && one->number != 0) return one;
    if (one->number != 0) continue;
    if (++world->inode_count > most_inodes / 2) abort();
    *one = (struct inode){.real = real, .number = world->inode_count};
    return one;
  }
  abort();
}

void world_replace(uint64_t file, uint64_t new_file) {
  struct inode *new = inode_of(new_file);
  struct inode old = *inode_of(file);
  new->number = old.number;
  new->changed = old.changed;
  new->modified = old.modified;
}

void world_touch(uint64_t file) {
  struct inode *one = inode_of(file);
  one->changed = one->modified = world->now += 1;
}

static void touch(ino_t real, bool has_content) {
  struct inode *one = inode_of(real);
  one->changed = world->now += 1;
  if (has_content) one->modified = one->changed;
  if (has_content) one->is_dirty = true;
}

static void touch_file(int file, bool has_content) {
  struct stat status;
  if (self >= 0 && __real_fstat(file, &status) == 0) touch(status.st_ino, has_content);
}

static void touch_name(int folder, const char *name) {
  struct stat status;
  if (self >= 0 && __real_fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) touch(status.st_ino, false);
}

/// The device of every file.
enum { own_device = 77 };

/// Files that the program dates itself are older than the machine.
enum { dated_by_kernel = 1500000000 };

void world_tick(uint64_t nanoseconds) { world->tick = nanoseconds; }

static void date(int64_t *second, uint64_t moment, int64_t *nanosecond) {
  if (world->tick > 0) moment -= moment % world->tick;
  *second = first_second + (int64_t)(moment / 1000000000);
  *nanosecond = (int64_t)(moment % 1000000000);
}

static void translate(struct stat *status) {
  if (self < 0) return;
  struct inode *one = inode_of(status->st_ino);
  status->st_ino = one->number;
  status->st_dev = own_device;
  date(&status->st_ctim.tv_sec, one->changed, &status->st_ctim.tv_nsec);
  status->st_atim = status->st_ctim;
  if (status->st_mtim.tv_sec > dated_by_kernel) date(&status->st_mtim.tv_sec, one->modified, &status->st_mtim.tv_nsec);
}

REAL(int, fstat, int file, struct stat *status) {
  int code = __real_fstat(file, status);
  if (code == 0) translate(status);
  return code;
}

REAL(int, fstatat, int folder, const char *name, struct stat *status, int flags) {
  int code = __real_fstatat(folder, name, status, flags);
  if (code == 0) translate(status);
  return code;
}

REAL(int, statx, int folder, const char *name, int flags, unsigned mask, struct statx *status) {
  int code = __real_statx(folder, name, flags, mask, status);
  if (code != 0 || self < 0) return code;
  struct inode *one = inode_of(status->stx_ino);
  int64_t second, nanosecond;
  status->stx_ino = one->number;
  status->stx_dev_major = 0;
  status->stx_dev_minor = own_device;
  date(&second, one->changed, &nanosecond);
  status->stx_ctime.tv_sec = second;
  status->stx_ctime.tv_nsec = (unsigned)nanosecond;
  status->stx_atime = status->stx_ctime;
  if (status->stx_mtime.tv_sec <= dated_by_kernel) return 0;
  date(&second, one->modified, &nanosecond);
  status->stx_mtime.tv_sec = second;
  status->stx_mtime.tv_nsec = (unsigned)nanosecond;
  return 0;
}

REAL(int, fstatfs, int file, struct statfs *status) {
  int code = __real_fstatfs(file, status);
  if (self >= 0) memset(&status->f_fsid, 7, sizeof status->f_fsid);
  return code;
}

/// The size of a disk that is small; a twentieth of it is its reserve.
enum { small_disk = 20 << 20 };

static uint64_t used_bytes(void) {
  struct statvfs status;
  if (statvfs("/dev/shm", &status) != 0) abort();
  return (status.f_blocks - status.f_bfree) * status.f_frsize;
}

void world_narrow(uint64_t room) { world->end_of_disk = used_bytes() + small_disk / 20 + room; }

void world_shut(uint64_t folder) { world->shut = folder; }

void world_refuse(const char *folder) {
  world->is_refusing = folder;
  snprintf(world->refused, sizeof world->refused, "%s", folder ? folder : "");
}

REAL(int, fstatvfs, int file, struct statvfs *status) {
  int code = __real_fstatvfs(file, status);
  if (self < 0) return code;
  status->f_bsize = status->f_frsize = 4096;
  status->f_blocks = status->f_bfree = status->f_bavail = 1 << 20;
  status->f_files = status->f_ffree = status->f_favail = 1 << 20;
  if (world->end_of_disk > 0) {
    uint64_t used = used_bytes();
    status->f_blocks = small_disk / 4096;
    status->f_bfree = status->f_bavail = used < world->end_of_disk ? (world->end_of_disk - used) / 4096 : 0;
  }
  return code;
}

// MARK: Opening and closing

int __real_close(int);

/// The kernel's list of locks, with the world's own numbers of processes and files.
static int open_locks(void) {
  FILE *all = fopen("/proc/locks", "re");
  int file = (int)syscall(SYS_openat, AT_FDCWD, "/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (!all || file < 0) abort();
  char line[128];
  while (fgets(line, sizeof line, all)) {
    int id, process = 1;
    unsigned long real;
    if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %*x:%*x:%lu", &id, &real) != 2) continue;
    while (process < world->process_count && world->processes[process].id != id) process++;
    if (process < world->process_count)
      dprintf(file, "1: FLOCK ADVISORY WRITE %d 00:%02x:%u 0 EOF\n", 1000 + process, own_device, inode_of(real)->number);
  }
  fclose(all);
  lseek(file, 0, SEEK_SET);
  return file;
}

/// A descriptor that the kernel has opened.
static int opened(int file, const char *name) {
  if (file < 0) return file;
  struct stat status;
  if (world->shut != 0 && __real_fstat(file, &status) == 0 && status.st_ino == world->shut) {
    note("cannot open %s", name);
    __real_close(file);
    return fail(EIO);
  }
  if (file < most_files) own()->told[file] = own()->told_of_all[file] = world->losses;
  return file;
}

/// Whether nothing can be written there.
static bool is_refused(int file) {
  if (!world->is_refusing) return false;
  char link[32], path[sizeof world->refused];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path);
  size_t folder = strlen(world->refused);
  bool is_inside = length >= (ssize_t)folder && memcmp(path, world->refused, folder) == 0;
  if (is_inside) note("cannot write %d", file);
  return is_inside;
}

static int open_at(int folder, const char *name, int flags, mode_t mode) {
  if (self < 0) return (int)syscall(SYS_openat, folder, name, flags, mode);
  if (strcmp(name, "locks") == 0) return open_locks();
  bool may_change = flags & (O_CREAT | O_TRUNC);
  if (may_change) point();
  struct stat status;
  bool is_new = (flags & O_CREAT) && __real_fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0;
  if (is_new && is_refused(folder)) return fail(ENOSPC);
  int file = opened((int)syscall(SYS_openat, folder, name, flags, mode), name);
  if (file < 0) return file;
  if (is_new && __real_fstat(folder, &status) == 0) touch(status.st_ino, true);
  if (is_new || (flags & O_TRUNC)) touch_file(file, true);
  if (is_new) log_entry(folder, name, false);
  else if (flags & O_TRUNC) log_file(world_size, file, 0, 0, NULL, 0);
  if (may_change) note("opens %s with %x: %d", name, flags, file);
  return file;
}

#define OPENING(name, parameters, folder) \
  int name parameters { \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments); \
    return open_at(folder, path, flags, mode); \
  }

// The library that calls these for Swift is not the product's own object.
OPENING(open, (const char *path, int flags, ...), AT_FDCWD)
OPENING(openat, (int at, const char *path, int flags, ...), at)

/// What waits for a lock of any process.
static const char locks;

void release_locks(void) { wake(&locks, -1, most_strands); }

REAL(int, close, int file) {
  if (self >= 0) {
    close_object(file_of(file));
    unwatch(file);
  }
  int code = __real_close(file);
  if (self >= 0) release_locks();
  return code;
}

REAL(int, flock, int file, int operation) {
  if (self < 0) return __real_flock(file, operation);
  point();
  if (operation & LOCK_UN) release_locks();
  while (true) {
    int code = __real_flock(file, operation | (operation & LOCK_UN ? 0 : LOCK_NB));
    if (code == 0 || errno != EWOULDBLOCK || (operation & LOCK_NB)) return code;
    wait_as(waiting, &locks, NEVER);
  }
}

// MARK: Syncs

void world_lose_writes(void) {
  world->losses++;
  for (int i = 0; i < most_inodes; i++) {
    struct inode *one = &world->inodes[i];
    if (!one->is_dirty || draw() % 4 == 0) continue;
    one->lost = world->losses;
    log_loss(one->real);
  }
}

/// Each open file is told once of a loss of its own, and once of any of its file system.
static bool tells_loss(int file, bool of_all) {
  struct stat status;
  if (self < 0 || file < 0 || file >= most_files || __real_fstat(file, &status) != 0) return false;
  unsigned *told = of_all ? &own()->told_of_all[file] : &own()->told[file];
  bool is_new = *told < (of_all ? world->losses : inode_of(status.st_ino)->lost);
  *told = world->losses;
  return is_new;
}

/// What is written now can be lost no more.
static void clean(int file, bool all) {
  struct stat status;
  if (!all && __real_fstat(file, &status) == 0) inode_of(status.st_ino)->is_dirty = false;
  for (int i = 0; all && i < most_inodes; i++) world->inodes[i].is_dirty = false;
}

void world_lose_at_sync(bool when_not_alone) {
  world->loses = true;
  world->loses_at_two = when_not_alone;
}

/// A sync of a file system takes its time.
static void sync_slowly(enum world_change kind) {
  if (kind != world_all_synced || world->sync == 0) return;
  own()->syncing++;
  wait_as(waiting, NULL, world->now + draw() % world->sync);
  if (world->loses && (!world->loses_at_two || own()->syncing > 1)) {
    world->loses = false;
    world_lose_writes();
    world->has_alarm = true;
  }
  own()->syncing--;
}

#define SYNCING(name, kind) \
  REAL(int, name, int file) { \
    if (self < 0) return __real_##name(file); \
    point(); \
    sync_slowly(kind); \
    bool is_lost = tells_loss(file, kind == world_all_synced); \
    note(#name " %d: %d", file, is_lost); \
    clean(file, kind == world_all_synced); \
    if (!is_lost) log_file(kind, file, 0, 0, NULL, 0); \
    point(); \
    if (is_lost) errno = EIO; \
    return is_lost ? -1 : 0; \
  }

SYNCING(fsync, world_synced)
SYNCING(fdatasync, world_synced)
SYNCING(syncfs, world_all_synced)

// MARK: Changes

/// A call that changes an open file. `noted` tells the log.
#define CHANGING(result, name, parameters, arguments, has_content, noted) \
  result __real_##name parameters; \
  result __wrap_##name parameters { \
    if (self < 0) return __real_##name arguments; \
    point(); \
    if ((has_content) && is_refused(file)) return fail(ENOSPC); \
    result code = __real_##name arguments; \
    int error = errno; \
    if (code >= 0) touch_file(file, has_content); \
    if (code >= 0) noted; \
    note(#name " %d: %ld", file, (long)code); \
    errno = error; \
    return code; \
  }

static void log_times(int file, const struct timespec *times) {
  log_file(world_time, file, times[1].tv_sec, times[1].tv_nsec, NULL, 0);
}

static void log_place(int file, int mode, off_t from, off_t count) {
  if (mode & FALLOC_FL_PUNCH_HOLE) log_file(world_hole, file, from, count, NULL, 0);
}

CHANGING(
  int, ftruncate, (int file, off_t size), (file, size), true, log_file(world_size, file, size, 0, NULL, 0))
CHANGING(
  ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t place), (file, bytes, count, place), true,
  log_file(world_content, file, place, 0, bytes, (size_t)code))
CHANGING(
  ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count), true,
  log_file(world_content, file, lseek(file, 0, SEEK_CUR) - code, 0, bytes, (size_t)code))
CHANGING(
  int, fallocate, (int file, int mode, off_t from, off_t count), (file, mode, from, count), true,
  log_place(file, mode, from, count))
/// A copy is a read and a write, which the log has.
REAL(ssize_t, copy_file_range, int from, off_t *offset, int to, off_t *place, size_t count, unsigned flags) {
  if (self < 0) return __real_copy_file_range(from, offset, to, place, count, flags);
  char bytes[1 << 16];
  ssize_t got = pread(from, bytes, count < sizeof bytes ? count : sizeof bytes, *offset);
  if (got <= 0) return got;
  ssize_t done = __wrap_pwrite(to, bytes, (size_t)got, *place);
  if (done > 0) *offset += done;
  if (done > 0) *place += done;
  return done;
}

CHANGING(int, fchmod, (int file, mode_t mode), (file, mode), false, log_file(world_mode, file, mode, 0, NULL, 0))
CHANGING(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), false, (void)0)
CHANGING(
  int, futimens, (int file, const struct timespec times[2]), (file, times), false, log_times(file, times))
CHANGING(int, fremovexattr, (int file, const char *name), (file, name), false, (void)0)
CHANGING(
  int, fsetxattr, (int file, const char *name, const void *value, size_t size, int flags),
  (file, name, value, size, flags), false, (void)0)

/// A call that changes a name in a folder.
#define NAMING(name, parameters, arguments, changes_folder, noted) \
  int __real_##name parameters; \
  int __wrap_##name parameters { \
    if (self < 0) return __real_##name arguments; \
    point(); \
    touch_name(at, path); \
    int code = __real_##name arguments; \
    int error = errno; \
    if (code == 0) touch_name(at, path); \
    if (code == 0 && changes_folder) touch_file(at, true); \
    if (code == 0) noted; \
    note(#name " %s: %d", path, code); \
    errno = error; \
    return code; \
  }

static void log_folder(int at, const char *path) {
  log_entry(at, path, false);
  if (world->folders_to_alarm > 0 && --world->folders_to_alarm == 0) world->has_alarm = true;
}

NAMING(mkdirat, (int at, const char *path, mode_t mode), (at, path, mode), true, log_folder(at, path))
NAMING(unlinkat, (int at, const char *path, int flags), (at, path, flags), true, log_entry(at, path, false))
NAMING(symlinkat, (const char *target, int at, const char *path), (target, at, path), true, log_entry(at, path, false))
NAMING(
  linkat, (int from, const char *old, int at, const char *path, int flags), (from, old, at, path, flags), true,
  log_entry(at, path, false))
NAMING(
  fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags), false,
  log_item(world_mode, at, path, mode, 0))
NAMING(
  fchownat, (int at, const char *path, uid_t user, gid_t group, int flags), (at, path, user, group, flags), false,
  (void)0)
NAMING(
  utimensat, (int at, const char *path, const struct timespec times[2], int flags), (at, path, times, flags), false,
  log_item(world_time, at, path, times[1].tv_sec, times[1].tv_nsec))

REAL(int, renameat2, int from, const char *old, int to, const char *new, unsigned flags) {
  if (self < 0) return __real_renameat2(from, old, to, new, flags);
  point();
  touch_name(to, new);
  int code = __real_renameat2(from, old, to, new, flags), error = errno;
  if (code == 0) {
    touch_name(to, new);
    touch_name(from, old);
    touch_file(from, true);
    touch_file(to, true);
    log_entry(to, new, true);
    log_entry(from, old, false);
  }
  note("renameat2 %s to %s: %d", old, new, code);
  errno = error;
  return code;
}

// MARK: The kernel's other calls

REAL(ssize_t, getrandom, void *bytes, size_t count, unsigned flags) {
  if (self < 0) return __real_getrandom(bytes, count, flags);
  for (size_t i = 0; i < count; i++) ((unsigned char *)bytes)[i] = (unsigned char)draw();
  return (ssize_t)count;
}

/// The runtime gets its random numbers from here, too.
long syscall(long number, ...) {
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
  va_end(arguments);
  if (number == SYS_getrandom && self >= 0) return __wrap_getrandom((void *)a[0], (size_t)a[1], 0);
  if (number == SYS_fchmodat2 && self >= 0) {
    point();
    note("fchmodat2 %s", (const char *)a[1]);
    touch_name((int)a[0], (const char *)a[1]);
    log_item(world_mode, (int)a[0], (const char *)a[1], a[2], 0);
  }
  long result;
  register long r10 __asm__("r10") = a[3];
  register long r8 __asm__("r8") = a[4];
  register long r9 __asm__("r9") = a[5];
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return -1;
  }
  if (number == SYS_openat2 && self >= 0) return opened((int)result, (const char *)a[1]);
  return result;
}
