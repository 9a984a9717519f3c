"""Where a bench works: its folders, the small programs that it compiles, and commands whose cost is counted."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from outside import SCRIPTS, Failure, remove, require

LIBRARIES = {"launch": [], "link": [], "yardstick": ["-lssl", "-lcrypto", "-pthread"]}
"""The programs in C, and what each is linked with."""

class Place:
    """One temporary folder with everything in it, sources and destinations too."""

    def __init__(self, parent, is_on_disk):
        self.is_on_disk = is_on_disk
        # No command takes longer, in seconds, and none is silent for longer where it should speak.
        self.longest = 1800
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="peer-bench-", dir=parent))
        self.programs = {}
        self.sources = []

    def source(self, name, make, *arguments):
        """A folder that is sent, made when it is first asked for."""
        path = self.file(name)
        if not os.path.isdir(path):
            self.sources.append(path)
            make(path, *arguments)
        return path

    def forget_sources(self):
        """Makes room for the next work."""
        while self.sources:
            remove(self.sources.pop())

    def program(self, name):
        """The path of a program in C, compiled when it is first asked for."""
        if name not in self.programs:
            compiler = shutil.which("cc") or shutil.which("clang")
            require(compiler, "a C compiler is needed: cc or clang")
            binary = self.file(name)
            subprocess.run(
                [compiler, "-O2", "-o", binary, f"{SCRIPTS}/lib/bench_{name}.c", *LIBRARIES[name]],
                check=True, timeout=120)
            self.programs[name] = binary
        return self.programs[name]

    def file(self, name):
        return f"{self.path}/{name}"

    def fresh(self, name):
        """An empty folder of this name; what was there is gone."""
        path = self.file(name)
        remove(path)
        os.mkdir(path, 0o700)
        return path

    def settle(self):
        """Nothing that earlier work left to be written disturbs what comes."""
        if self.is_on_disk:
            os.sync()

    def clean(self):
        for one in list(Launched.running):
            one.end()
        remove(self.path)


class Launched:
    """A command under the launcher. What it cost is known once it has ended."""

    running = set()
    count = 0

    def __init__(self, place, words, text=None, events=False, environment=None, **options):
        Launched.count += 1
        self.words, self.longest = words, place.longest
        self.report_path = place.file(f"report-{Launched.count}")
        self.errors_path = place.file(f"errors-{Launched.count}")
        self.begin = self.end_time = self.cpu = self.system = self.peak = self.code = None
        options.setdefault("stdin", subprocess.PIPE if text is not None else subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE if events else subprocess.DEVNULL)
        with open(self.errors_path, "wb") as errors:
            self.popen = subprocess.Popen(
                [place.program("launch"), self.report_path, *words], stderr=errors,
                env={**os.environ, **(environment or {})}, **options)
        Launched.running.add(self)
        self.seen = []
        self.arrival = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True) if events else None
        if self.reader:
            self.reader.start()
        if text is not None:
            try:
                self.popen.stdin.write(text.encode())
                self.popen.stdin.close()
            except BrokenPipeError:
                pass

    def read(self):
        """Notes each line of output with the moment at which it came."""
        for line in self.popen.stdout:
            moment = time.monotonic()
            with self.arrival:
                self.seen.append((moment, line.decode(errors="replace").rstrip("\n")))
                self.arrival.notify_all()
        with self.arrival:
            self.reader = None
            self.arrival.notify_all()

    def line(self, wanted, seconds=None):
        """The moment and the text of the first line that is wanted."""
        limit = time.monotonic() + (seconds or self.longest)
        with self.arrival:
            while True:
                for moment, line in self.seen:
                    if wanted(line):
                        return moment, line
                require(self.reader is not None, f"{self.words[0]} ended too early: {self.last_words()}")
                left = limit - time.monotonic()
                require(left > 0, f"{self.words[0]} says nothing: {self.last_words()}")
                self.arrival.wait(left)

    def event(self, name, seconds=None):
        """The moment of an event that the command reports, and its members."""
        moment, line = self.line(lambda line: line.startswith(f'{{"event":"{name}"'), seconds)
        return moment, json.loads(line)

    def wait(self, codes=(0,), seconds=None):
        """Waits for the end, and takes over what the launcher counted."""
        try:
            self.popen.wait(seconds or self.longest)
        except subprocess.TimeoutExpired:
            self.end()
            raise Failure(f"{' '.join(self.words[:2])} did not end within {seconds or self.longest} s") from None
        finally:
            Launched.running.discard(self)
        with self.arrival:
            self.arrival.wait_for(lambda: self.reader is None, 10)
        with open(self.report_path, encoding="ascii") as report:
            begin, end, user, system, peak, code = map(int, report.read().split())
        self.begin, self.end_time = begin / 1e9, end / 1e9
        self.cpu, self.system, self.peak, self.code = (user + system) / 1e6, system / 1e6, peak * 1024, code
        require(codes is None or code in codes, f"{' '.join(self.words[:2])} ended with {code}: {self.last_words()}")
        os.unlink(self.report_path)
        os.unlink(self.errors_path)

    def last_words(self):
        with open(self.errors_path, encoding="utf-8", errors="replace") as errors:
            said = errors.read()
        return " | ".join((said + "\n".join(line for _, line in self.seen)).strip().splitlines()[-5:])

    def end(self):
        """Ends it where it still runs; its descendants go with it, or are waited for by the launcher."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.popen.poll() is None:
                self.popen.send_signal(number)
                try:
                    self.popen.wait(5)
                except subprocess.TimeoutExpired:
                    pass
        Launched.running.discard(self)
