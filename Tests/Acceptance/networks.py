"""Networks of a check: devices in network namespaces, joined by a cable or a switch, with programs
that share port 5353."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys

from devices import PATIENCE, Process
from outside import ROOT, Failure, wait_for

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}

SERVICE = "_peer-migrate._tcp"

NUMBERS = itertools.count(1)

DBUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={path}/bus</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/> <allow send_destination="*"/> <allow receive_sender="*"/>
  </policy>
</busconfig>
"""

AVAHI = """[server]
host-name={name}
use-ipv4=yes
use-ipv6=yes
enable-dbus=yes
[wide-area]
enable-wide-area=no
[publish]
publish-workstation=no
"""


def ip(*words):
    done = subprocess.run(["ip", *words], check=False, timeout=PATIENCE, **QUIET)
    if done.returncode != 0:
        raise Failure(f"ip {' '.join(words)}: {done.stderr.decode(errors='replace').strip()}")


class Network:
    """Devices on one network: two are joined by a cable, more by a switch. Each has the interface
    `net`."""

    def __init__(self, work, *names, has_v4=True):
        self.work = work
        self.tag = f"peer-check-{os.getpid()}-{next(NUMBERS)}"
        self.devices = {name: Device(self, name) for name in names}
        spaces = [self.space(name) for name in names]
        for space in spaces + ([self.space("switch")] if len(names) > 2 else []):
            ip("netns", "add", space)
            work.undone.callback(ip, "netns", "del", space)
            ip("-n", space, "link", "set", "lo", "up")
        if len(names) == 2:
            ip("-n", spaces[0], "link", "add", "net", "type", "veth", "peer", "name", "net", "netns", spaces[1])
        elif len(names) > 2:
            switch = self.space("switch")
            ip("-n", switch, "link", "add", "switch", "type", "bridge")
            ip("-n", switch, "link", "set", "switch", "up")
            for number, space in enumerate(spaces):
                ip("-n", switch, "link", "add", f"port{number}", "type", "veth", "peer", "name", "net", "netns", space)
                ip("-n", switch, "link", "set", f"port{number}", "master", "switch", "up")
        if len(names) > 1:
            for number, space in enumerate(spaces, 1):
                if has_v4:
                    ip("-n", space, "addr", "add", f"10.99.0.{number}/24", "dev", "net")
                ip("-n", space, "link", "set", "net", "up")
            # Until the kernel has verified them, link-local addresses neither receive nor send.
            for device in self.devices.values():
                wait_for("link-local addresses", PATIENCE, device.is_ready)

    def space(self, name):
        return f"{self.tag}-{name}"

    def __getitem__(self, name):
        return self.devices[name]


class Device:
    """One device: a network namespace, with a home of its own for the program."""

    def __init__(self, network, name):
        self.network, self.work, self.name = network, network.work, name
        self.home = f"{network.work.path}/{name}-{next(NUMBERS)}"
        self.bus = None
        self.processes = []

    @property
    def enter(self):
        """The command that runs another one there."""
        return ["nsenter", f"--net=/run/netns/{self.network.space(self.name)}", *self.processes]

    def set_apart(self):
        """From now on, it has processes of its own, of which the other devices see none."""
        first = self.background("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", "echo up; exec sleep infinity")
        first.stdout.readline()
        with open(f"/proc/{first.pid}/task/{first.pid}/children", encoding="ascii") as file:
            self.processes = [f"--target={file.read().split()[0]}", "--pid", "--mount"]

    def start(self, *arguments, text=""):
        """Runs the command there."""
        return Process(self.work, list(arguments), text, home=self.home, within=self.enter)

    def ip(self, *words):
        ip("-n", self.network.space(self.name), *words)

    def addresses(self):
        command = [*self.enter, "ip", "-6", "-o", "addr", "show", "dev", "net"]
        return subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.PIPE).stdout.decode()

    def is_ready(self):
        lines = self.addresses()
        return " fe80:" in lines and "tentative" not in lines

    def link_local(self):
        """Its link-local address, without an interface."""
        return next(word.split("/")[0] for word in self.addresses().split() if word.startswith("fe80:"))

    def background(self, *command, environment=None, within=()):
        """Starts a helper program there, until the check ends; the caller reads its output."""
        process = subprocess.Popen(
            [*self.enter, *within, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})})
        self.work.undone.callback(end, process)
        return process

    def responder(self, *arguments):
        """Starts a responder that implements only RFC 6762, and waits until it listens."""
        process = self.background(sys.executable, "-I", "-S", f"{ROOT}/Tests/Acceptance/responder.py", *arguments)
        if process.stdout.readline() != b"up\n":
            raise Failure("the responder does not start")
        return process

    def avahi(self):
        """Starts avahi-daemon there, with its own bus and folders."""
        folder = self.work.folder(None)
        os.chmod(folder, 0o755)
        for name, text in (("dbus.conf", DBUS.format(path=folder)), ("avahi.conf", AVAHI.format(name=self.name))):
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        self.bus = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={folder}/bus"}
        self.background("dbus-daemon", f"--config-file={folder}/dbus.conf", "--nofork", "--nopidfile")
        wait_for("the bus", PATIENCE, lambda: os.path.exists(f"{folder}/bus"))
        # The daemon's folders are compiled into it; in its own mounts, this device's replace them.
        script = (
            'mount --make-rprivate / && mkdir -p /run/avahi-daemon && mount -t tmpfs none /run/avahi-daemon && '
            f'exec avahi-daemon --no-drop-root --no-chroot --no-rlimits -f "{folder}/avahi.conf"')
        daemon = self.background("sh", "-c", script, environment=self.bus, within=("unshare", "-m"))
        wait_for("avahi-daemon", PATIENCE, lambda: self.answers(daemon))
        return daemon

    def answers(self, daemon):
        if daemon.poll() is not None:
            raise Failure(f"avahi-daemon ended: {daemon.stdout.read().decode(errors='replace')[-300:]}")
        done = subprocess.run(
            [*self.enter, "avahi-browse", "-pt", SERVICE], check=False, timeout=PATIENCE, env={**os.environ, **self.bus}, **QUIET)
        return done.returncode == 0

    def browse(self):
        """The services that avahi-browse resolves: the fields of each line."""
        done = subprocess.run(
            [*self.enter, "avahi-browse", "-rpt", SERVICE], check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.bus})
        lines = [line.split(";") for line in done.stdout.decode(errors="replace").splitlines()]
        return [line for line in lines if line[0] == "="]


def end(process):
    """Ends a helper program in any state."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    if process.poll() is None:
        process.kill()
        process.wait(5)
    process.stdout.close()
