"""Programs over ssh with AES-128-GCM; the server is our own, one process tree for the one connection."""

import os
import shlex
import shutil
import socket
import subprocess

from bench_contestants import Run, write
from bench_place import Launched


class OverSsh:
    """A program whose client starts ssh."""

    def __init__(self, client):
        """`client` returns the client's words for ssh's options, the port, and source and
        destination."""
        self.client = client

    def __call__(self, place, source, destination):
        keys = place.file("ssh")
        if not os.path.isdir(keys):
            prepare(keys)
        server = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(30)
            options = ["-F", "none", "-i", f"{keys}/user", "-c", "aes128-gcm@openssh.com"]
            for setting in ("BatchMode=yes", f"UserKnownHostsFile={keys}/known", "StrictHostKeyChecking=accept-new", "IdentitiesOnly=yes"):
                options += ["-o", setting]
            sender = Launched(place, self.client(options, str(listening.getsockname()[1]), source, destination))
            with listening.accept()[0] as connection:
                receiver = Launched(place, [server, "-i", "-f", f"{keys}/server"], stdin=connection, stdout=connection)
        sender.wait()
        receiver.wait(codes=None)
        # The work has ended for the user when the client ends; the server's clean-up counts as its
        # CPU time.
        return Run(sender, receiver, end=sender.end_time)


def rsync(options, port, source, destination):
    return ["rsync", "-a", "-W", "-e", shlex.join(["ssh", "-p", port, *options]), source, f"127.0.0.1:{destination}/"]


def scp(options, port, source, destination):
    return ["scp", "-r", "-p", "-q", "-P", port, *options, source, f"127.0.0.1:{destination}/"]


def tar(options, port, source, destination):
    shell, (parent, name) = shlex.join(["ssh", "-p", port, *options, "127.0.0.1"]), os.path.split(source)
    remote = f"tar -b 512 -C {shlex.quote(destination)} -xpf -"
    return ["bash", "-c", f"set -o pipefail; tar -b 512 -C {shlex.quote(parent)} -cf - {shlex.quote(name)} | {shell} {shlex.quote(remote)}"]


def prepare(keys):
    """Keys and settings of an ssh server that only lets us in."""
    os.mkdir(keys, 0o700)
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{keys}/{name}"], check=True)
    write(f"{keys}/server", (
        f"HostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\nCiphers aes128-gcm@openssh.com\nLogLevel ERROR\n"
        "Subsystem sftp internal-sftp\n"))
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", 0o755, exist_ok=True)
