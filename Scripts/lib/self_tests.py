"""Runs the tests of a script's own parts, each with a folder of its own; prints a line for each."""

import tempfile

from outside import Failure, check_line


def run(tests, prefix):
    """Whether all passed, as an exit code."""
    failures = 0
    for test in tests:
        name = test.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix=prefix) as folder:
            try:
                test(folder)
                print(check_line(name, "ok"), flush=True)
            except Failure as failure:
                failures += 1
                print(check_line(name, "FAILED", failure), flush=True)
    return 1 if failures else 0
