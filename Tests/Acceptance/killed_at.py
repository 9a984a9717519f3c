"""Kills a program before its Nth change of a file system, to examine the remains of a crash at each
of them.

Usage: killed_at.py N PROGRAM [ARGUMENT...]

Ends with 99 if the program was killed, otherwise with the program's own exit code. With N = 0 it is
never killed.
"""

import ctypes
import os
import platform
import signal
import struct
import sys

KILLED = 99
TRACE_ME, TO_NEXT_CALL, SET_OPTIONS, CALL_INFO = 0, 24, 0x4200, 0x420E
# System calls are told apart from signals; the program's children are traced too, and end with this
# process.
OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x100000
IS_CALL = signal.SIGTRAP | 0x80
ALL_CHILDREN = 0x40000000
MAKING = 0o100

# mkdir, mkdirat, rename, renameat, renameat2, unlink, unlinkat, rmdir, symlink, symlinkat, link,
# linkat; and openat.
CHANGES, OPENING = {
    "x86_64": ({83, 258, 82, 264, 316, 87, 263, 84, 88, 266, 86, 265}, 257),
    "aarch64": ({34, 38, 276, 35, 36, 37}, 56),
}.get(platform.machine(), (set(), None))

LIBRARY = ctypes.CDLL(None, use_errno=True)
LIBRARY.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBRARY.ptrace.restype = ctypes.c_long


def trace(request, process, address=0, data=0):
    if LIBRARY.ptrace(request, process, address, data) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def is_change(process):
    """Whether a process that has stopped is about to change a file system."""
    info = ctypes.create_string_buffer(88)
    trace(CALL_INFO, process, len(info), ctypes.addressof(info))
    kind, number, _, _, flags = struct.unpack_from("=B23xQQQQ", info.raw)
    return kind == 1 and (number in CHANGES or number == OPENING and flags & MAKING != 0)


def main(limit, *command):
    child = os.fork()
    if child == 0:
        try:
            trace(TRACE_ME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.execv(command[0], command)
        finally:
            os._exit(127)
    os.waitpid(child, 0)
    trace(SET_OPTIONS, child, 0, OPTIONS)
    trace(TO_NEXT_CALL, child)
    changes = 0
    while True:
        process, status = os.waitpid(-1, ALL_CHILDREN)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if process == child:
                return os.waitstatus_to_exitcode(status)
            continue
        stopped = os.WSTOPSIG(status)
        if stopped == IS_CALL and is_change(process):
            changes += 1
            if changes == limit:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, ALL_CHILDREN)
                return KILLED
        passed_on = 0 if stopped in (IS_CALL, signal.SIGTRAP, signal.SIGSTOP) else stopped
        trace(TO_NEXT_CALL, process, 0, passed_on)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), *sys.argv[2:]))
