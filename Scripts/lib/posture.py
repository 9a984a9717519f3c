"""Looks at the sources and at built programs. Usage: posture.py PROGRAM..."""

import os
import sys

sys.dont_write_bytecode = True

import posture_program  # noqa: E402
import posture_sources  # noqa: E402
from outside import ROOT, check_line, say  # noqa: E402


def report(name, findings):
    print(check_line(name, "FAILED" if findings else "ok", f"{len(findings)} findings" if findings else ""))
    for finding in findings:
        say(finding)
    return not findings


def main(programs):
    kept = report("unsafe code is in two modules", posture_sources.findings(ROOT))
    for program in programs:
        if not os.path.isfile(program):
            say(f"error: there is no program {program}")
            return 1
        kept = report(f"{os.path.basename(program)} is protected", posture_program.findings(program)) and kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
