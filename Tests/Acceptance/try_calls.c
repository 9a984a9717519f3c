// An extension that tries calls that its host must prevent, and says of each whether it was done.
//
// Its Documents have the file `target`, whose lines are a path outside, the number of a shared
// memory segment of its user, and the number of a process of its user.
//
// "CALL: refused (ERROR)" or "CALL: DONE"; for calls that must be possible "CALL: done" or "CALL:
// REFUSED (ERROR)".

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

// A call that must be refused, and one that must be possible.
#define NO(name, call) (errno = 0, tell(name, (call) != -1, "DONE", "refused"))
#define YES(name, call) (errno = 0, tell(name, (call) != -1, "done", "REFUSED"))

static void tell(const char *name, int is_done, const char *done, const char *refused) {
  if (is_done) printf("%s: %s\n", name, done);
  else printf("%s: %s (%s)\n", name, refused, strerrorname_np(errno));
}

static long call(long number, long one, long two, long three, long four, long five) {
  return syscall(number, one, two, three, four, five);
}

static void try_processes(pid_t other) {
  struct sched_param usual = {0};
  cpu_set_t processors;
  sched_getaffinity(0, sizeof processors, &processors);
  struct rlimit limit;
  NO("setpriority of a process", setpriority(PRIO_PROCESS, (id_t)other, 19));
  NO("setpriority of the user", setpriority(PRIO_USER, 0, 19));
  YES("setpriority of itself", setpriority(PRIO_PROCESS, 0, 1));
  NO("ioprio_set of a process", call(SYS_ioprio_set, 1, other, 3 << 13, 0, 0));
  YES("ioprio_set of itself", call(SYS_ioprio_set, 1, 0, 3 << 13, 0, 0));
  NO("sched_setscheduler", sched_setscheduler(other, SCHED_BATCH, &usual));
  NO("sched_setscheduler in real time", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}));
  NO("sched_setattr in real time", call(SYS_sched_setattr, 0, (long)(unsigned[14]){56, SCHED_RR, 0, 0, 0, 1}, 0, 0, 0));
  YES("sched_setscheduler of itself", sched_setscheduler(0, SCHED_BATCH, &usual));
  NO("setrlimit of real time", setrlimit(RLIMIT_RTPRIO, &(struct rlimit){1, 1}));
  NO("setpriority to the front", setpriority(PRIO_PROCESS, 0, -5));
  NO("sched_setparam", sched_setparam(other, &usual));
  NO("sched_setattr", call(SYS_sched_setattr, other, (long)(unsigned[14]){56, 3}, 0, 0, 0));
  NO("sched_setaffinity", sched_setaffinity(other, sizeof processors, &processors));
  YES("sched_setaffinity of itself", sched_setaffinity(0, sizeof processors, &processors));
  NO("prlimit of a process", prlimit(other, RLIMIT_NOFILE, NULL, &limit));
  NO("kill", kill(other, 0));
  NO("rt_sigqueueinfo", call(SYS_rt_sigqueueinfo, other, 0, (long)&(siginfo_t){.si_code = SI_QUEUE}, 0, 0));
  NO("ptrace", ptrace(PTRACE_SEIZE, other, NULL, NULL));
  NO("process_vm_readv", call(SYS_process_vm_readv, other, 0, 0, 0, 0));
  NO("pidfd_open", call(SYS_pidfd_open, other, 0, 0, 0, 0));
  NO("process_madvise", call(440, 1, 0, 0, MADV_COLD, 0));
  NO("kcmp", call(SYS_kcmp, getpid(), other, 0, 0, 0));
  NO("move_pages", call(SYS_move_pages, other, 0, 0, 0, 0));
  NO("get_robust_list", call(SYS_get_robust_list, other, (long)&(void *){NULL}, (long)&(size_t){0}, 0, 0));
  NO("core scheduling", prctl(62, 0, other, 0, 0));
  NO("outlive the host", prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
  NO("fork", fork());
}

static void try_objects(int segment) {
  NO("shmctl that removes", shmctl(segment, IPC_RMID, NULL));
  NO("shmctl that looks", shmctl(segment, IPC_STAT, &(struct shmid_ds){0}));
  NO("shmat", (long)shmat(segment, NULL, SHM_RDONLY));
  NO("semctl", call(SYS_semctl, 0, 0, 0, 0, 0));
  NO("msgctl", call(SYS_msgctl, 0, 0, 0, 0, 0));
  NO("mq_unlink", call(SYS_mq_unlink, (long)"peer", 0, 0, 0, 0));
  NO("keyctl", call(SYS_keyctl, 0, -3, 0, 0, 0));
  NO("io_uring_setup", call(425, 4, (long)&(char[256]){0}, 0, 0, 0));
  NO("io_setup", call(SYS_io_setup, 65536, (long)&(long){0}, 0, 0, 0));
  NO("inotify_init1", inotify_init1(0));
  NO("userfaultfd", call(SYS_userfaultfd, 1, 0, 0, 0, 0));
  NO("perf_event_open", call(SYS_perf_event_open, (long)&(char[128]){0}, 0, -1, -1, 0));
  NO("bpf", call(SYS_bpf, 0, 0, 0, 0, 0));
  NO("memfd_create", memfd_create("peer", 0));
  NO("mmap of shared memory", (long)mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  NO("memfd_secret", call(447, 0, 0, 0, 0, 0));
  NO("personality", personality(ADDR_NO_RANDOMIZE));
  YES("personality, asked", personality(0xffffffff));
  NO("unshare", unshare(CLONE_NEWUSER));
  NO("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
  NO("chroot", chroot("."));
  NO("a call to come", call(500, 0, 0, 0, 0, 0));
}

static void try_descriptors(pid_t other) {
  int in_home = open("Documents", O_RDONLY | O_DIRECTORY), flags = 0;
  NO("socket", socket(AF_INET, SOCK_STREAM, 0));
  NO("FIOSETOWN of the channel", ioctl(3, 0x8901, &other));
  NO("F_SETOWN of the channel", fcntl(3, F_SETOWN, other));
  NO("FS_IOC_SETFLAGS", ioctl(in_home, FS_IOC_SETFLAGS, &flags));
  NO("a lease", fcntl(open("Documents/target", O_RDONLY), F_SETLEASE, F_RDLCK));
  NO("name_to_handle_at", call(SYS_name_to_handle_at, in_home, (long)"", (long)&(int[40]){128}, (long)&(int){0}, 0x1000));
  NO("write to the lock", pwrite(4, "", 1, 0));
  NO("unlock", call(SYS_flock, 4, 8, 0, 0, 0));
  YES("FIONREAD of the channel", ioctl(3, FIONREAD, &flags));
}

// Attributes of files that are not its own to change.
static void try_files(const char *outside, const char *where) {
  char name[64];
  const struct timespec times[2] = {{1000, 0}, {1000, 0}};
  const struct timeval older[2] = {{1000, 0}, {1000, 0}};
  int file = open(outside, O_RDONLY), path = open(outside, O_PATH);
  char of_path[64];
  snprintf(of_path, sizeof of_path, "/proc/self/fd/%d", path);
#define NAMED(call) (snprintf(name, sizeof name, "%s %s", call, where), name)
  NO(NAMED("chmod"), chmod(outside, 0777));
  NO(NAMED("chmod by a link in /proc"), chmod(of_path, 0777));
  NO(NAMED("fchmodat2"), call(452, AT_FDCWD, (long)outside, 0777, AT_SYMLINK_NOFOLLOW, 0));
  NO(NAMED("chown"), chown(outside, getuid(), getgid()));
  NO(NAMED("fchownat of a descriptor"), fchownat(path, "", getuid(), getgid(), AT_EMPTY_PATH));
  NO(NAMED("utimensat"), utimensat(AT_FDCWD, outside, times, 0));
  NO(NAMED("setxattr"), setxattr(outside, "user.peer", "x", 1, 0));
  NO(NAMED("removexattr"), removexattr(outside, "user.there"));
  NO(NAMED("truncate"), truncate(outside, 0));
  NO(NAMED("open to truncate"), open(outside, O_RDONLY | O_TRUNC));
#ifdef __x86_64__
  NO(NAMED("chmod, the older call"), call(SYS_chmod, (long)outside, 0777, 0, 0, 0));
  NO(NAMED("utimes, the older call"), call(SYS_utimes, (long)outside, (long)older, 0, 0, 0));
#endif
  if (file == -1) return;
  NO(NAMED("fchmod"), fchmod(file, 0777));
  NO(NAMED("fchown"), fchown(file, getuid(), getgid()));
  NO(NAMED("futimens"), futimens(file, times));
  NO(NAMED("fsetxattr"), fsetxattr(file, "user.peer", "x", 1, 0));
}

// Changes that an author may make in the scratch directory.
static void try_scratch(const char *scratch, const char *outside) {
  if (chdir(scratch) == -1) return;
  struct stat status = {0};
  const struct timespec times[2] = {{0, UTIME_OMIT}, {1000, 5000}};
  int file = open("made", O_RDWR | O_CREAT, 0600), directory = open(".", O_RDONLY | O_DIRECTORY);
  symlink(outside, "out");
  symlink("made", "in");
  YES("chmod in scratch", chmod("made", 0640));
  YES("fchmod in scratch", fchmod(file, 0604));
  YES("chmod in scratch through a link", chmod("in", 0601));
  YES("fchmodat in scratch", fchmodat(directory, "made", 0711, 0));
  YES("fchmodat without links in scratch", fchmodat(directory, "made", 0712, AT_SYMLINK_NOFOLLOW));
  YES("chown in scratch", lchown("out", getuid(), getgid()));
  YES("futimens in scratch", futimens(file, times));
  YES("utimensat of a link in scratch", utimensat(directory, "out", times, AT_SYMLINK_NOFOLLOW));
  YES("utimensat of now in scratch", utimensat(AT_FDCWD, "in", NULL, 0));
  YES("futimens again in scratch", futimens(file, times));
  int has_attributes = fsetxattr(file, "user.peer", "value", 5, 0) != -1 || errno != EOPNOTSUPP;
  if (has_attributes) {
    char value[8] = {0};
    YES("fsetxattr in scratch", fsetxattr(file, "user.peer", "value", 5, 0));
    YES("setxattr in scratch", setxattr("made", "user.other", "", 0, XATTR_CREATE));
    NO("setxattr again in scratch", setxattr("made", "user.other", "", 0, XATTR_CREATE));
    YES("removexattr in scratch", removexattr("made", "user.other"));
    if (getxattr("made", "user.peer", value, sizeof value) != 5 || strcmp(value, "value")) printf("setxattr: LOST\n");
  }
  int gone = open("gone", O_RDWR | O_CREAT, 0600);
  unlink("gone");
  YES("fchmod of a file without a name", fchmod(gone, 0600));
  stat("made", &status);
  printf("made: %o %lld.%09ld\n", status.st_mode & 07777, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  // Rights of root that are not about files.
  const unsigned capability[5] = {0x02000001, 1, 1, 0, 0};
  NO("setxattr of a capability in scratch", setxattr("made", "security.capability", capability, sizeof capability, 0));
  NO("setxattr of a trusted attribute in scratch", setxattr("made", "trusted.peer", "x", 1, 0));
  YES("truncate in scratch", truncate("made", 100));
  NO("chmod outside through a link", chmod("out", 0777));
  NO("chmod outside through a directory", chmod("../../made-by-extension", 0777));
  NO("chmod of the parent", chmod("..", 0777));
  NO("chmod of a device", chmod("/dev/null", 0666));
  NO("fchmod of a device", fchmod(open("/dev/null", O_WRONLY), 0666));
  NO("fchmod of the standard input", fchmod(0, 0666));
  NO("fchmod of the lock", fchmod(4, 0666));
  NO("chmod of the lock by a link in /proc", chmod("/proc/self/fd/4", 0666));
  NO("fchmod of the channel", fchmod(3, 0777));
  NO("fchmod of a pipe", fchmod(1, 0777));
  NO("chmod of nothing", chmod("nothing", 0777));
  NO("chmod of a wild pointer", call(SYS_fchmodat, AT_FDCWD, 8, 0777, 0, 0));
  NO("fchmod of no file", fchmod(900, 0777));
}

// Exchanges a name between a file and a link that leads outside, while another thread changes what
// the name leads to.
static void *exchange(void *outside) {
  for (int count = 0; count < 3000; count++) {
    symlink(outside, "next");
    rename("next", "exchanged");
    close(open("next", O_CREAT | O_WRONLY, 0600));
    rename("next", "exchanged");
  }
  return NULL;
}

static void try_race(char *outside) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, exchange, outside) != 0) return;
  while (pthread_tryjoin_np(thread, NULL) != 0) chmod("exchanged", 0777);
  struct stat status;
  printf("race: %s\n", stat(outside, &status) == 0 && (status.st_mode & 0777) == 0777 ? "DONE" : "refused");
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  char outside[1024] = "";
  int segment = -1, other = -1;
  FILE *target = fopen("Documents/target", "r");
  if (!target || fscanf(target, "%1023s %d %d", outside, &segment, &other) != 3) return 1;
  try_processes(other);
  try_objects(segment);
  try_descriptors(other);
  try_files(outside, "outside");
  try_files("Documents/target", "of the data");
  try_scratch(getenv("TMPDIR"), outside);
  try_race(outside);
  printf("end\n");
}
