#define _GNU_SOURCE

#include "CFilter.h"

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

// Calls about the process itself, its memory and threads, and the files that it has or may open.
static const short allowed[] = {
    // Bytes of open files.
    __NR_read, __NR_write, __NR_pread64, __NR_pwrite64, __NR_readv, __NR_writev, __NR_preadv, __NR_pwritev,
    __NR_preadv2, __NR_pwritev2, __NR_lseek, __NR_sendfile, __NR_copy_file_range, __NR_splice, __NR_tee, __NR_vmsplice,
    __NR_readahead, __NR_fadvise64, __NR_fallocate, __NR_ftruncate, __NR_fsync, __NR_fdatasync, __NR_sync,
    __NR_syncfs, __NR_sync_file_range, call_cachestat,
    // Descriptors.
    __NR_close, call_close_range, __NR_pipe2, __NR_eventfd2, __NR_signalfd4,
    __NR_timerfd_create, __NR_timerfd_settime, __NR_timerfd_gettime, __NR_epoll_create1, __NR_epoll_ctl,
    __NR_epoll_pwait, call_epoll_pwait2, __NR_ppoll, __NR_pselect6,
    // Names of files.
    __NR_faccessat, call_faccessat2, __NR_newfstatat, __NR_fstat, __NR_statx, __NR_statfs,
    __NR_fstatfs, __NR_readlinkat, __NR_getdents64, __NR_mkdirat, __NR_mknodat, __NR_linkat, __NR_symlinkat,
    __NR_unlinkat, __NR_renameat2, __NR_chdir, __NR_fchdir, __NR_getcwd, __NR_umask,
    // Extended attributes, to be read.
    __NR_getxattr, __NR_lgetxattr, __NR_fgetxattr, __NR_listxattr, __NR_llistxattr, __NR_flistxattr, call_getxattrat,
    call_listxattrat, call_file_getattr,
    // The channel.
    __NR_sendto, __NR_recvfrom, __NR_sendmsg, __NR_recvmsg, __NR_sendmmsg, __NR_recvmmsg, __NR_shutdown,
    __NR_getsockopt, __NR_setsockopt, __NR_getsockname, __NR_getpeername,
    // Memory.
    __NR_brk, __NR_munmap, __NR_mremap, __NR_mprotect, __NR_madvise, __NR_msync, __NR_mincore, __NR_mlock,
    __NR_mlock2, __NR_munlock, __NR_mlockall, __NR_munlockall, __NR_remap_file_pages, __NR_mbind, __NR_get_mempolicy,
    __NR_set_mempolicy, __NR_pkey_mprotect, __NR_pkey_alloc, __NR_pkey_free, call_map_shadow_stack, call_mseal,
    // Threads and their locks.
    __NR_futex, call_futex_waitv, call_futex_wake, call_futex_wait, call_futex_requeue, __NR_set_robust_list,
    __NR_set_tid_address, __NR_gettid, __NR_membarrier, __NR_sched_yield, __NR_restart_syscall,
    // Clocks and timers.
    __NR_gettimeofday, __NR_clock_gettime, __NR_clock_getres, __NR_nanosleep, __NR_clock_nanosleep, __NR_getitimer,
    __NR_setitimer, __NR_timer_create, __NR_timer_settime, __NR_timer_gettime, __NR_timer_getoverrun,
    __NR_timer_delete, __NR_times,
    // Its own signals.
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigpending, __NR_rt_sigtimedwait, __NR_rt_sigsuspend,
    __NR_rt_sigreturn, __NR_sigaltstack,
    // The process: its end, its program, its groups. It has no child processes to wait for.
    __NR_exit, __NR_exit_group, __NR_execve, __NR_execveat, __NR_wait4, __NR_waitid, __NR_getpid, __NR_getppid,
    __NR_getpgid, __NR_setpgid, __NR_getsid, __NR_setsid, __NR_getrlimit, __NR_setrlimit, __NR_getrusage,
    // Its users: even root has no right left to become another user.
    __NR_getuid, __NR_geteuid, __NR_getgid, __NR_getegid, __NR_getresuid, __NR_getresgid, __NR_getgroups, __NR_setuid,
    __NR_setgid, __NR_setreuid, __NR_setregid, __NR_setresuid, __NR_setresgid, __NR_setfsuid, __NR_setfsgid,
    __NR_capget, __NR_capset,
    // Public facts: scheduling, the machine.
    __NR_getpriority, __NR_ioprio_get, __NR_sched_getscheduler, __NR_sched_getparam, __NR_sched_getattr,
    __NR_sched_getaffinity, __NR_sched_get_priority_max, __NR_sched_get_priority_min, __NR_sched_rr_get_interval,
    __NR_getcpu, __NR_uname, __NR_sysinfo, __NR_getrandom,
    // It may confine itself further.
    __NR_seccomp, call_landlock_create_ruleset, call_landlock_add_rule, call_landlock_restrict_self,
#ifdef __x86_64__
    __NR_stat, __NR_lstat, __NR_access, __NR_readlink, __NR_getdents, __NR_mkdir, __NR_rmdir, __NR_mknod,
    __NR_link, __NR_symlink, __NR_unlink, __NR_rename, __NR_pipe, __NR_eventfd, __NR_signalfd, __NR_epoll_create,
    __NR_epoll_wait, __NR_poll, __NR_select, __NR_pause, __NR_alarm, __NR_time, __NR_getpgrp,
    __NR_creat, __NR_arch_prctl,
#endif
    __NR_renameat, __NR_rseq,
};

// Calls that change modes, owners, times and attributes.
static const short asked[] = {
    __NR_fchmod, __NR_fchmodat, call_fchmodat2, __NR_fchown, __NR_fchownat, __NR_utimensat, __NR_setxattr,
    __NR_lsetxattr, __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr,
#ifdef __x86_64__
    __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes,
#endif
};

// Refused calls that programs do without.
static const short missing[] = {
    // Their parameters are in memory, where a filter cannot read them.
    call_clone3, call_io_uring_setup, call_io_uring_enter, call_io_uring_register,
    // Memory that no limit of a process counts.
    __NR_memfd_create,
    // Their objects are few, and all processes of the machine, or of the user, share them.
    __NR_io_setup, __NR_io_submit, __NR_io_getevents, __NR_io_cancel, __NR_io_destroy, __NR_io_pgetevents,
    __NR_inotify_init1, __NR_inotify_rm_watch,
    // Newer forms of the calls that the listener answers.
    call_setxattrat, call_removexattrat, call_file_setattr,
#ifdef __x86_64__
    __NR_futimesat, __NR_inotify_init,
#endif
};

// Refused with EACCES; every other call that is named nowhere is refused with EPERM.
static const short without_access[] = {
    __NR_socket, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4,
    // A datagram socket of a pair can reach any other socket by its path.
    __NR_socketpair,
    // Keys, shared memory, queues: they have no place in the file system to which a rule could
    // apply.
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_shmget, __NR_shmat, __NR_shmctl, __NR_shmdt, __NR_semget,
    __NR_semop, __NR_semtimedop, __NR_semctl, __NR_msgget, __NR_msgsnd, __NR_msgrcv, __NR_msgctl, __NR_mq_open,
    __NR_mq_unlink, __NR_mq_timedsend, __NR_mq_timedreceive, __NR_mq_notify, __NR_mq_getsetattr,
    // Watches reveal the names of files that may not be read.
    __NR_inotify_add_watch, __NR_fanotify_init, __NR_fanotify_mark,
};

// The ioctl commands of files, pipes and sockets that only ask, or concern only a descriptor or a
// file that was opened for writing. Others change attributes, or have signals sent to other
// processes.
static const uint32_t commands[] = {
    FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCOUTQ, FICLONE, FICLONERANGE, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR,
    FS_IOC_FIEMAP, FIGETBSZ,
};

#define PR_NAME_OF_MEMORY 0x53564d41
#define PR_AUXILIARY_VECTOR 0x41555856
// The prctl options that concern this process alone, without PR_SET_PDEATHSIG: it must die with its
// parent.
static const uint32_t options[] = {
    PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_GET_KEEPCAPS, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP,
    PR_SET_SECCOMP, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_SECUREBITS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
    PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE,
    PR_CAP_AMBIENT, PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL, PR_NAME_OF_MEMORY, PR_AUXILIARY_VECTOR,
    // 64-bit ARM: vectors, pointer authentication and tags. Memory that may not become executable.
    50, 51, 54, 55, 56, 60, 61, 63, 64, 65, 66,
};

// The scheduling policies that share the processors with other processes; real time does not.
static const uint32_t policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE};

static const struct csystem_call_rule rules[] = {
    // The lock: all holders of the descriptor share it, and each could release it for all. A copy
    // of the descriptor would have another number.
    RULE(__NR_flock, 0, not_value, LOCK_DESCRIPTOR, EPERM),
    RULE(__NR_dup, 0, not_value, LOCK_DESCRIPTOR, EPERM),
    RULE(__NR_dup3, 0, not_value, LOCK_DESCRIPTOR, EPERM),
#ifdef __x86_64__
    RULE(__NR_dup2, 0, not_value, LOCK_DESCRIPTOR, EPERM),
#endif
    RULE(__NR_fcntl, 0, not_value, LOCK_DESCRIPTOR, EPERM),
    // Signals that are sent when a descriptor becomes readable. Leases hold up other processes.
    RULE(__NR_fcntl, 1, not_value, F_SETOWN, EPERM),
    RULE(__NR_fcntl, 1, not_value, 15 /* F_SETOWN_EX */, EPERM),
    RULE(__NR_fcntl, 1, not_value, 1024 /* F_SETLEASE */, EPERM),
    RULE(__NR_fcntl, 1, not_value, 1026 /* F_NOTIFY */, EPERM),
    ONE_OF(__NR_ioctl, 1, ~0U, commands, ENOTTY),
    ONE_OF(__NR_prctl, 0, ~0U, options, EINVAL),
    // Before version 3, Landlock lets a file be truncated that is opened for reading.
    RULE(__NR_openat, 2, truncates_only_to_write, 0, EACCES),
#ifdef __x86_64__
    RULE(__NR_open, 1, truncates_only_to_write, 0, EACCES),
#endif
    // Shared memory without a file: no limit of the process counts it.
    RULE(__NR_mmap, 3, not_all_bits_of, MAP_SHARED | MAP_ANONYMOUS, EACCES),
    // Threads, but no processes.
    RULE(__NR_clone, 0, any_bit_of, 0x10000 /* CLONE_THREAD */, EPERM),
    RULE(__NR_kill, 0, itself, 0, EPERM),
    RULE(__NR_tgkill, 0, itself, 0, EPERM),
    RULE(__NR_rt_sigqueueinfo, 0, itself, 0, EPERM),
    RULE(__NR_rt_tgsigqueueinfo, 0, itself, 0, EPERM),
    RULE(__NR_prlimit64, 0, itself, 0, EPERM),
    // Scheduling: a thread of its own has another number, which a filter does not know; only the
    // calling thread can be named, as 0.
    RULE(__NR_sched_setparam, 0, itself, 0, EPERM),
    RULE(__NR_sched_setscheduler, 0, itself, 0, EPERM),
    ONE_OF(__NR_sched_setscheduler, 1, ~(uint32_t)SCHED_RESET_ON_FORK, policies, EPERM),
    RULE(__NR_sched_setaffinity, 0, itself, 0, EPERM),
    RULE(__NR_setpriority, 0, value, PRIO_PROCESS, EPERM),
    RULE(__NR_setpriority, 1, itself, 0, EPERM),
    RULE(__NR_ioprio_set, 0, value, 1 /* IOPRIO_WHO_PROCESS */, EPERM),
    RULE(__NR_ioprio_set, 1, itself, 0, EPERM),
    // Only the call that asks for the personality.
    RULE(__NR_personality, 0, value, 0xffffffff, EPERM),
};

void csystem_write_calls(struct csystem_calls *filter, int ways) {
  const uint32_t refused = SECCOMP_RET_ERRNO | EPERM, absent = SECCOMP_RET_ERRNO | ENOSYS;
  *filter = (struct csystem_calls){.length = 0};
  if (ways != 0) {
    filter->flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // A signal must not interrupt a call while the listener makes it: it would be made twice.
    filter->optional_flags = SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  }
  uint32_t verdicts[LAST_CONSIDERED + 1];
  for (int call = 0; call <= LAST_CONSIDERED; call++) verdicts[call] = refused;
  const uint32_t change = ways & csystem_calls_ask ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
  SET_VERDICTS(verdicts, allowed, SECCOMP_RET_ALLOW);
  SET_VERDICTS(verdicts, asked, change);
  SET_VERDICTS(verdicts, missing, absent);
  SET_VERDICTS(verdicts, without_access, SECCOMP_RET_ERRNO | EACCES);
  // The flags of openat2 are in memory, where a filter cannot read them.
  const int asks_truncating = ways & csystem_calls_ask_truncating;
  verdicts[__NR_truncate] = asks_truncating ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
  verdicts[call_openat2] = asks_truncating ? absent : SECCOMP_RET_ALLOW;
  csystem_write_filter(filter, rules, sizeof rules / sizeof rules[0], verdicts, refused);
}
