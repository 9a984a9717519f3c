"""Starts a program as its child, and writes to a descriptor first the child's number, then its exit
code and its peak memory.

Usage: launch.py DESCRIPTOR USER PROGRAM [ARGUMENT...]
  USER  the number of the user and the group that the child gets, or - for those of the caller

A program that is started by vfork and exec begins with the peak of the process that called vfork as
its own, and one that is started by fork with what that process holds. The process that runs the
checks is larger than the measured programs; this one is smaller.
"""
import os
import signal
import sys


def main(report, user, *command):
    report = int(report)
    child = os.fork()
    if child == 0:
        try:
            os.close(report)
            # The interpreter ignores these signals; a program that another program starts does not
            # find them ignored. A program that a user starts does not find Ctrl-C and SIGHUP ignored
            # either, although a shell ignores the first for background jobs, and nohup the second.
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            if user != "-":
                os.setgroups([])
                os.setgid(int(user))
                os.setuid(int(user))
            os.execv(command[0], command)
        finally:
            os._exit(127)
    # Ctrl-C at the terminal of the checks is for the child, whose end must still be reported.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(report, b"%d\n" % child)
    _, status, usage = os.wait4(child, 0)
    os.write(report, b"%d %d\n" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024))


main(*sys.argv[1:])
