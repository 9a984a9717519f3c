"""Runs the tests of a script's own parts, each with its own folder; prints a line for each, with
the figure that it returns."""

import tempfile

from outside import Skip, check_line


def run(tests, prefix):
    """Whether all passed, as an exit code."""
    failures = 0
    for test in tests:
        name = test.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix=prefix) as folder:
            try:
                figure = test(folder)
                print(check_line(name, "ok", figure or ""), flush=True)
            except Skip as skip:
                print(check_line(name, "skipped", skip), flush=True)
            except Exception as failure:  # What goes wrong is this test's failure, and the others still run.
                failures += 1
                print(check_line(name, "FAILED", failure), flush=True)
    return 1 if failures else 0
