"""What is measured side by side: peer, the yardstick, rsync over ssh, tar through TLS, and a copy without a network.

Each contestant is a function of the place, the source folder and the empty destination folder, and gives one `Run`.
"""

import os
import re
import shutil
import socket
import subprocess
import threading
import time

from bench_place import Launched
from outside import require

SUITE = "TLS_AES_128_GCM_SHA256"


class Run:
    """What one run cost both ends: seconds from the first start to the last end, CPU seconds, peak memory."""

    def __init__(self, sender, receiver, end=None, **moments):
        ends = [one for one in (sender, receiver) if one is not None]
        self.begin = min(one.begin for one in ends)
        self.end = end or max(one.end_time for one in ends)
        self.sender_cpu, self.sender_peak = sender.cpu, sender.peak
        self.receiver_cpu, self.receiver_peak = (receiver.cpu, receiver.peak) if receiver else (0.0, 0)
        self.system = sum(one.system for one in ends)
        self.moments = moments
        self.others = 0.0

    @property
    def seconds(self):
        return self.end - self.begin

    @property
    def cpu(self):
        return self.sender_cpu + self.receiver_cpu


class Peer:
    """The command, as a user starts it: first the receiver, then the sender, with the code at hand."""

    def __init__(self, binary, send_options=(), link=None, beneath=None):
        """`beneath` gives, for 'sender' or 'receiver', the words of a tool that the command is run under."""
        self.binary, self.send_options, self.link = binary, list(send_options), link
        self.beneath = beneath or (lambda role: [])

    def __call__(self, place, source, destination):
        homes = place.fresh("homes")
        receiver = Launched(
            place, [*self.beneath("receiver"), self.binary, "receive", destination, "--listen", "127.0.0.1:0", "--json"],
            events=True, environment={"PEER_HOME": f"{homes}/receiver"})
        port = receiver.event("listening")[1]["port"]
        shown, code = receiver.event("code")
        link = Link(place, port, *self.link) if self.link else None
        sender = Launched(
            place,
            [*self.beneath("sender"), self.binary, "send", source, "--to", f"127.0.0.1:{link.port if link else port}",
             "--code-file", "-", "--json", *self.send_options],
            text=code["code"] + "\n", events=True, environment={"PEER_HOME": f"{homes}/sender"})
        sender.wait()
        receiver.wait()
        if link:
            link.end()
        return Run(
            sender, receiver,
            listening=shown - receiver.begin,
            paired=sender.event("paired")[0] - sender.begin,
            staged=receiver.event("staged")[0] - sender.begin,
            done=sender.event("done")[0] - sender.begin,
            exited=sender.end_time - sender.begin)


class Link:
    """A network with a delay, a window and a rate before a port of this machine."""

    def __init__(self, place, port, delay, window, rate):
        self.run = Launched(place, [place.program("link"), str(port), str(delay), str(window), str(rate)], events=True)
        self.port = int(self.run.line(str.isdecimal)[1])

    def end(self):
        self.run.end()


class Yardstick:
    """One file over bare TLS."""

    def __init__(self, streams, beneath=None):
        """`beneath` is as for `Peer`."""
        self.streams = str(streams)
        self.beneath = beneath or (lambda role: [])

    def __call__(self, place, source, destination):
        certificate, key = credentials(place)
        receiver = Launched(
            place,
            [*self.beneath("receiver"), place.program("yardstick"), "receive", f"{destination}/big", self.streams, certificate,
             key],
            events=True)
        port = receiver.line(str.isdecimal)[1]
        sender = Launched(
            place, [*self.beneath("sender"), place.program("yardstick"), "send", f"{source}/big", self.streams, port])
        sender.wait()
        receiver.wait()
        return Run(sender, receiver)


def credentials(place):
    """A certificate that nobody checks, and its key."""
    certificate, key = place.file("certificate.pem"), place.file("key.pem")
    if not os.path.exists(certificate):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
             "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    return certificate, key


class Rsync:
    """rsync over ssh with AES-128-GCM; the server is our own, one process tree for the one connection."""

    def __call__(self, place, source, destination):
        keys = self.prepare(place)
        listening = socket.create_server(("127.0.0.1", 0))
        listening.settimeout(30)
        served = []

        def serve():
            connection, _ = listening.accept()
            with connection:
                served.append(Launched(
                    place, [shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin"), "-i", "-f", f"{keys}/server"],
                    stdin=connection.fileno(), stdout=connection.fileno()))

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        shell = f"ssh -F none -p {listening.getsockname()[1]} -i {keys}/user -c aes128-gcm@openssh.com " \
            f"-o UserKnownHostsFile={keys}/known -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes -o BatchMode=yes"
        try:
            sender = Launched(place, ["rsync", "-a", "-W", "-e", shell, source, f"127.0.0.1:{destination}/"])
            sender.wait()
            server.join(30)
            served[0].wait(codes=None, seconds=30)
        finally:
            listening.close()
        # The work is over for the user when the client ends; what the server needs to go away counts as its CPU time.
        return Run(sender, served[0], end=sender.end_time)

    def prepare(self, place):
        """Keys and settings of an ssh server that serves nobody but us."""
        keys = place.file("ssh")
        if os.path.isdir(keys):
            return keys
        os.mkdir(keys, 0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{keys}/{name}"], check=True)
        shutil.copy(f"{keys}/user.pub", f"{keys}/authorized")
        with open(f"{keys}/host.pub", encoding="ascii") as file:
            host = " ".join(file.read().split()[:2])
        with open(f"{keys}/known", "w", encoding="ascii") as file:
            file.write(f"* {host}\n")
        with open(f"{keys}/server", "w", encoding="ascii") as file:
            file.write(
                f"HostKey {keys}/host\nAuthorizedKeysFile {keys}/authorized\nStrictModes no\nUsePAM no\nPidFile none\n"
                "PermitRootLogin prohibit-password\nPasswordAuthentication no\nCiphers aes128-gcm@openssh.com\nLogLevel ERROR\n")
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", 0o755, exist_ok=True)
        return keys


class Tar:
    """tar through socat's TLS."""

    def __call__(self, place, source, destination):
        certificate, key = credentials(place)
        settings = {"OPENSSL_CONF": self.settings(place)}
        listen = f"OPENSSL-LISTEN:0,bind=127.0.0.1,cert={certificate},key={key},verify=0"
        # The server names its port in what it says about itself, on standard error.
        receiver = Launched(
            place, ["bash", "-c", f"set -o pipefail; socat -d -d -b 262144 -u {listen} - | tar -b 512 -C '{destination}' -xpf -"],
            environment=settings)
        port = self.port(receiver)
        target = f"OPENSSL:127.0.0.1:{port},verify=0"
        parent, name = os.path.split(source)
        sender = Launched(
            place, ["bash", "-c", f"set -o pipefail; tar -b 512 -C '{parent}' -cf - '{name}' | socat -b 262144 -u - {target}"],
            environment=settings)
        sender.wait()
        receiver.wait()
        return Run(sender, receiver)

    def settings(self, place):
        """socat has no word for the suite of TLS 1.3: the library is told."""
        path = place.file("openssl.cnf")
        with open(path, "w", encoding="ascii") as file:
            file.write(
                "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = tls\n"
                f"[tls]\nMinProtocol = TLSv1.3\nCiphersuites = {SUITE}\n")
        return path

    def port(self, receiver):
        limit = time.monotonic() + 15
        while time.monotonic() < limit:
            with open(receiver.errors_path, encoding="utf-8", errors="replace") as errors:
                found = re.search(r"listening on AF=2 127\.0\.0\.1:(\d+)", errors.read())
            if found:
                return found.group(1)
            require(receiver.popen.poll() is None, f"socat: {receiver.last_words()}")
            time.sleep(0.001)
        raise AssertionError(f"socat does not listen: {receiver.last_words()}")


class Copy:
    """A copy on this machine, without a network and without encryption: what the file system itself costs."""

    def __call__(self, place, source, destination):
        copying = Launched(place, ["cp", "-a", source, destination])
        copying.wait()
        return Run(copying, None)
