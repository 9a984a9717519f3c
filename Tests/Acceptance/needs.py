"""Requirements of checks that some machines lack. For each, a probe names the missing requirement,
or nothing.

A check says `@needs(root, tmpfs)`, and is skipped with the first reason that a probe gives.
"""

import ctypes
import ctypes.util
import functools
import os
import platform
import shutil
import signal
import subprocess
import tempfile

import pytest

from outside import IS_ROOT, MIB, NOBODY, ROOT

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False, "timeout": 60}


def needs(*probes):
    """The mark of a check. A mark that is called with a function takes the function for the
    check."""
    return pytest.mark.needs.with_args(*probes)


def missing(item):
    """The reason why a check cannot run here, or nothing."""
    probes = [probe for mark in item.iter_markers("needs") for probe in mark.args]
    return next((reason for probe in probes if (reason := probe())), None)


def dconf_and_bus():
    programs = {"dconf": "dconf-cli", "dbus-daemon": "dbus"}
    return next((f"{program} is missing here: {package}" for program, package in programs.items() if not shutil.which(program)), None)


def in_child(action):
    """Whether an action succeeds in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            # Any wait ends.
            signal.alarm(20)
            action()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def become(user):
    if user is not None:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        # A process that has just changed its user may not write to its own files in /proc:
        # PR_SET_DUMPABLE.
        call("prctl", 4, 1, 0, 0, 0)


def call(name, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    result = getattr(library, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def root():
    return None if IS_ROOT else "not root"


@functools.cache
def clone():
    return None if os.path.exists(f"{ROOT}/.git") else "the sources are no clone"


@functools.cache
def terminals():
    try:
        for end in os.openpty():
            os.close(end)
        return None
    except OSError as error:
        return f"no terminals can be made: {error.strerror}"


@functools.cache
def compiler():
    """The compiler for this machine's programs."""
    return None if shutil.which("cc") else "no C compiler"


@functools.cache
def x86_compiler():
    return compiler() or (None if platform.machine() == "x86_64" else "not an x86-64 machine")


@functools.cache
def arm_compiler():
    """A compiler for 64-bit ARM, and an emulator of the processor."""
    absent = [name for name in ("aarch64-linux-gnu-gcc", "qemu-aarch64") if not shutil.which(name)]
    return f"no {' and no '.join(absent)}" if absent else None


@functools.cache
def zstd():
    return None if ctypes.util.find_library("zstd") else "libzstd.so.1 is not here"


def takes_attribute(folder, size):
    """The reason why a file in a folder cannot have a user attribute of this size; nothing if it
    can."""
    try:
        with tempfile.NamedTemporaryFile(prefix="peer-acceptance-", dir=folder) as file:
            os.setxattr(file.name, "user.probe", bytes(size))
            return None
    except OSError as error:
        return error.strerror


@functools.cache
def attributes():
    """Extended attributes of users, where temporary files are."""
    reason = takes_attribute(None, 10)
    return reason and f"no attributes of users on the file system of {tempfile.gettempdir()}: {reason}"


@functools.cache
def file_system_for_large_attributes():
    """A file system in memory that supports attributes which that of temporary files does not."""
    if not os.path.isdir("/dev/shm"):
        return "no file system in memory"
    if takes_attribute(None, 60_000) is None:
        return f"the file system of {tempfile.gettempdir()} takes every attribute"
    reason = takes_attribute("/dev/shm", 60_000)
    return reason and f"/dev/shm takes no large attributes: {reason}"


def can_mount(*arguments):
    """Whether a file system can be mounted, at a new folder."""
    folder = tempfile.mkdtemp(prefix="peer-acceptance-")
    try:
        if subprocess.run(["mount", *arguments, folder], **QUIET).returncode != 0:
            return False
        subprocess.run(["umount", folder], **QUIET)
        return True
    finally:
        os.rmdir(folder)


@functools.cache
def tmpfs():
    return root() or (None if shutil.which("mount") and can_mount("-t", "tmpfs", "tmpfs") else "no tmpfs can be mounted")


@functools.cache
def disk_image():
    """A disk in a file, which can be frozen."""
    for tool in ("mkfs.ext4", "fsfreeze", "mount"):
        if not shutil.which(tool):
            return f"no {tool}"
    if not IS_ROOT:
        return "not root"
    with tempfile.NamedTemporaryFile(prefix="peer-acceptance-") as file:
        file.truncate(16 * MIB)
        if subprocess.run(["mkfs.ext4", "-q", "-F", file.name], **QUIET).returncode != 0:
            return "no ext4 can be made"
        return None if can_mount("-o", "loop", file.name) else "no loop device can be mounted"


@functools.cache
def landlock():
    """The kernel's means to restrict a process's access to files."""
    def ask():
        # landlock_create_ruleset, which returns its version.
        call("syscall", 444, None, 0, 1)

    return None if in_child(ask) else "the kernel has no Landlock"


@functools.cache
def fuse():
    """A file system whose server is a process of this check."""
    def opened():
        os.close(os.open("/dev/fuse", os.O_RDWR))
        # In mounts of its own, which end with it: a server that never answers serves nothing, but
        # is mounted.
        call("unshare", 0x20000)
        call("mount", None, b"/", None, 1 << 18 | 1 << 14, None)
        device = os.open("/dev/fuse", os.O_RDWR)
        call("mount", b"probe", b"/tmp", b"fuse", 0, f"fd={device},rootmode=40000,user_id=0,group_id=0".encode())

    return root() or (None if in_child(opened) else "no file system in user space can be mounted")


def own_mounts_of(user):
    """Whether a user's processes can have their own mounts and make them read-only.

    That keeps an extension from changing modes outside.
    """
    def seal():
        become(user)
        new_mounts, new_user, private, recursive = 0x20000, 0x10000000, 1 << 18, 1 << 14
        me, group = os.geteuid(), os.getegid()
        try:
            call("unshare", new_mounts)
        except OSError:
            call("unshare", new_user | new_mounts)
            for name, content in (("setgroups", "deny"), ("gid_map", f"{group} {group} 1"), ("uid_map", f"{me} {me} 1")):
                with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                    file.write(content)
        call("mount", None, b"/", None, private | recursive, None)
        # mount_setattr of everything under the root: attr_set is MOUNT_ATTR_RDONLY.
        attributes = (ctypes.c_uint64 * 4)(1, 0, 0, 0)
        call("syscall", 442, -100, b"/", 0x8000, attributes, ctypes.sizeof(attributes))

    return in_child(seal)


@functools.cache
def own_mounts():
    return None if own_mounts_of(None) else "this process may not have mounts of its own, which confine an extension"


@functools.cache
def own_mounts_of_nobody():
    reason = "an unprivileged user may not have mounts of its own, which confine an extension"
    return root() or (None if own_mounts_of(NOBODY) else reason)


@functools.cache
def strace():
    return None if shutil.which("strace") else "strace is missing here: strace"


def networks():
    """Whether this process can make its own networks, with the tools for them."""
    tools = [tool for tool in ("ip", "nsenter", "unshare") if not shutil.which(tool)]
    if tools:
        return f"no {', '.join(tools)}: networks cannot be made"
    new_network = 0x40000000
    return root() or (None if in_child(lambda: call("unshare", new_network)) else "this process may not have networks of its own")


@functools.cache
def routers():
    """The same, with the tool for routers that change addresses."""
    return networks() or (None if shutil.which("nft") else "no nft: routers cannot be made")


@functools.cache
def browser():
    return None if shutil.which("chromedriver") and shutil.which("chromium") else "chromedriver is missing here: chromium-driver"


def firefox():
    return None if shutil.which("firefox-esr") else "firefox-esr is missing here"


def avahi():
    tools = [tool for tool in ("avahi-daemon", "avahi-browse", "dbus-daemon") if not shutil.which(tool)]
    return f"{', '.join(tools)} missing here" if tools else None


@functools.cache
def manuals():
    """The tools that show manual pages and check them."""
    tools = [tool for tool in ("man", "groff", "mandoc") if not shutil.which(tool)]
    return f"{', '.join(tools)} missing here" if tools else None


@functools.cache
def toolchain():
    """The tools that build and format Swift packages."""
    return None if shutil.which("swift") else "no swift in PATH"


@functools.cache
def toolchain_of_user():
    """The same for a user without rights, who must be able to read the tools and the sources'
    folder."""
    def start():
        become(NOBODY if IS_ROOT else None)
        subprocess.run(["swift", "--version"], **{**QUIET, "check": True})

    return toolchain() or (None if in_child(start) else "a user without rights cannot use the swift in PATH")


def shell(name):
    """A probe for a shell."""
    return functools.cache(lambda: None if shutil.which(name) else f"no {name}")
