"""The measured programs: peer, the floor, WDT, and tar through TLS; bench_ssh.py and
bench_services.py have the others.

Each contestant is a function of the place, the source folder and the empty destination folder, and
returns one `Run`.
"""

import contextlib
import os
import shutil
import subprocess
import sys

from bench_disk import waiting_disk
from bench_place import Launched, program
from outside import ROOT

sys.path.append(f"{ROOT}/Tests/Acceptance")

from bundles import ID, make_bundle  # noqa: E402

STREAMS = "2"
"""The streams of the floor and of WDT: more make neither of them faster on one machine."""


NUMBER = r"(?m)^(\d+)\n"
"""A line with a number, such as a port."""


class Run:
    """The cost of one run: its beginning and end, and CPU seconds and peak memory of the sender and
    the receiver."""

    def __init__(self, sender, receiver, end=None):
        self.begin = min(sender.begin, receiver.begin)
        self.end = end or max(sender.end_time, receiver.end_time)
        self.cpu, self.peak = (sender.cpu, receiver.cpu), (sender.peak, receiver.peak)
        self.others = 0.0

    @property
    def seconds(self):
        return self.end - self.begin


def both(sender, receiver):
    """The run of two ends, once they have ended."""
    sender.wait()
    receiver.wait()
    return Run(sender, receiver)


def nothing(_):
    return []


class Peer:
    """The command, as a user starts it: first the receiver, then the sender, with the code at
    hand."""

    def __init__(self, binary, send_options=(), link=None, waits=None, beneath=nothing):
        """`waits` is 'source' or 'destination', where that disk waits.

        For 'sender' or 'receiver', `beneath` returns the command of a tool under which the program
        runs.
        """
        self.binary, self.send_options, self.link, self.waits, self.beneath = binary, send_options, link, waits, beneath

    def __call__(self, place, source, destination):
        with contextlib.ExitStack() as undone:
            if self.waits == "source":
                source = undone.enter_context(waiting_disk(place, source))
            elif self.waits == "destination":
                destination = undone.enter_context(waiting_disk(place, destination))
            return self.carry(place, source, destination)

    def carry(self, place, source, destination):
        return peers(
            place, place.fresh("homes"), [*self.beneath("receiver"), self.binary, "receive", destination],
            [*self.beneath("sender"), self.binary, "send", source, *self.send_options], self.link)


def peers(place, homes, receive, send, through=None):
    """A transfer by two commands, possibly through a link; each has its own home."""
    receiver = Launched(
        place, [*receive, "--listen", "127.0.0.1:0", "--json"], environment={"PEER_HOME": f"{homes}/receiver"})
    port, code = receiver.says(r'"port":(\d+)'), receiver.says(r'"code":"([\d-]+)"')
    link = Launched(place, [program("link"), port, *map(str, through)]) if through else None
    sender = Launched(
        place,
        [*send, "--to", f"127.0.0.1:{link.says(NUMBER) if link else port}", "--code-file", "-", "--json"],
        text=f"{code}\n", environment={"PEER_HOME": f"{homes}/sender"})
    run = both(sender, receiver)
    if link:
        link.end()
    return run


class App:
    """The command, with an app whose extension appends the items of one folder; the time includes
    the app's import."""

    def __init__(self, binary, way):
        """`way` is the platform for which the test app's extension is asked to export."""
        self.binary, self.way = binary, way

    def __call__(self, place, source, destination):
        homes = place.fresh("homes")
        bundle = make_bundle(os.path.dirname(os.path.realpath(self.binary)), f"{homes}/bundle", ID)
        for home in ("sender", "receiver"):
            self.app(f"{homes}/{home}", "install", bundle)
        # It makes its container when it runs.
        self.app(f"{homes}/sender", "run", ID, "write", "Documents/kept", "kept")
        documents = "containers/" + ID + "/Documents"
        shutil.copytree(source, f"{homes}/sender/{documents}/many", symlinks=True)
        run = peers(
            place, homes, [self.binary, "receive", "--app", ID, "--platform", self.way], [self.binary, "send", "--app", ID])
        os.rename(f"{homes}/receiver/{documents}/many", f"{destination}/{os.path.basename(source)}")
        return run

    def app(self, home, *words):
        subprocess.run(
            [self.binary, "app", *words], env={**os.environ, "PEER_HOME": home}, check=True, timeout=60,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Floor:
    """The cost of the work itself: bench_floor.c."""

    def __init__(self, beneath=nothing):
        """`beneath` is as for `Peer`."""
        self.beneath = beneath

    def __call__(self, place, source, destination):
        receiver = Launched(place, [*self.beneath("receiver"), program("floor"), "receive", destination, STREAMS])
        port = receiver.says(NUMBER)
        return both(Launched(place, [*self.beneath("sender"), program("floor"), "send", source, STREAMS, port]), receiver)


class OtherFloor:
    """Another program that does the floor's work, both ends in one command; its whole cost counts
    for its sender."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, place, source, destination):
        command = Launched(place, [self.binary, source, destination, STREAMS])
        command.wait()
        run = Run(command, command)
        run.cpu = command.cpu, 0.0
        return run


class WDT:
    """Facebook's program, with the cipher that all have."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, place, source, destination):
        usual = [self.binary, "-ipv4", "-encryption_type=aes128gcm"]
        libraries = {"LD_LIBRARY_PATH": os.path.dirname(os.path.abspath(self.binary))}
        receiver = Launched(
            place, [*usual, "-hostname", "127.0.0.1", "-start_port", "0", f"-num_ports={STREAMS}", "-directory", destination],
            environment=libraries)
        address = receiver.says(r"(?m)^(wdt://.*)\n")
        return both(Launched(place, [*usual, "-directory", source, "-"], text=f"{address}\n", environment=libraries), receiver)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class Tar:
    """tar through socat's TLS."""

    def __call__(self, place, source, destination):
        certificate, key = place.file("certificate.pem"), place.file("key.pem")
        # socat has no option for the suite of TLS 1.3: the library's settings choose it.
        settings = {"OPENSSL_CONF": place.file("openssl.cnf")}
        if not os.path.exists(certificate):
            write(settings["OPENSSL_CONF"], (
                "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = tls\n"
                "[tls]\nMinProtocol = TLSv1.3\nCiphersuites = TLS_AES_128_GCM_SHA256\n"))
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                 "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        listen = f"OPENSSL-LISTEN:0,bind=127.0.0.1,cert={certificate},key={key},verify=0"
        receiver = Launched(
            place, ["bash", "-c", f"set -o pipefail; socat -d -d -b 262144 -u {listen} - | tar -b 512 -C '{destination}' -xpf -"],
            environment=settings)
        port = receiver.says(r"listening on AF=2 127\.0\.0\.1:(\d+)")
        target, (parent, name) = f"OPENSSL:127.0.0.1:{port},verify=0", os.path.split(source)
        sender = Launched(
            place, ["bash", "-c", f"set -o pipefail; tar -b 512 -C '{parent}' -cf - '{name}' | socat -b 262144 -u - {target}"],
            environment=settings)
        return both(sender, receiver)
