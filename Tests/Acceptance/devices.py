"""Runs of the built command, and the resources that they need."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

from outside import GIB, MIB, ROOT, Failure, equal, mib, remove, require, run_script, wait_for
from relay import Relay

PATIENCE = 120
"""How many seconds an action may take that normally takes almost no time: a guard against hangs on
a busy machine."""

# Codes


DAMM = [
    "0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
    "3674209581", "5869720134", "8945362017", "9438617205", "2581436790",
]


def with_check_digit(seven):
    interim = 0
    for digit in seven:
        interim = int(DAMM[interim][int(digit)])
    return f"{seven[:4]}-{seven[4:]}{interim}"


def other_code(code, step=1):
    """A valid code other than this one."""
    return with_check_digit(f"{(int(code.replace('-', '')[:7]) + step) % 10**7:07d}")


def mistyped(code):
    """The code with one digit changed, so that its check digit is wrong."""
    return str((int(code[0]) + 1) % 10) + code[1:]


# Ports


def unclaimed_ports():
    """Ports that the kernel gives only to programs that name them; each worker of this run has its
    own.

    The kernel may give any other port to `--listen 0` or to a connection of another check, even a
    port to which a receiver is about to come back.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        low, high = map(int, file.read().split())
    ports = [*range(10_000, low), *range(high + 1, 65_536)] or list(range(low, high))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    own = ports[worker % 16::16]
    # Two simultaneous runs begin with different ports.
    begin = os.getpid() % len(own)
    yield from own[begin:] + own[:begin]


UNCLAIMED = unclaimed_ports()


def own_port():
    """A free port for a receiver that comes back to it; each is used once."""
    for port in UNCLAIMED:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise Failure("no port is left")


@contextlib.contextmanager
def closed_port():
    """A port without a listener; it is bound meanwhile, so that no other program gets it."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield one.getsockname()[1]


# Processes


class Process:
    """One run of the command, its output in files, its peak memory as the system counts it. Without
    a text, its standard input stays open for `say`. `settings` are additional environment variables."""

    def __init__(self, work, arguments, text="", user=None, home=None, within=(), program=None, settings=None):
        self.arguments = arguments
        name = f"{work.path}/output-{len(work.processes)}"
        self.out_path, self.err_path = f"{name}.out", f"{name}.err"
        self.code = self.peak = None
        reading, writing = os.pipe()
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                [*within, *work.within, sys.executable, "-I", "-S", f"{ROOT}/Tests/Acceptance/launch.py", str(writing),
                 "-" if user is None else str(user), program or work.binary, *arguments],
                stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=work.path, pass_fds=[writing],
                # The kernel continues a stopped process when another one of its orphaned group ends, such as
                # the group of a background job.
                start_new_session=True,
                env={**os.environ, "HOME": work.home(user), "PEER_HOME": home or work.home(user) + "/peer", **work.environment,
                     **(settings or {})})
        os.close(writing)
        self.report = os.fdopen(reading)
        self.pid = int(self.report.readline())
        work.processes.append(self)
        if text is not None:
            with contextlib.suppress(BrokenPipeError), self.popen.stdin as stdin:
                stdin.write(text.encode())

    def say(self, line):
        """Writes a line to its standard input."""
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def poll(self):
        if self.code is None and self.popen.poll() is not None:
            with self.report:
                self.code, self.peak = map(int, self.report.readline().split())
        return self.code is not None

    def wait(self, seconds=PATIENCE):
        try:
            wait_for("end", seconds, self.poll)
        except Failure:
            raise Failure(f"'{self.name()}' did not end within {seconds} s") from None
        return self.code

    def name(self):
        return f"peer {os.fsdecode(self.arguments[0])}"

    def is_running(self):
        return not self.poll()

    def signal(self, number):
        if not self.poll():
            # It may end just now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self):
        for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            self.signal(number)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit and not self.poll():
                time.sleep(0.01)

    def output(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as out:
            return out.read()

    def errors(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as err:
            return err.read()

    def text(self):
        return self.output() + self.errors()

    def events(self, name=None):
        # Reads all lines in one step: a reader of single lines would split a line that is being
        # written. The unfinished line is left out.
        with open(self.out_path, encoding="utf-8", errors="replace") as out:
            whole = out.read().split("\n")[:-1]
        events = [json.loads(line) for line in whole]
        return [event for event in events if name is None or event["event"] == name]

    def error(self):
        """The event that says why the run failed."""
        events = self.events("error")
        require(len(events) == 1, f"'{self.name()}' reported {len(events)} errors")
        return events[0]


class Waiting(Process):
    """A receiver that shows where it listens, and a code, unless it does not invite a sender."""

    def __init__(self, work, arguments, user=None, port=0, home=None, is_inviting=True, settings=None):
        super().__init__(
            work, ["receive", *arguments, "--listen", f"127.0.0.1:{port}", "--json"], user=user, home=home, settings=settings)
        self.port = self.event("listening")["port"]
        self.pairing_code = self.event("code")["code"] if is_inviting else None

    def event(self, name, count=1):
        def ready():
            found = self.events(name)
            if len(found) >= count:
                return found[count - 1]
            if self.poll():
                raise Failure(f"the receiver ended with {self.code}: {self.text().strip()[-300:]}")
            return None

        return wait_for(f"'{name}' at the receiver", PATIENCE, ready)


class Receiver(Waiting):
    """A receiver of folders."""

    def __init__(self, work, destination, user=None, port=0, options=(), is_inviting=True):
        self.destination = destination
        super().__init__(work, [destination, *options], user, port, is_inviting=is_inviting)

    def still_waits(self):
        require(self.is_running(), f"the receiver ended with {self.code}")
        equal(os.listdir(self.destination), [], "the destination holds")


def sender(work, sources, port, code, user=None, json_output=True):
    """Without a code, the sender must not need one."""
    options = ["--json"] if json_output else []
    return Process(
        work, ["send", *sources, "--to", f"127.0.0.1:{port}", "--code-file", "-", *options],
        "" if code is None else code + "\n", user)


def end_well(*processes, seconds=PATIENCE):
    """Requires that all end with exit code 0."""
    codes = tuple(process.wait(seconds) for process in processes)
    require(set(codes) == {0}, f"exit codes {codes}: {' '.join(process.text()[-300:] for process in processes)}")


class Work:
    """The resources of one check: folders, processes, links. All are ended, closed and removed
    after the check."""

    def __init__(self, programs, is_long=False):
        self.programs = programs
        self.binary = f"{programs}/peer"
        self.is_long = is_long
        self.environment = {}
        """Additional environment variables of its processes."""
        self.within = ()
        """The command that its processes are arguments of, such as one that enters a chroot."""
        self.processes = []
        """Events that a check has read itself, not from a process's output."""
        self.figure = None
        """The figure that the table shows beside the check; otherwise the time it took."""
        self.row = None
        """Its row in the table of file systems: the file system, the data that was sent, and the
        result."""
        self.numbers = itertools.count(1)
        self.undone = contextlib.ExitStack()
        self.path = self.folder(None)
        self.memory = self.folder("/dev/shm") if has_memory() else self.path

    def folder(self, parent):
        """A new folder that every user can enter."""
        path = os.path.realpath(tempfile.mkdtemp(prefix="peer-acceptance-", dir=parent))
        os.chmod(path, 0o711)
        self.undone.callback(remove, path)
        return path

    def home(self, user):
        path = f"{self.path}/home-{user}"
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            if user is not None:
                os.chown(path, user, user)
        return path

    def place(self, user=None, on_disk=False):
        """Two new folders: the source and the destination. In memory, unless the behaviour of a
        disk matters."""
        folder = f"{self.path if on_disk else self.memory}/{next(self.numbers)}"
        os.mkdir(folder, 0o755)
        pair = f"{folder}/old", f"{folder}/new"
        for path in pair:
            os.mkdir(path, 0o755)
            if user is not None:
                os.chown(path, user, user)
        return pair

    def link(self, port, **options):
        """A relay to a receiver."""
        link = self.undone.enter_context(contextlib.closing(Relay(port, **options)))
        link.start()
        return link

    def slow_link(self, port, rate=8 * MIB):
        """A relay so slow that a transfer lasts."""
        return self.link(port, rate=rate)

    def far_link(self, port, delay, flight):
        """A relay to a distant country: an answer takes `delay`."""
        return self.link(port, delays=(delay / 2, delay / 2), flight=flight)

    def mount(self, folder, *arguments):
        """Mounts something at a folder; probes have shown that this is possible."""
        subprocess.run(["mount", *arguments, folder], check=True, timeout=PATIENCE)
        self.undone.callback(subprocess.run, ["umount", folder], check=False, timeout=PATIENCE)

    def drop(self, folder):
        """Removes one place, to free room."""
        remove(os.path.dirname(folder))

    def clean(self):
        with self.undone:
            for process in self.processes:
                process.signal(signal.SIGTERM)
            for process in self.processes:
                process.end()
            for process in self.processes:
                # Some checks have removed what their processes wrote.
                with contextlib.suppress(FileNotFoundError):
                    require(f"(process {process.pid})" not in process.text(), f"'{process.name()}' takes itself for another one")

    def room_for(self, count):
        """Skips the check if a disk has less room."""
        if shutil.disk_usage(self.path).free < count + GIB:
            pytest.skip(f"{mib(count + GIB)} of room needed")


def has_memory():
    """Whether there is a file system in memory from which programs run, with room for the checks
    that run at the same time."""
    if not os.path.ismount("/dev/shm") or not os.access("/dev/shm", os.W_OK | os.X_OK):
        return False
    status = os.statvfs("/dev/shm")
    return status.f_bavail * status.f_frsize > 8 * GIB and not status.f_flag & os.ST_NOEXEC


def random_file(path, size):
    """Writes incompressible bytes, without two equal blocks of 4 KiB in a file: one block, rotated
    by another number each time."""
    block = os.urandom(min(4 * MIB, size))
    with open(path, "wb") as file:
        for number in range(-(-size // (4 * MIB))):
            begin = number * 4099 % max(1, len(block))
            file.write((block[begin:] + block[:begin])[:size - number * 4 * MIB])


def small_file(path, content=b"content\n"):
    with open(path, "wb") as file:
        file.write(content)


def transfer(work, old, new, user=None, seconds=PATIENCE):
    """Sends all items of one folder to another, and requires that both sides succeed and the trees
    are equal."""
    receiver = Receiver(work, new, user)
    begin = time.monotonic()
    sending = sender(work, [f"{old}/{name}" for name in sorted(os.listdir(old))], receiver.port, receiver.pairing_code, user)
    end_well(sending, receiver, seconds=seconds)
    took = time.monotonic() - begin
    run_script("check-trees", "--inside", old, new)
    return sending, receiver, took
