"""Tries a Debian package in fresh systems without Swift; prints a line for each check.

Usage: package_trial.py PACKAGE   as root, in a mount namespace of its own
"""

import glob
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/../../Scripts/lib")

from outside import Failure, Skip, check_line, equal, require  # noqa: E402
from package_systems import CODENAMES, FOLDER, Network, System  # noqa: E402
from package_transfers import reaped, transfer  # noqa: E402

OTHER = "sid"
"""A system for which no package is made."""

NOBODY = 61234
"""A user without a name."""

HYBRID_SINCE = (3, 5)
"""The first OpenSSL with a key exchange that quantum computers do not break."""


class Trial:
    """The checks, and the systems in which they run."""

    def __init__(self, package, work):
        self.package, self.work = package, work
        self.archive = next(iter(glob.glob(f"{os.path.dirname(package)}/peer-*.tar.gz")), None)
        self.network = Network()
        self.systems, self.before, self.failures, self.transfers = {}, {}, 0, 0

    def check(self, name, body):
        try:
            outcome, figure = "ok", body() or ""
        except Skip as skip:
            outcome, figure = "skipped", str(skip)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            outcome, figure = "FAILED", str(failure)
            self.failures += 1
        print(check_line(name, outcome, figure), flush=True)
        return outcome == "ok"

    def run(self):
        ready = [name for name in CODENAMES if self.check(f"{name}: installs", lambda: self.install(name))]
        for name in ready:
            system = self.systems[name]
            self.check(f"{name}: peer --version, peer help", lambda: version(system))
            self.check(f"{name}: man peer", lambda: manual(system))
            self.check(f"{name}: completion in bash", lambda: completion(system))
        for sender in ready:
            for receiver in ready:
                self.check(f"a transfer from {sender} to {receiver}", lambda: self.exchange(sender, receiver))
        for name in ready:
            self.check(f"{name}: goes without a trace", lambda: self.remove(name))
        if self.archive:
            for name in [*CODENAMES, OTHER]:
                self.check(f"{name}: the archive, without root", lambda: self.unpack(name))

    def install(self, name):
        # Known from here on to end(), even if the next steps fail.
        system = self.systems[name] = System(name, self.work)
        equal([word for word in ("swift", "peer") if system.has(word)], [], "what is there already")
        system.run("apt-get", "update", "-qq")
        self.before[name] = system.contents()
        system.install(self.package)
        return ", ".join(system.run("dpkg-query", "-W", "-f", "${Depends}", "peer").split(", "))

    def exchange(self, sender, receiver):
        self.transfers += 1
        groups = transfer(self.systems[sender], self.systems[receiver], self.network.path, self.transfers)
        versions = [self.systems[name].openssl() for name in (sender, receiver)]
        equal(groups, {"X25519MLKEM768" if min(versions) >= HYBRID_SINCE else "X25519"}, f"the key exchange between OpenSSL {versions}")
        return f"{', '.join(groups)}; OpenSSL {' and '.join('.'.join(map(str, one)) for one in versions)}"

    def remove(self, name):
        system = self.systems[name]
        system.run("apt-get", "purge", "-y", "-qq", "--autoremove", "peer")
        before, after = self.before[name], system.contents()
        differences = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        equal(differences[:20], [], f"{len(differences)} files and folders differ from before: the first are")
        return f"{len(after)} files and folders as before"

    def unpack(self, name):
        """The archive in a bare system: unpacked, run, used for a transfer and removed."""
        system = self.systems[f"{name} bare"] = System(name, tempfile.mkdtemp(dir=self.work))
        if not system.run("sh", "-c", "ls /usr/lib/*/libssl.so.3 2>/dev/null || true"):
            system.run("apt-get", "update", "-qq")
            system.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "libssl3")
        os.mkdir(f"{system.root}/tmp/user", 0o700)
        os.chown(f"{system.root}/tmp/user", NOBODY, NOBODY)
        shutil.copy(self.archive, f"{system.root}/tmp/archive.tar.gz")
        user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", "HOME=/tmp/user", "sh", "-euc"]
        system.run(*user, "tar -xzf /tmp/archive.tar.gz -C ~; ~/.local/bin/peer --version --verbose")
        system.environment["PATH"] = f"/tmp/user/.local/bin:{system.environment['PATH']}"
        self.transfers += 1
        groups = transfer(system, system, self.network.path, self.transfers)
        system.run(*user, "cd; tar -tzf /tmp/archive.tar.gz | grep -v '/$' | xargs rm; test -z \"$(find ~ -type f)\"")
        return f"{', '.join(groups)}; OpenSSL {'.'.join(map(str, system.openssl()))}"

    def end(self):
        self.network.end()
        # A mount that is not removed here is removed with the namespace.
        for system in self.systems.values():
            system.end()


def version(system):
    text = system.run("peer", "--version").strip()
    recorded = system.run("dpkg-query", "-W", "-f", "${Version}", "peer")
    require(recorded.startswith(text.removeprefix("peer ") + "-"), f"{text}, in a package of {recorded}")
    require("Usage:" in system.run("peer", "help"), "no help")
    return text


def manual(system):
    for page in "peer", "peer-send", "peer-receive", "peer-app":
        text = system.run("man", page)
        require(f"{page.upper()}(1)" in text, f"man {page}: {text[:200]!r}")
    return f"{len(system.run('man', 'peer').splitlines())} lines"


def completion(system):
    """Types at a shell; returns what a user then sees."""
    process, terminal = pty.fork()
    if process == 0:
        words = system.words(["bash", "--norc", "-i"])
        os.execvpe(words[0], words, {**system.environment, "TERM": "xterm"})
    try:
        os.write(terminal, b". /usr/share/bash-completion/bash_completion; PS1='rea''dy '; bind 'set enable-bracketed-paste off'\n")
        await_text(terminal, b"ready ")
        os.write(terminal, b"peer sen\t")
        await_text(terminal, b"peer send ")
        os.write(terminal, b"--exclude-c\t")
        await_text(terminal, b"--exclude-caches ")
    finally:
        os.close(terminal)
        reaped(process)
    return "peer sen<TAB>, --exclude-c<TAB>"


def await_text(terminal, wanted):
    seen, limit = b"", time.monotonic() + 30
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, limit - time.monotonic()))
        if not ready:
            raise Failure(f"not seen: {wanted!r} in {seen[-200:]!r}")
        seen += os.read(terminal, 4096)


def main(arguments):
    os.makedirs(FOLDER, exist_ok=True)
    work = tempfile.mkdtemp(prefix="trial-", dir=FOLDER)
    trial = Trial(os.path.abspath(arguments[0]), work)
    try:
        trial.run()
    finally:
        trial.end()
        shutil.rmtree(work, ignore_errors=True)
    return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
