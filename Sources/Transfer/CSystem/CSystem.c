#define _GNU_SOURCE

#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

const int csystem_open_path = O_PATH;
const int csystem_rename_no_replace = RENAME_NOREPLACE;
const int csystem_rename_exchange = RENAME_EXCHANGE;

int csystem_open_beneath(int directory, const char *path, int flags) {
  // The kernel refuses unknown bits in how.flags, so only the flag's own 32 bits may reach it.
  struct open_how how = {
      .flags = (unsigned)flags,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int csystem_rename(int from_directory, const char *from, int to_directory, const char *to, unsigned flags) {
  return renameat2(from_directory, from, to_directory, to, flags);
}

int csystem_set_mode(int directory, const char *name, mode_t mode) {
  int result = (int)syscall(SYS_fchmodat2, directory, name, mode, AT_SYMLINK_NOFOLLOW);
  // Kernels before 6.6, and sandboxes that do not know the call: here glibc uses /proc.
  if (result == -1 && (errno == ENOSYS || errno == EPERM)) {
    result = fchmodat(directory, name, mode, AT_SYMLINK_NOFOLLOW);
  }
  return result;
}

int csystem_set_modified(int directory, const char *name, int64_t seconds, long nanoseconds) {
  // The access time is set too: many FUSE file systems set either both times or, silently, none.
  struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
  return name ? utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW) : futimens(directory, times);
}

ssize_t csystem_list_attributes(int descriptor, char *names, size_t size) {
  return flistxattr(descriptor, names, size);
}

ssize_t csystem_list_attributes_at(int directory, const char *name, char *names, size_t size) {
  // Before Linux 6.13 no call takes a directory.
  char path[288];
  int length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, name);
  if (length < 0 || (size_t)length >= sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return llistxattr(path, names, size);
}

ssize_t csystem_get_attribute(int descriptor, const char *name, void *value, size_t size) {
  return fgetxattr(descriptor, name, value, size);
}

int csystem_set_attribute(int descriptor, const char *name, const void *value, size_t size) {
  return fsetxattr(descriptor, name, value, size, 0);
}

int csystem_remove_attribute(int descriptor, const char *name) { return fremovexattr(descriptor, name); }

int csystem_sync_file_system(int descriptor) { return syncfs(descriptor); }

int csystem_let_go(int descriptor) {
  int nothing = open("/dev/null", O_PATH | O_CLOEXEC);
  if (nothing == -1) return -1;
  int result = dup3(nothing, descriptor, O_CLOEXEC);
  close(nothing);
  return result == -1 ? -1 : 0;
}

ssize_t csystem_read_entries(int directory, void *buffer, size_t size) {
  return syscall(SYS_getdents64, directory, buffer, size);
}

off_t csystem_seek_data(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_DATA); }

off_t csystem_seek_hole(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_HOLE); }

int csystem_punch_hole(int descriptor, off_t offset, off_t length) {
  return fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

ssize_t csystem_copy_range(int from, off_t *offset, int to, off_t *place, size_t length) {
  return copy_file_range(from, offset, to, place, length, 0);
}

int csystem_file_system(int descriptor, uint64_t *identifier, uint64_t *type) {
  struct statfs status;
  if (fstatfs(descriptor, &status) == -1) return -1;
  memcpy(identifier, &status.f_fsid, sizeof *identifier);
  // The kernel's numbers have 32 bits, and some are negative in a signed field of this size.
  *type = (uint32_t)status.f_type;
  return 0;
}

int csystem_file_system_uuid(int descriptor, uint64_t *high, uint64_t *low) {
  struct {
    unsigned char length;
    unsigned char bytes[16];
  } found;
  // FS_IOC_GETFSUUID, which older headers lack.
  if (ioctl(descriptor, _IOC(_IOC_READ, 0x15, 0, sizeof found), &found) == -1) return -1;
  if (found.length != sizeof found.bytes) return -1;
  *high = *low = 0;
  for (int index = 0; index < 8; index++) {
    *high = *high << 8 | found.bytes[index];
    *low = *low << 8 | found.bytes[8 + index];
  }
  return 0;
}

static struct timespec time_of(struct statx_timestamp stamp) {
  return (struct timespec){.tv_sec = stamp.tv_sec, .tv_nsec = stamp.tv_nsec};
}

// The status by statx with `flags`. Without statx, the status by fstatat with the flags `how`.
static int status_by_statx(
    int directory, const char *name, int flags, int how, struct stat *status, uint64_t *attributes, uint64_t *mount) {
  struct statx found;
  *attributes = 0;
  *mount = 0;
  if (statx(directory, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, &found) == -1) {
    // Kernels before 4.11 do not have the call, and some sandboxes forbid it.
    if (errno == ENOSYS || errno == EPERM || errno == EINVAL) return fstatat(directory, name, status, how);
    return -1;
  }
  *attributes = found.stx_attributes & found.stx_attributes_mask;
  // Kernels before 5.8 do not report the mount.
  if (found.stx_mask & STATX_MNT_ID) *mount = found.stx_mnt_id;
  memset(status, 0, sizeof *status);
  status->st_dev = makedev(found.stx_dev_major, found.stx_dev_minor);
  status->st_ino = found.stx_ino;
  status->st_mode = found.stx_mode;
  status->st_nlink = found.stx_nlink;
  status->st_uid = found.stx_uid;
  status->st_gid = found.stx_gid;
  status->st_size = (off_t)found.stx_size;
  status->st_blksize = (blksize_t)found.stx_blksize;
  status->st_blocks = (blkcnt_t)found.stx_blocks;
  status->st_atim = time_of(found.stx_atime);
  status->st_mtim = time_of(found.stx_mtime);
  status->st_ctim = time_of(found.stx_ctime);
  return 0;
}

int csystem_fresh_status(int descriptor, struct stat *status) {
  uint64_t flags, mount;
  return status_by_statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, AT_EMPTY_PATH, status, &flags, &mount);
}

int csystem_flagged_status(int directory, const char *name, struct stat *status, uint64_t *flags) {
  uint64_t mount;
  return status_by_statx(
      directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW, status, flags, &mount);
}

int csystem_mounted_status(int directory, const char *name, struct stat *status, uint64_t *mount) {
  uint64_t flags;
  int how = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
  return status_by_statx(directory, name, how | AT_NO_AUTOMOUNT, how, status, &flags, mount);
}

int csystem_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

int csystem_socket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int csystem_datagram_socket(int family) { return socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int csystem_accept(int socket, struct sockaddr *address, uint32_t *length) {
  return accept4(socket, address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int csystem_packet_pair(int sockets[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets); }

// Space for the control message that carries one descriptor.
union descriptor_message {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr alignment;
};

ssize_t csystem_send_packet(int socket, const void *bytes, size_t size, int descriptor, int wait) {
  struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  union descriptor_message control = {{0}};
  if (descriptor != -1) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
}

// Whether an empty result means the end of the connection, not an empty packet.
static int is_over(int socket, int descriptor) {
  struct pollfd end = {.fd = socket, .events = POLLRDHUP};
  return descriptor == -1 && poll(&end, 1, 0) == 1;
}

ssize_t csystem_receive_packet(int socket, void *buffer, size_t size, int *descriptor, int wait) {
  struct iovec part = {.iov_base = buffer, .iov_len = size};
  union descriptor_message control;
  // Without padding for a next message: a second descriptor would fit into the padding.
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_LEN(sizeof(int))};
  *descriptor = -1;
  ssize_t count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
  if (count == -1) return -1;
  // The kernel closes the descriptors that do not fit, so at most one arrives.
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
      memcpy(descriptor, CMSG_DATA(header), sizeof(int));
    }
  }
  if (message.msg_flags & MSG_TRUNC) {
    if (*descriptor != -1) close(*descriptor);
    errno = EMSGSIZE;
    return -1;
  }
  if (count == 0 && !is_over(socket, *descriptor)) {
    if (*descriptor != -1) close(*descriptor);
    errno = EBADMSG;
    return -1;
  }
  return count;
}

int csystem_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int csystem_clear_event(int descriptor) {
  eventfd_t value;
  return eventfd_read(descriptor, &value);
}

int csystem_signal_event(int descriptor) { return eventfd_write(descriptor, 1); }

int csystem_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int csystem_set_timer(int timer, int64_t nanoseconds) {
  struct itimerspec when = {
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int csystem_signals(const int *signals, size_t count) {
  sigset_t set;
  sigemptyset(&set);
  for (size_t index = 0; index < count; index++) {
    sigaddset(&set, signals[index]);
  }
  int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int csystem_next_signal(int descriptor) {
  struct signalfd_siginfo information;
  return read(descriptor, &information, sizeof information) == -1 ? -1 : (int)information.ssi_signo;
}

ssize_t csystem_random(void *buffer, size_t size) { return getrandom(buffer, size, 0); }

int csystem_name_thread(const char *name) { return prctl(PR_SET_NAME, name); }

static _Thread_local int is_loop;

void csystem_enter_loop(void) { is_loop = 1; }

void csystem_leave_loop(void) { is_loop = 0; }

int csystem_is_loop(void) { return is_loop; }

int csystem_keep_memory_secret(void) {
  // The Swift runtime reacts to a crash by starting a program that prints registers and memory.
  static const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
  struct sigaction usual = {.sa_handler = SIG_DFL}, now;
  for (size_t index = 0; index < sizeof crashes / sizeof *crashes; index++) {
    // A signal that was ignored when the program started stays ignored.
    int number = crashes[index];
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaction(number, &usual, NULL);
  }
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void csystem_keep_little_memory(void) {
#ifdef __GLIBC__
  // New threads would get heaps of their own, up to eight for each processor, and each of these
  // would grow until it has served the largest transfer.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

void csystem_return_free_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int csystem_buffer_lines(void) { return setvbuf(stdout, NULL, _IOLBF, 0); }

int csystem_terminal_width(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == -1 ? -1 : size.ws_col;
}

int csystem_waiting_bytes(int descriptor) {
  int count;
  return ioctl(descriptor, SIOCOUTQ, &count) == -1 ? -1 : count;
}

unsigned csystem_unanswered_milliseconds(int descriptor) {
  struct tcp_info info = {0};
  socklen_t length = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == -1) return 0;
  return info.tcpi_retransmits || info.tcpi_probes ? info.tcpi_last_ack_recv : 0;
}

static char **arguments;

// The C library calls it in front of main, with main's arguments.
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
  if (count > 0) arguments = words;
}

const char *csystem_next_argument(int number) { return arguments && arguments[number] ? arguments[number + 1] : NULL; }

const char *csystem_error_text(int error, char *buffer, size_t size) { return strerror_r(error, buffer, size); }
