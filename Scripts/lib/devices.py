"""Runs of the built command, what they need around them, and what stands between two of them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from outside import GIB, MIB, Failure, Skip, equal, mib, remove, require, run_script, wait_for

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
    """A valid code that is not this one."""
    return with_check_digit(f"{(int(code.replace('-', '')[:7]) + step) % 10**7:07d}")


def mistyped(code):
    """The code with one digit changed, so that its check digit is wrong."""
    return str((int(code[0]) + 1) % 10) + code[1:]


# Processes


# A child of vfork begins with the greatest memory that this process ever had as its own peak; one of fork with what it has now.
subprocess._USE_VFORK = False


class Process:
    """One run of the command, its output in files, its peak memory as the system counts it."""

    running = set()

    def __init__(self, work, arguments, text="", user=None, home=None):
        Process.count = getattr(Process, "count", 0) + 1
        self.arguments = arguments
        self.out_path = f"{work.path}/output-{Process.count}.out"
        self.err_path = f"{work.path}/output-{Process.count}.err"
        identity = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        home = home or work.home(user) + "/peer"
        environment = {**os.environ, "HOME": work.home(user), "PEER_HOME": home}
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.popen = subprocess.Popen(
                [work.binary, *arguments], stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=work.path,
                env=environment, **identity)
        try:
            self.popen.stdin.write(text.encode())
            self.popen.stdin.close()
        except BrokenPipeError:
            pass
        self.pid = self.popen.pid
        self.code = self.peak = None
        Process.running.add(self)

    def poll(self):
        if self.code is None:
            pid, status, usage = os.wait4(self.popen.pid, os.WNOHANG)
            if pid:
                self.code = self.popen.returncode = os.waitstatus_to_exitcode(status)
                self.peak = usage.ru_maxrss * 1024
                Process.running.discard(self)
        return self.code is not None

    def wait(self, seconds=60):
        try:
            wait_for("end", seconds, self.poll)
        except Failure:
            self.end()
            raise Failure(f"'peer {self.arguments[0]}' did not end within {seconds} s") from None
        return self.code

    def is_running(self):
        return not self.poll()

    def signal(self, number):
        if not self.poll():
            os.kill(self.popen.pid, number)

    def end(self):
        for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            self.signal(number)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit and not self.poll():
                time.sleep(0.01)

    def text(self):
        with open(self.out_path, encoding="utf-8", errors="replace") as out:
            with open(self.err_path, encoding="utf-8", errors="replace") as err:
                return out.read() + err.read()

    def errors(self):
        with open(self.err_path, encoding="utf-8", errors="replace") as err:
            return err.read()

    def events(self, name=None):
        found = []
        with open(self.out_path, encoding="utf-8") as out:
            for line in out:
                if line.endswith("\n"):
                    event = json.loads(line)
                    if name is None or event["event"] == name:
                        found.append(event)
        return found

    def error(self):
        """The event that says why the run failed."""
        events = self.events("error")
        require(len(events) == 1, f"'peer {self.arguments[0]}' reported {len(events)} errors")
        return events[0]


class Waiting(Process):
    """A receiver that shows where it listens, and a code."""

    def __init__(self, work, arguments, user=None, port=0, home=None):
        super().__init__(
            work, ["receive", *arguments, "--listen", f"127.0.0.1:{port}", "--json"], user=user, home=home)
        self.port = self.event("listening")["port"]
        self.pairing_code = self.event("code")["code"]

    def event(self, name, count=1, seconds=15):
        def ready():
            found = self.events(name)
            if len(found) >= count:
                return found[count - 1]
            if self.poll():
                raise Failure(f"the receiver ended with {self.code}: {self.text().strip()[-300:]}")
            return None

        return wait_for(f"'{name}' at the receiver", seconds, ready)


class Receiver(Waiting):
    """One that waits for folders."""

    def __init__(self, work, destination, user=None, port=0, options=()):
        self.destination = destination
        super().__init__(work, [destination, *options], user, port)

    def still_waits(self):
        require(self.is_running(), f"the receiver ended with {self.code}")
        equal(os.listdir(self.destination), [], "the destination holds")


def sender(work, sources, port, code, user=None, json_output=True):
    """Without a code it must not need one."""
    options = ["--json"] if json_output else []
    return Process(work, ["send", *sources, "--to", f"127.0.0.1:{port}", "--code-file", "-", *options], "" if code is None else code + "\n",
        user)


class Work:
    """A temporary folder, with a copy of the binary that every user can reach."""

    def __init__(self, is_long=False):
        self.is_long = is_long
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="peer-acceptance-"))
        os.chmod(self.path, 0o711)
        self.binary = f"{self.path}/peer"
        self.places = 0
        self.mounts = []
        self.elsewhere = []

    def home(self, user):
        path = f"{self.path}/home-{user}"
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            if user is not None:
                os.chown(path, user, user)
        return path

    def place(self, user=None):
        """Two new folders: what is sent, and the destination."""
        self.places += 1
        folder = f"{self.path}/{self.places}"
        os.mkdir(folder, 0o755)
        pair = f"{folder}/old", f"{folder}/new"
        for path in pair:
            os.mkdir(path, 0o755)
            if user is not None:
                os.chown(path, user, user)
        return pair

    def shared_memory(self):
        """A new folder on another file system, in memory."""
        path = tempfile.mkdtemp(prefix="peer-acceptance-", dir="/dev/shm")
        self.elsewhere.append(path)
        return path

    def drop(self, folder):
        """Takes one place away again, for room."""
        remove(os.path.dirname(folder))

    def clean(self):
        for process in list(Process.running):
            process.end()
        for mount in self.mounts:
            subprocess.run(["umount", mount], check=False)
        for folder in [*self.elsewhere, self.path]:
            remove(folder)

    def room_for(self, count):
        free = shutil.disk_usage(self.path).free
        if free < count + GIB:
            raise Skip(f"{mib(count + GIB)} of room needed")


def random_file(path, size):
    with open(path, "wb") as file:
        while size > 0:
            file.write(os.urandom(min(4 * MIB, size)))
            size -= 4 * MIB


def small_file(path, content=b"content\n"):
    with open(path, "wb") as file:
        file.write(content)


def transfer(work, old, new, user=None, seconds=120):
    """Sends everything in one folder to another, and requires that both sides end well and the trees are equal."""
    receiver = Receiver(work, new, user)
    begin = time.monotonic()
    sending = sender(work, [f"{old}/{name}" for name in sorted(os.listdir(old))], receiver.port, receiver.pairing_code, user)
    codes = sending.wait(seconds), receiver.wait(30)
    took = time.monotonic() - begin
    require(codes == (0, 0), f"exit codes {codes}: {sending.text()[-300:]} {receiver.text()[-300:]}")
    run_script("check-trees", "--inside", old, new)
    return sending, receiver, took


# Networks


class SlowLink:
    """A relay that passes every byte on, but slowly from the sender to the receiver, so that a transfer lasts.

    Its connections share its rate. It can change a byte, or fall silent.
    """

    RATE = 8 * MIB

    def __init__(self, port, rate=RATE):
        self.target = port
        self.rate = rate
        self.lock = threading.Lock()
        self.free_at = 0.0
        self.count = 0
        self.to_spoil = set()
        self.spoilt = 0
        self.may_pass = threading.Event()
        self.may_pass.set()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.passed = 0
        self.sockets = [self.listening]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target), 10)
                far.settimeout(None)
            except OSError:
                # Nobody is there just now.
                near.close()
                continue
            self.sockets += [near, far]
            threading.Thread(target=self.forward, args=(near, far, self.count), daemon=True).start()
            threading.Thread(target=self.forward, args=(far, near, None), daemon=True).start()
            self.count += 1

    def spoil(self, number):
        """Changes the next byte that comes on a connection from the sender; -1 is the newest."""
        self.to_spoil.add(self.count - 1 if number < 0 else number)

    def freeze(self):
        """Nothing comes through any more, and nobody is told."""
        self.may_pass.clear()

    def forward(self, source, target, number):
        try:
            while True:
                part = source.recv(65536)
                if not part:
                    break
                self.may_pass.wait()
                if number in self.to_spoil:
                    self.to_spoil.discard(number)
                    self.spoilt += 1
                    # Far enough from its start to lie in the body of a record.
                    at = min(len(part) - 1, 8)
                    part = part[:at] + bytes([part[at] ^ 1]) + part[at + 1:]
                target.sendall(part)
                if number is not None:
                    time.sleep(self.carry(len(part)))
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def carry(self, count):
        """Counts bytes that have passed; for how many seconds they keep the link busy from now on."""
        with self.lock:
            self.passed += count
            now = time.monotonic()
            self.free_at = max(now, self.free_at) + count / self.rate
            return self.free_at - now

    def close(self):
        self.may_pass.set()
        for one in self.sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
