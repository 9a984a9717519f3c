#!/usr/bin/env python3
"""Runs `peer` in whole machines with a kernel of their own.

Usage: machines.py files|power|network [OPTION...], for Lab/files, Lab/power and Lab/network

The machines are QEMU's, without KVM, with Debian's kernel and a small Debian of the release of this
system. Their parts are downloaded once, some 600 MB, into .build/lab or the folder that PEER_LAB
names; apt-get installs qemu-system-x86 and debootstrap if they are missing. That needs root.

The release binary is built first, or PEER_BINARY names another one, which must contain its Swift
runtime. Exit codes: 0 if no check failed, 1 otherwise, 2 if nothing could run.
"""

import importlib
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path += [f"{os.path.dirname(os.path.abspath(__file__))}/../../{place}" for place in ("Scripts/lib", "Tests/Acceptance")]

from outside import Skip, check_line, terminated  # noqa: E402


def main(arguments):
    kind, *rest = arguments
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, terminated)
    module = importlib.import_module(f"lab_{kind}")
    if rest in (["-h"], ["--help"]):
        print(module.__doc__.strip())
        return 0
    try:
        return module.main(rest)
    except Skip as skip:
        print(check_line(kind, "skipped", str(skip)))
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
