"""The filters of an extension's and of a receiver's system calls on each architecture, without running
them in a kernel."""

import errno
import fcntl

import pytest

from call_filter import ALLOW, ARM, ASK, OWN, X86, verdict
from needs import arm_compiler, needs, x86_compiler
from outside import equal, require

EPERM, EACCES, ENOSYS, ENOTTY, EINVAL = errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTTY, errno.EINVAL

NEWEST = 469
"""The newest call that the filter has considered: file_setattr of Linux 6.17."""

OTHER = 12345
"""The number of another process."""

REFUSED = {
    EACCES: """socket socketpair connect bind listen accept accept4 add_key request_key keyctl shmget shmat shmctl shmdt
        semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify
        mq_getsetattr inotify_add_watch fanotify_init fanotify_mark""",
    ENOSYS: """clone3 memfd_create io_uring_setup io_uring_enter io_uring_register setxattrat removexattrat file_setattr
        futimesat io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy inotify_init inotify_init1
        inotify_rm_watch""",
    EPERM: """
        fork vfork sched_setattr ptrace kcmp process_vm_readv process_vm_writev process_madvise process_mrelease get_robust_list
        pidfd_open pidfd_getfd pidfd_send_signal tkill migrate_pages move_pages set_mempolicy_home_node
        bpf perf_event_open userfaultfd memfd_secret lookup_dcookie name_to_handle_at open_by_handle_at
        unshare setns chroot pivot_root mount umount2 open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick
        mount_setattr statmount listmount quotactl quotactl_fd swapon swapoff acct
        setgroups sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime
        reboot kexec_load kexec_file_load init_module finit_module delete_module create_module get_kernel_syms query_module
        syslog vhangup iopl ioperm modify_ldt get_thread_area set_thread_area uselib ustat sysfs _sysctl nfsservctl
        getpmsg putpmsg afs_syscall tuxcall security vserver epoll_ctl_old epoll_wait_old
        lsm_get_self_attr lsm_set_self_attr lsm_list_modules uretprobe uprobe""",
}
"""Calls that are refused with any arguments, by error. All others in the kernel's headers are
allowed."""

CHANGES = """fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr lsetxattr fsetxattr removexattr lremovexattr
    fremovexattr chmod chown lchown utime utimes"""

JUDGED = {
    ("flock", 4): EPERM, ("flock", 5): ALLOW,
    ("dup", 4): EPERM, ("dup2", 4): EPERM, ("dup3", 4): EPERM, ("dup", 3): ALLOW,
    ("fcntl", 4, fcntl.F_GETFL): EPERM, ("fcntl", 5, fcntl.F_GETFL): ALLOW, ("fcntl", 5, fcntl.F_DUPFD): ALLOW,
    ("fcntl", 5, fcntl.F_SETOWN): EPERM, ("fcntl", 5, 15): EPERM, ("fcntl", 5, fcntl.F_SETLEASE): EPERM,
    ("fcntl", 5, fcntl.F_NOTIFY): EPERM,
    # FIOSETOWN, SIOCSPGRP, TIOCSTI, FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY.
    **{("ioctl", 3, command): ENOTTY for command in (0x8901, 0x8902, 0x5412, 0x40086602, 0x401C5820, 0x40806685)},
    # FIONREAD, FIOCLEX, FICLONE, and the last with other upper halves, which the kernel ignores.
    **{("ioctl", 3, command): ALLOW for command in (0x541B, 0x5451, 0x40049409, 0x7_4004_9409)},
    # PR_SET_PDEATHSIG, PR_SET_MM, PR_SET_CHILD_SUBREAPER, PR_SCHED_CORE, PR_SET_PTRACER.
    **{("prctl", option): EINVAL for option in (1, 35, 36, 62, 0x59616D61)},
    # PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_VMA.
    **{("prctl", option): ALLOW for option in (15, 38, 0x53564D41)},
    ("openat", -100, 0, 0o1000): EACCES, ("openat", -100, 0, 0o1003): EACCES, ("openat", -100, 0, 0o1001): ALLOW,
    ("openat", -100, 0, 0o1002): ALLOW, ("openat", -100, 0, 0): ALLOW, ("openat", -100, 0, 0o2000003): ALLOW,
    ("open", 0, 0o1000): EACCES, ("open", 0, 0o1101): ALLOW,
    # Shared memory with a file, private memory without one, and shared memory without one.
    ("mmap", 0, 4096, 3, 0x01): ALLOW, ("mmap", 0, 4096, 3, 0x22): ALLOW, ("mmap", 0, 4096, 3, 0x21): EACCES,
    ("mmap", 0, 4096, 3, 0x4023): EACCES,
    ("clone", 0x3D0F00): ALLOW, ("clone", 17): EPERM, ("clone", 0x20000011): EPERM,
    **{(call, 0): ALLOW for call in ("kill", "prlimit64", "sched_setaffinity")},
    **{(call, number): result
       for call in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "sched_setparam",
                    "sched_setscheduler", "sched_setaffinity")
       for number, result in ((OWN, ALLOW), (OTHER, EPERM), (-1, EPERM), (1, EPERM))},
    # Usual, for batches, for idle times, and the first one with a flag; in real time, and with a deadline.
    **{("sched_setscheduler", 0, policy): ALLOW for policy in (0, 3, 5, 0x40000000)},
    **{("sched_setscheduler", 0, policy): EPERM for policy in (1, 2, 6, 0x40000001, 0x80000000)},
    ("setpriority", 0, 0): ALLOW, ("setpriority", 0, OWN): ALLOW, ("setpriority", 0, OTHER): EPERM,
    ("setpriority", 1, 0): EPERM, ("setpriority", 2, 0): EPERM,
    ("ioprio_set", 1, 0): ALLOW, ("ioprio_set", 1, OTHER): EPERM, ("ioprio_set", 2, 0): EPERM, ("ioprio_set", 3, 0): EPERM,
    ("personality", 0xFFFFFFFF): ALLOW, ("personality", 0): EPERM, ("personality", 0x0040000): EPERM,
}
"""Calls that are judged by their arguments."""


machines = pytest.mark.parametrize("machine", [
    pytest.param(X86, id="x86-64", marks=needs(x86_compiler)), pytest.param(ARM, id="64-bit ARM", marks=needs(arm_compiler))])


@machines
def test_each_call_has_its_verdict(work, machine):
    """the filter of system calls: every call in the kernel's headers has the verdict that is
    documented"""
    numbers, filters = machine.numbers(), machine.filters(work.path)
    require(len(numbers) > 300 and numbers["openat"] in (56, 257), f"the headers: {len(numbers)} calls")
    errors = {name: error for error, names in REFUSED.items() for name in names.split()}
    judged = {case[0] for case in JUDGED}

    def judge(ways, name, *arguments):
        return verdict(filters[ways], machine.audit, numbers[name], arguments)

    for ways in range(4):
        changed = ASK if ways & 1 else ALLOW
        special = dict.fromkeys(CHANGES.split(), changed)
        if ways & 2:
            special.update(truncate=ASK, openat2=ENOSYS)
        for name in set(numbers) - judged:
            expected = ENOSYS if numbers[name] > NEWEST else special.get(name, errors.get(name, ALLOW))
            equal(judge(ways, name), expected, f"{name} of {machine.name}, way {ways}")
        for case, expected in JUDGED.items():
            if case[0] in numbers:
                equal(judge(ways, *case), expected, f"{case} of {machine.name}, way {ways}")
        # Numbers to come, those of another interface, and another architecture.
        for number in (NEWEST + 1, 600, 0x40000000, 0x40000001, -1):
            equal(verdict(filters[ways], machine.audit, number), ENOSYS, f"call {number:#x}")
        equal(verdict(filters[ways], 0x40000003, 1), "killed", "a call of another architecture")
        require(len(filters[ways]) < 600, f"{len(filters[ways])} instructions")
    work.figure = f"{len(numbers)} calls, {len(filters[3])} instructions"


REFUSED_TO_RECEIVERS = {
    EACCES: """add_key request_key keyctl shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv
        msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr""",
    ENOSYS: "io_uring_setup io_uring_enter io_uring_register",
    EPERM: "ptrace process_vm_writev pidfd_getfd perf_event_open bpf userfaultfd",
}
"""Calls that are refused with any arguments, by error. All others are left to a receiver."""

JUDGED_FOR_RECEIVERS = {
    # IPv4, IPv6 and netlink; packets, Bluetooth, the kernel's ciphers, virtual machines.
    **{("socket", family): ALLOW for family in (2, 10, 16, 0x7_0000_0002)},
    **{("socket", family): EACCES for family in (0, 17, 31, 38, 40)},
    # Streams and sequences of packets, also with flags; datagrams.
    **{("socketpair", 1, kind): ALLOW for kind in (1, 5, 0o2000005)},
    **{("socketpair", 1, kind): EACCES for kind in (2, 3, 0o2000002, 0x22)},
    # TIOCSTI, TIOCLINUX, TIOCGWINSZ.
    ("ioctl", 0, 0x5412): EPERM, ("ioctl", 0, 0x541C): EPERM, ("ioctl", 0, 0x7_0000_5412): EPERM, ("ioctl", 0, 0x5413): ALLOW,
}
"""Calls that are judged by their arguments; the family of this machine's sockets apart."""


@machines
def test_each_call_of_a_receiver_has_its_verdict(work, machine):
    """the filter of a receiver's system calls: every call in the kernel's headers has the verdict
    that is documented"""
    numbers, filters = machine.numbers(), machine.filters(work.path)
    errors = {name: error for error, names in REFUSED_TO_RECEIVERS.items() for name in names.split()}
    for filter_number, local in ((4, EACCES), (5, ALLOW)):
        def judge(name, *arguments, program=filters[filter_number]):
            return verdict(program, machine.audit, numbers[name], arguments)

        for name in set(numbers) - {"socket", "socketpair", "ioctl"}:
            equal(judge(name), ENOSYS if numbers[name] > NEWEST else errors.get(name, ALLOW), f"{name} of {machine.name}")
        for case, expected in JUDGED_FOR_RECEIVERS.items():
            equal(judge(*case), ALLOW if case[0] == "socket" and local == ALLOW else expected, f"{case} of {machine.name}")
        equal(judge("socket", 1), local, f"a socket of this machine on {machine.name}")
        for number in (NEWEST + 1, 600, 0x40000000, 0x40000029, -1):
            equal(verdict(filters[filter_number], machine.audit, number), ENOSYS, f"call {number:#x}")
        equal(verdict(filters[filter_number], 0x40000003, 1), "killed", "a call of another architecture")
    work.figure = f"{len(numbers)} calls, {len(filters[4])} instructions"
