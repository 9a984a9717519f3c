"""A complete machine under QEMU, without KVM: it starts in some seconds, runs commands, and ends
with everything in it.

Its root is discarded at the end; permanent data is in the folder that it shares, or on images of
disks.
"""

import contextlib
import ctypes
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

from lab_nbd import SECTOR
from outside import Failure, require, tool, wait_for

PR_SET_PDEATHSIG = 1
MEMORY = 1024
PORT = 47470
BOOT_SECONDS = 300
"""How long the machine may take to start; it takes 5 s without other load."""


class Command:
    """A command in the machine: its lines as they come, its exit code and its errors."""

    def __init__(self, machine, number):
        self.machine, self.number = machine, number
        self.lines, self.status, self.errors = [], None, ""

    def hear(self, answer):
        if "line" in answer:
            self.lines.append(answer["line"])
        else:
            self.errors, self.status = answer["errors"], answer["status"]

    def wait(self, seconds):
        """Its exit code; a failure if it does not end in time."""
        with self.machine.change:
            self.machine.change.wait_for(lambda: self.status is not None or self.machine.is_over, seconds)
        end = "the machine ended before the command in it" if self.machine.is_over else f"the command in the machine did not end within {seconds} s"
        require(self.status is not None, f"{end}: {self.words()}")
        return self.status

    def wait_line(self, wanted, seconds):
        """The function's result for the first line for which it is true; None if the command ends
        before."""
        limit = time.monotonic() + seconds
        at = 0
        with self.machine.change:
            while True:
                while at < len(self.lines):
                    found = wanted(self.lines[at])
                    if found:
                        return found
                    at += 1
                left = limit - time.monotonic()
                if left <= 0 or self.status is not None or self.machine.is_over:
                    return None
                self.machine.change.wait(left)

    def signal(self, number):
        self.machine.tell(do="signal", id=self.number, number=number)

    def words(self):
        return " ".join((" ".join(self.lines[-4:]) + " " + self.errors).split())[-400:]


class Machine:
    """One run of the emulator. `folder` is shared as /lab; `disks` are images, /dev/vda and so on
    in the machine. `extra` are further words for the emulator, whose current folder is `folder`.
    With `can_sleep`, its root is on a disk of its own, before the others, it may let go of the share,
    and its kernel starts as on a real machine.

    `seconds` bounds the whole run: the emulator is then ended, even if this process has died.
    """

    def __init__(self, parts, folder, disks=(), shares=None, seconds=600, extra=(), can_sleep=False):
        self.folder = folder
        self.change = threading.Condition()
        self.numbers = itertools.count(1)
        self.commands = {}
        self.is_ready = self.is_over = False
        self.agent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        shutil.copy(tool("lab_agent.py"), folder)
        for attempt in range(3):
            self.port = free_port()
            self.process = self.start(parts, disks, shares or {}, seconds, extra, parts.disk() if can_sleep else None)
            try:
                wait_for("the emulator's socket", 20, self.connect)
                break
            except Failure:
                # Another program may have taken the port meanwhile.
                self.end_process()
                if attempt == 2:
                    raise Failure(f"the emulator does not start: {self.console()}") from None
        threading.Thread(target=self.listen, daemon=True).start()
        with self.change:
            self.change.wait_for(lambda: self.is_ready or self.is_over, BOOT_SECONDS)
        if not self.is_ready:
            said = self.console()
            self.end()
            raise Failure(f"the machine does not start: {said}")

    def start(self, parts, disks, shares, seconds, extra, root):
        # On a busy host, the kernel would take the emulator's timer for broken, and panic.
        words = [
            "timeout", "-k", "5", str(seconds), "nice", "-n", "10", "qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64",
            "-smp", "1", "-m", str(MEMORY), "-display", "none", "-nodefaults", "-no-reboot", "-kernel", parts.packed_kernel if root else parts.kernel, "-initrd", parts.initramfs,
            "-append", "console=ttyS0 panic=1 quiet mitigations=off no_timer_check" + (" lab.root=disk" if root else ""), "-serial", f"file:{self.folder}/console",
            "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:{PORT}", "-device", "virtio-net-pci,netdev=net,romfile=",
            "-global", f"virtio-blk-pci.physical_block_size={SECTOR}", "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
            "-chardev", "socket,id=agent,path=agent,server=on,wait=off", "-device", "virtserialport,chardev=agent", *extra]
        if root:
            words += ["-drive", f"file={root},format=raw,if=virtio,readonly=on"]
        for tag, path in {**({} if root else {"root": parts.root}), "lab": self.folder, **shares}.items():
            is_root = ",readonly=on" if tag == "root" else ""
            words += ["-fsdev", f"local,id={tag},path={path},security_model=none,multidevs=remap{is_root}",
                      "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
        for disk in disks:
            words += ["-drive", f"file={disk},format=raw,if=virtio,cache=writeback"]
        with open(f"{self.folder}/emulator.log", "wb") as log:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self.folder,
                preexec_fn=end_with_parent)

    def connect(self):
        require(self.process.poll() is None, "the emulator has ended")
        # A socket's path may be 107 bytes long, and the folder's longer.
        folder = os.open(self.folder, os.O_PATH)
        try:
            self.agent.connect(f"/proc/self/fd/{folder}/agent")
            return True
        except OSError:
            return False
        finally:
            os.close(folder)

    # Messages to the agent

    def listen(self):
        with contextlib.suppress(OSError, ValueError), self.agent.makefile("rb") as lines:
            for line in lines:
                answer = json.loads(line)
                with self.change:
                    if "ready" in answer:
                        self.is_ready = True
                    elif answer["id"] in self.commands:
                        self.commands[answer["id"]].hear(answer)
                    self.change.notify_all()
        with self.change:
            self.is_over = True
            self.change.notify_all()

    def tell(self, **order):
        require(not self.is_over, f"the machine has ended: {self.console()}")
        self.agent.sendall(json.dumps(order).encode() + b"\n")

    def begin(self, *words, text="", **environment):
        """Starts a command in the machine."""
        number = next(self.numbers)
        command = self.commands[number] = Command(self, number)
        self.tell(do="run", id=number, words=list(words), text=text, environment=environment)
        return command

    def run(self, *words, seconds=120, text=""):
        """Runs a command in the machine until it ends; returns its output. It must end with 0."""
        command = self.begin(*words, text=text)
        status = command.wait(seconds)
        require(status == 0, f"{' '.join(words)[:200]} ended with {status}: {command.words()}")
        return "\n".join(command.lines)

    def shell(self, script, seconds=120):
        return self.run("sh", "-ec", script, seconds=seconds)

    def load(self, *modules):
        self.run("modprobe", "-a", *modules)

    def drop_caches(self):
        self.shell("sync; echo 3 >/proc/sys/vm/drop_caches")

    # Its end

    def console(self):
        """The last messages of the kernel and the emulator."""
        said = ""
        for name in "emulator.log", "console":
            with contextlib.suppress(OSError), open(f"{self.folder}/{name}", "rb") as file:
                said += file.read().decode(errors="replace")
        return " ".join(said.split())[-400:]

    def end(self, is_in_order=True):
        """Turns the machine off; with is_in_order it writes its caches first."""
        if is_in_order and not self.is_over:
            with contextlib.suppress(OSError, Failure, subprocess.TimeoutExpired):
                self.tell(do="off")
                self.process.wait(20)
        self.end_process()
        self.agent.close()

    def end_process(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)


def end_with_parent():
    """Ends the emulator when this process is killed and cannot end it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
