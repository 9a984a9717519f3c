"""The place of attacks: folders, the programs in C, network namespaces, and runs of the command
with their resources."""

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from outside import IS_ROOT, MIB, Failure, Skip, remove, require, wait_for

STATUSES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143}
"""The exit codes in the help texts."""

ENDING = 4
"""How many seconds a program may take to end: a second, and those that a busy machine may need."""

PATIENCE = 60
"""How many seconds an action may take that normally takes almost no time: a guard against hangs."""

PORT = 47470

HERE = os.path.dirname(os.path.abspath(__file__))


class Place:
    """One temporary folder with everything in it, the programs, and the processes that were
    started."""

    def __init__(self, binary, is_long):
        self.binary, self.is_long = binary, is_long
        room = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
        parent = "/dev/shm" if room > 4096 * MIB and os.access("/dev/shm", os.W_OK) else None
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="peer-attack-", dir=parent))
        self.numbers = itertools.count(1)
        self.processes = []
        self.programs = {}
        self.lock = threading.Lock()
        self.undone = contextlib.ExitStack()
        self.undone.callback(remove, self.path)
        self.network = None

    def folder(self):
        path = f"{self.path}/{next(self.numbers)}"
        os.mkdir(path, 0o700)
        return path

    def program(self, name):
        """A program in C, compiled at its first use."""
        with self.lock:
            if name not in self.programs:
                compiler = shutil.which("cc") or shutil.which("clang")
                require(compiler, "a C compiler is needed: cc or clang")
                binary = f"{self.path}/{name}"
                subprocess.run(
                    [compiler, "-O2", "-o", binary, f"{HERE}/attack_{name}.c", "-lssl", "-lcrypto"], check=True, timeout=120)
                self.programs[name] = binary
            return self.programs[name]

    def namespaces(self):
        """The network of all floods, made at its first use."""
        if self.network is None:
            if not IS_ROOT:
                raise Skip("not root: network namespaces cannot be made")
            if not shutil.which("ip"):
                raise Skip("no ip: network namespaces cannot be made")
            self.network = Network(self.undone)
        return self.network

    def start(self, arguments, **options):
        return Run(self, arguments, **options)

    def source(self, size):
        """A file to send."""
        path = f"{self.folder()}/content"
        with open(path, "wb") as file:
            block = os.urandom(min(size, MIB))
            for _ in range(-(-size // max(1, len(block)))):
                file.write(block)
        return path

    def clean(self):
        with self.undone:
            for process in list(self.processes):
                process.end()


class Network:
    """A bridge with three devices on it: the receiver, the sender, and the attacker with many
    addresses.

    The attacker has addresses of neighbours, and two networks behind it, in which it owns every
    address.
    """

    RECEIVER, SENDER, ATTACKERS, NOBODY = "10.77.0.1", "10.77.0.2", "10.77.1.1", "10.77.200.1"
    FAR = "10.78.0.0"
    RECEIVER_6, ATTACKER_6, FAR_6 = "fd77::1", "fd77::3", "2001:db8:66::"
    MANY, ALL = 200, 65_536

    def __init__(self, undone):
        self.tag = f"peer-attack-{os.getpid()}"
        names = ("bridge", "receiver", "sender", "attacker")
        try:
            for name in names:
                self.ip("netns", "add", self.space(name))
                undone.callback(self.ip, "netns", "del", self.space(name))
                self.within(name, "link", "set", "lo", "up")
            self.within("bridge", "link", "add", "bridge", "type", "bridge")
            self.within("bridge", "link", "set", "bridge", "up")
            for name in names[1:]:
                self.within("bridge", "link", "add", name, "type", "veth", "peer", "name", "net", "netns", self.space(name))
                self.within("bridge", "link", "set", name, "master", "bridge", "up")
                self.within(name, "link", "set", "net", "up")
            self.within("receiver", "addr", "add", f"{self.RECEIVER}/16", "dev", "net")
            self.within("receiver", "route", "add", f"{self.FAR}/16", "via", self.ATTACKERS)
            self.within("receiver", "-6", "addr", "add", f"{self.RECEIVER_6}/64", "dev", "net", "nodad")
            self.within("receiver", "-6", "route", "add", f"{self.FAR_6}/64", "via", self.ATTACKER_6)
            self.within("sender", "addr", "add", f"{self.SENDER}/16", "dev", "net")
            self.within("attacker", "-6", "addr", "add", f"{self.ATTACKER_6}/64", "dev", "net", "nodad")
            self.within("attacker", "route", "add", "local", f"{self.FAR}/16", "dev", "lo")
            self.within("attacker", "-6", "route", "add", "local", f"{self.FAR_6}/64", "dev", "lo")
            lines = [f"addr add 10.77.1.{number}/16 dev net" for number in range(1, self.MANY + 1)]
            subprocess.run(
                ["ip", "-n", self.space("attacker"), "-batch", "-"], input="\n".join(lines).encode(), check=True, timeout=60)
        except (subprocess.SubprocessError, OSError) as error:
            raise Skip(f"network namespaces cannot be made here: {error}") from None

    def space(self, name):
        return f"{self.tag}-{name}"

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def within(self, name, *words):
        self.ip("-n", self.space(name), *words)

    def enter(self, name):
        """The command that runs another one there."""
        return ["ip", "netns", "exec", self.space(name)]


class Run:
    """One run of the command; its events are read as they come."""

    def __init__(self, place, arguments, text="", within=(), home=None):
        self.arguments = arguments
        self.home = home or place.folder()
        self.err_path = f"{place.path}/{next(place.numbers)}.err"
        self.events = []
        self.change = threading.Condition()
        self.begun = time.monotonic()
        self.ended_at = None
        with open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                [*within, place.binary, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, cwd=self.home, env={**os.environ, "HOME": self.home, "PEER_HOME": f"{self.home}/peer"})
        self.place = place
        place.processes.append(self)
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.write(text.encode())
            self.popen.stdin.close()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        with self.popen.stdout as out:
            for line in out:
                self.hear(json.loads(line))
        self.popen.wait()
        with self.change:
            self.ended_at = time.monotonic()
            self.change.notify_all()

    def hear(self, event):
        event["at"] = time.monotonic()
        with self.change:
            if event["event"] != "notStored" or len(self.events) < 1000:
                self.events.append(event)
            self.change.notify_all()

    @property
    def pid(self):
        return self.popen.pid

    @property
    def code(self):
        """The exit code in a shell's form; None while it runs."""
        code = self.popen.returncode
        return code if code is None or code >= 0 else 128 - code

    def find(self, name, after=0.0):
        return next((event for event in list(self.events) if event["event"] == name and event["at"] >= after), None)

    def last(self, name):
        return next((event for event in reversed(list(self.events)) if event["event"] == name), None)

    def wait_event(self, name, seconds=PATIENCE, after=0.0):
        """The event; None if the run ends before it, or the time is up."""
        limit = time.monotonic() + seconds
        with self.change:
            while True:
                found = self.find(name, after)
                left = limit - time.monotonic()
                if found or left <= 0 or self.ended_at is not None:
                    return found
                self.change.wait(left)

    def wait(self, seconds=PATIENCE):
        """Its exit code; None if it does not end in time."""
        with self.change:
            self.change.wait_for(lambda: self.ended_at is not None, seconds)
        return self.code if self.ended_at is not None else None

    def signal(self, number):
        if self.popen.poll() is None:
            self.popen.send_signal(number)

    def half_open(self):
        """How many connections its system has only seen the beginning of."""
        found = 0
        for name in ("tcp", "tcp6"):
            with open(f"/proc/{self.pid}/net/{name}", encoding="ascii") as file:
                found += sum(line.split()[3] == "03" for line in list(file)[1:])
        return found

    def terminate(self, seconds=PATIENCE):
        """One SIGTERM: returns the exit code, and the seconds until the end; no code if it did not
        end."""
        begun = time.monotonic()
        self.signal(signal.SIGTERM)
        self.wait(seconds)
        return self.code, (self.ended_at or time.monotonic()) - begun

    def words(self):
        with open(self.err_path, "rb") as err:
            return " ".join(err.read().decode(errors="replace").split())[:200]

    def end(self):
        for number, seconds in ((signal.SIGTERM, 2), (signal.SIGKILL, 10)):
            self.signal(number)
            if self.wait(seconds) is not None:
                break
        if self in self.place.processes:
            self.place.processes.remove(self)

    # Its resources

    def takes(self):
        """Memory now and at most in bytes, descriptors, threads, CPU seconds."""
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file)
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return {
            "memory": int(status["VmRSS"].split()[0]) << 10, "peak": int(status["VmHWM"].split()[0]) << 10,
            "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "threads": int(status["Threads"]),
            "cpu": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")}


class Receiver(Run):
    """A receiver that has shown where it listens, and a code."""

    def __init__(self, place, within=(), listen="127.0.0.1:0"):
        self.destination = place.folder()
        super().__init__(place, ["receive", self.destination, "--listen", listen, "--json"], within=within)
        require(self.wait_event("code"), f"the receiver shows no code: {self.code} {self.words()}")
        self.port = self.find("listening")["port"]

    def pairing_code(self):
        return self.last("code")["code"]


def send(place, paths, to, code, options=(), within=(), home=None):
    """A sender; without a code, it must not need one."""
    return place.start(
        ["send", *paths, "--to", to, "--code-file", "-", "--json", *options], text=f"{code or ''}\n", within=within, home=home)


class Watch:
    """Samples a process again and again: the most that it had."""

    def __init__(self, run, folders=()):
        self.run, self.folders = run, folders
        self.most = {"memory": 0, "descriptors": 0, "threads": 0, "disk": 0}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.is_over.wait(0.05):
            with contextlib.suppress(OSError, KeyError, ValueError):
                found = self.run.takes()
                found["disk"] = sum(disk_use(folder) for folder in self.folders)
                # The system's own peak misses nothing between two samples.
                found["memory"] = max(found["memory"], found["peak"])
                for key in self.most:
                    self.most[key] = max(self.most[key], found[key])

    def end(self):
        self.is_over.set()
        self.thread.join(10)
        return self.most


def disk_use(folder):
    """The bytes on the disk in a folder."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
    return total
