"""Proof that the table of Lab/coverage finds modules with too few lines that run."""

import contextlib
import io
import os
import sys

sys.dont_write_bytecode = True

import coverage  # noqa: E402
from outside import equal, require  # noqa: E402
from self_tests import run as run_tests  # noqa: E402


ELSEWHERE = [("Sources/MigrationWire/Frame.swift", 100, 100), ("Sources/MigrationTLS/Spake2.swift", 100, 100)]
"""Files of the groups that must be there."""


def table(folder, *files):
    """Whether all shares are reached, and the lines of the table."""
    export = {"data": [{"files": [
        {"filename": f"{os.path.realpath(folder)}/{path}", "summary": {"lines": {"count": count, "covered": covered}}}
        for path, count, covered in files]}]}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        is_good = coverage.report(coverage.measured(folder, export))
    return is_good, output.getvalue().splitlines()


def a_module_is_the_sum_of_its_files(folder):
    is_good, lines = table(folder, *ELSEWHERE, ("Sources/peer/A.swift", 100, 100), ("Sources/peer/Help/B.swift", 100, 71))
    require(is_good and len(lines) == 4 and "85.5 % of 200" in lines[-1], lines)


def a_share_below_its_bound_fails(folder):
    for path, covered, expected in [
            ("peer/A.swift", 849, False), ("peer/A.swift", 850, True), ("MigrationWire/A.swift", 944, False),
            ("MigrationWire/A.swift", 945, True)]:
        equal(table(folder, *ELSEWHERE, (f"Sources/{path}", 1000, covered))[0], expected, f"{path} with {covered} lines of 1000")


def the_pairing_has_files_of_three_modules(folder):
    pairing = ["MigrationWire/Pairing/A.swift", "MigrationTransfer/Pairing/B.swift", "MigrationTLS/Spake2.swift"]
    is_good, lines = table(folder, *((f"Sources/{path}", 100, 90) for path in pairing), ("Sources/MigrationTLS/TLS.swift", 100, 100))
    line = next(line for line in lines if line.startswith("pairing"))
    require(not is_good and "FAILED" in line and "90.0 % of 300" in line, lines)


def files_outside_and_no_files_at_all_are_no_success(folder):
    for file in [("Tests/peer/A.swift", 100, 100), ("Sources/peer/A.swift", 100, 100)]:
        is_good, lines = table(folder, file)
        require(not is_good and sum("FAILED" in line for line in lines) == 2, lines)


def a_group_whose_files_have_moved_fails(folder):
    """Its bound is no longer checked then."""
    equal(table(folder, *ELSEWHERE)[0], True, "whether all shares are reached")
    for name, gone, moved in [("MigrationWire", 0, "Sources/Wire/Frame.swift"), ("pairing", 1, "Sources/MigrationTLS/Proof.swift")]:
        files = [(moved, 100, 100) if number == gone else file for number, file in enumerate(ELSEWHERE)]
        is_good, lines = table(folder, *files)
        failed = [line for line in lines if "FAILED" in line]
        require(not is_good and len(failed) == 1 and failed[0].startswith(f"{name}:"), lines)


def each_line_of_a_region_without_runs_is_missed(_):
    # Line, column, count, whether it counts, whether it begins there, whether it is a gap.
    segments = [[1, 1, 5, True, True, False], [2, 4, 0, True, True, False], [4, 2, 5, True, False, False],
                [6, 1, 0, True, True, True], [7, 1, 0, False, False, False]]
    equal(coverage.missed_lines(segments), [(2, 4)], "the missed ranges")


TESTS = [
    a_module_is_the_sum_of_its_files, a_share_below_its_bound_fails, the_pairing_has_files_of_three_modules,
    files_outside_and_no_files_at_all_are_no_success, a_group_whose_files_have_moved_fails, each_line_of_a_region_without_runs_is_missed]

if __name__ == "__main__":
    sys.exit(run_tests(TESTS, "peer-coverage-"))
