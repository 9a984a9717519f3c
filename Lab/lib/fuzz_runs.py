"""Runs targets of the fuzzing programs, several at a time, and prints a table: Lab/fuzz has
built them.

Usage: fuzz_runs.py FOLDER JOBS [--list | [TARGET|all] [SECONDS|FILE]]
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INPUTS = f"{ROOT}/Tests/Fuzzing"

PROGRAMS = ["fuzz-wire", "fuzz"]
"""The names of the programs, which are in one folder."""

MEMORY = 512
"""How many MiB a program may take: most of it is the sanitizer's and libFuzzer's."""

INPUT_SECONDS = 5
"""After how many seconds an input counts as one that never ends. The program itself measures the
processor time of each input, and compares it with what the target states."""

ALLOCATION = 2
"""How many MiB a single allocation may have, before it is made."""

GROWTH = 48
"""How many MiB a program may grow in the second half of a run, whose inputs are like those of the
first half."""

WATCH_SECONDS = 0.25
"""How often a program's memory is looked at."""

SANITIZER = "detect_leaks=0:quarantine_size_mb=2:thread_local_quarantine_size_kb=64:allocator_may_return_null=0:abort_on_error=0"
"""The runtime keeps the memory that it allocated for its types, which is no leak; growth shows one.
A small quarantine shows growth sooner."""

FAST = SANITIZER + ":malloc_context_size=0"
"""Where each allocation was made is not kept, which would cost a third of the speed: the repetition
of an input tells it."""


class Target:
    def __init__(self, program, line):
        self.program = program
        self.name, self.longest, self.memory, self.time, self.title = line.split("|", 4)

    def command(self, folder):
        """libFuzzer's command, without its work."""
        words = [self.program, f"-max_len={self.longest}", f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY}",
                 f"-malloc_limit_mb={ALLOCATION}", f"-artifact_prefix={folder}/"]
        dictionary = f"{INPUTS}/Dictionaries/{self.name}.dict"
        return words + ([f"-dict={dictionary}"] if os.path.exists(dictionary) else [])

    def environment(self, sanitizer):
        # libFuzzer keeps the input of a crash, unless the runtime catches the signal first.
        # The order of a set must not differ when an input is repeated.
        return os.environ | {"PEER_FUZZ_TARGET": self.name, "ASAN_OPTIONS": sanitizer, "SWIFT_BACKTRACE": "enable=no",
                             "SWIFT_DETERMINISTIC_HASHING": "1"}


def targets(folder):
    bare = {name: value for name, value in os.environ.items() if name != "PEER_FUZZ_TARGET"}
    found = []
    for program in (f"{folder}/{name}" for name in PROGRAMS):
        listed = subprocess.run([program], env=bare | {"ASAN_OPTIONS": SANITIZER}, check=True, capture_output=True, text=True)
        found += [Target(program, line) for line in listed.stdout.splitlines()]
    return found


def resident(process):
    """How many MiB a process has in memory; None after its end."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)
    except (OSError, IndexError):
        return None


def run(words, environment, log):
    """Runs a program; its exit code, and how many MiB it has grown in the second half of its
    time."""
    sizes = []
    with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT) as program:
        while True:
            try:
                code = program.wait(WATCH_SECONDS)
                break
            except subprocess.TimeoutExpired:
                sizes.append((time.monotonic(), resident(program.pid) or 0))
    if len(sizes) < 4:
        return code, 0
    middle = (sizes[0][0] + sizes[-1][0]) / 2
    return code, sizes[-1][1] - max(size for moment, size in sizes if moment <= middle)


def figure(log, name):
    found = re.search(rf"^stat::{name}: *(\d+)", log, re.MULTILINE)
    return int(found[1]) if found else 0


def fuzz(target, seconds):
    """Feeds a target; its line of the table, and what to say if it fails."""
    folder = f"{ROOT}/.build/fuzz/{target.name}"
    os.makedirs(f"{folder}/corpus", exist_ok=True)
    corpus = f"{INPUTS}/Corpus/{target.name}"
    firsts = sorted(f"{corpus}/{name}" for name in os.listdir(corpus)) if os.path.isdir(corpus) else []
    growth = 0
    with open(f"{folder}/log", "wb") as log:
        # Each first input is read whole, before others are made of its beginning.
        code = run(target.command(folder) + firsts, target.environment(FAST), log)[0] if firsts else 0
        if code == 0:
            words = [f"-max_total_time={seconds}", "-print_final_stats=1", "-reload=0", "-verbosity=1",
                     f"{folder}/corpus", *([corpus] if firsts else [])]
            code, growth = run(target.command(folder) + words, target.environment(FAST), log)
    with open(f"{folder}/log", encoding="utf-8", errors="replace") as file:
        log = file.read()
    executions = figure(log, "number_of_executed_units")
    figures = f"{figure(log, 'average_exec_per_sec'):,} executions a second, {figure(log, 'peak_rss_mb')} MiB{costs(log)}"
    if code == 0 and growth <= GROWTH and executions > 0:
        return f"{target.name:<16} | ok | {figures}", None
    reason, what = broken(target, log, code, growth)
    return f"{target.name:<16} | FAILED | {figures}: {reason}", f"error: {what}\nhint: The whole output is in {folder}/log."


def costs(log):
    """The cost of the costliest inputs, as the program says it at its end."""
    found = re.findall(r"^the costliest inputs: (.*)$", log, re.MULTILINE)
    return f"; at most {found[-1]} for an input" if found else ""


def broken(target, log, code, growth):
    """Why a run has failed, in few words and at length; a short input in Base64, for others."""
    said = re.search(r"Fatal error: (.*)|ERROR: (.*)", log)
    reason = (said[1] or said[2]) if said else f"it ended with {code}"
    found = re.search(r"Test unit written to (\S+)", log)
    if found:
        short = re.search(r"^Base64: (\S+)", log, re.MULTILINE)
        return f"{reason}; {short[1][:400] if short else 'a long input'}", \
            f"An input broke a promise of {target.name}; 'Lab/fuzz {target.name} {found[1]}' repeats it."
    if code == 0:
        reason = f"it has grown by {growth:.0f} MiB in the second half of its run" if growth > GROWTH else "it has read no input"
    return reason, f"{target.name}: {reason}."


def main(arguments):
    programs, jobs, *words = arguments
    known = targets(programs)
    if words == ["--list"]:
        for target in known:
            print(f"{target.name:<16} | {target.title}, at most {target.longest} bytes, {target.memory} KiB and {target.time} ms for an input")
        return 0
    name, what = (words + ["all", "60"][len(words):])[:2]
    chosen = [target for target in known if name in ("all", target.name)]
    if not chosen:
        print(f"error: There is no target {name!r}.\nhint: Lab/fuzz --list lists them.", file=sys.stderr)
        return 2
    if not what.isdigit() or int(what) == 0:
        if name == "all" or not os.path.isfile(what):
            print(f"error: {what!r} is neither a number of seconds nor an input of one target.", file=sys.stderr)
            return 2
        command = chosen[0].command(f"{ROOT}/.build/fuzz")
        os.execve(chosen[0].program, [*command, os.path.abspath(what)], chosen[0].environment(SANITIZER) | {"PEER_FUZZ_EVENTS": "1"})
    failed = []
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        for line, failure in pool.map(lambda target: fuzz(target, int(what)), chosen):
            print(line, flush=True)
            if failure:
                failed.append(failure)
    for failure in failed:
        print(failure, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
