"""The place of a bench: its folders, the small programs in C, and commands whose cost is
counted."""

import contextlib
import functools
import itertools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from outside import ROOT, Failure, remove, require

LIBRARIES = {
    "floor": [f"-I{ROOT}/Sources/Transfer/CSystem/include", f"{ROOT}/Sources/Transfer/CSystem/CChecksum.c", "-lcrypto"]}
"""What the programs in C are made of besides their own file."""

LONGEST = 1800
"""How many seconds a command may take, or be silent where it should write."""


class Place:
    """One temporary folder with everything in it, sources and destinations too."""

    def __init__(self, parent, is_on_disk=False):
        self.is_on_disk = is_on_disk
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="peer-bench-", dir=parent))
        self.sources = []

    def source(self, name, make, *arguments):
        """A folder to send, made at its first use."""
        path = self.file(name)
        if not os.path.isdir(path):
            self.sources.append(path)
            make(path, *arguments)
        return path

    def forget_sources(self):
        """Makes room for the next work."""
        while self.sources:
            remove(self.sources.pop())

    def file(self, name):
        return f"{self.path}/{name}"

    def fresh(self, name):
        """An empty folder of this name; earlier contents are removed."""
        path = self.file(name)
        remove(path)
        os.mkdir(path, 0o700)
        return path

    def clean(self):
        for one in list(Launched.running):
            one.end()
        remove(self.path)


@functools.cache
def program(name):
    """The path of a program in C, compiled if it is older than its source."""
    source, binary = f"{ROOT}/Lab/lib/bench_{name}.c", f"{ROOT}/.build/bench/{name}"
    if not os.path.exists(binary) or os.path.getmtime(binary) < os.path.getmtime(source):
        compiler = shutil.which("cc") or shutil.which("clang")
        require(compiler, "a C compiler is needed: cc or clang")
        os.makedirs(os.path.dirname(binary), exist_ok=True)
        made = f"{binary}.{os.getpid()}"
        subprocess.run([compiler, "-O2", "-pthread", "-o", made, source, *LIBRARIES.get(name, [])], check=True, timeout=120)
        os.rename(made, binary)
    return binary


class Launched:
    """A command under the launcher. Its cost is known once it has ended."""

    running = set()
    numbers = itertools.count(1)

    def __init__(self, place, words, text="", environment=None, **options):
        """The command reads the text; or options set its standard input and output."""
        number = next(Launched.numbers)
        self.words = words
        self.report, self.log = place.file(f"report-{number}"), place.file(f"log-{number}")
        self.begin = self.end_time = self.cpu = self.peak = None
        with open(self.log, "wb") as log:
            self.popen = subprocess.Popen(
                [program("launch"), self.report, *words], env={**os.environ, **(environment or {})},
                **{"stdin": subprocess.PIPE, "stdout": log, "stderr": log, **options})
        Launched.running.add(self)
        if self.popen.stdin:
            with contextlib.suppress(BrokenPipeError), self.popen.stdin:
                self.popen.stdin.write(text.encode())

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def says(self, pattern):
        """The match of a pattern's group in the command's output, as soon as it is written."""
        limit = time.monotonic() + LONGEST
        while True:
            has_ended = self.popen.poll() is not None
            found = re.search(pattern, self.said())
            if found:
                return found.group(1)
            require(not has_ended and time.monotonic() < limit, f"{self.words[0]} did not say {pattern}: {self.last_words()}")
            time.sleep(0.001)

    def wait(self, codes=(0,)):
        """Waits for the end, and takes over the launcher's counts."""
        try:
            self.popen.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.end()
            raise Failure(f"{' '.join(self.words[:2])} did not end within {LONGEST} s") from None
        finally:
            Launched.running.discard(self)
        with open(self.report, encoding="ascii") as report:
            begin, end, user, system, peak, code = map(int, report.read().split())
        self.begin, self.end_time = begin / 1e9, end / 1e9
        self.cpu, self.peak = (user + system) / 1e6, peak * 1024
        require(codes is None or code in codes, f"{' '.join(self.words[:2])} ended with {code}: {self.last_words()}")
        os.unlink(self.report)
        os.unlink(self.log)

    def last_words(self):
        return " | ".join(self.said().strip().splitlines()[-5:])

    def end(self):
        """Ends it if it still runs; its descendants end with it, or the launcher waits for them."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.popen.poll() is None:
                self.popen.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.popen.wait(5)
        Launched.running.discard(self)
