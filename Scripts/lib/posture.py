"""Looks at the sources and at built programs. Usage: posture.py PROGRAM..."""

import os
import sys

sys.dont_write_bytecode = True

import posture_frames  # noqa: E402
import posture_program  # noqa: E402
import posture_sources  # noqa: E402
from outside import ROOT, Skip, check_line, say  # noqa: E402


def report(name, look, *words):
    """Prints the line of a check, and its findings; returns whether there are none."""
    try:
        findings = look(*words)
    except Skip as skip:
        print(check_line(name, "skipped", skip))
        return True
    print(check_line(name, "FAILED" if findings else "ok", f"{len(findings)} findings" if findings else ""))
    for finding in findings:
        say(finding)
    return not findings


def main(programs):
    kept = report("unsafe code is in two modules", posture_sources.findings, ROOT)
    for program in programs:
        if not os.path.isfile(program):
            say(f"error: there is no program {program}")
            return 1
        name = os.path.basename(program)
        kept = report(f"{name} is protected", posture_program.findings, program) and kept
        kept = report(f"{name}: functions look whether their frame is intact", posture_frames.findings, program, ROOT) and kept
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
