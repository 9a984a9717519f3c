"""Damages each file that two devices keep of an unfinished transfer and of each other, in every way.

Usage: Lab/damage PEER

Two homes know each other and have an unfinished transfer. For each file of both homes, and the
journal of the staged data, and for each way to damage it: lists the transfers of both, runs the same
commands again, and forgets the transfers. Prints each exit code with its sentence. Exits 0 if no
program crashes, and none takes the damage for a fault of the other device.
"""

import contextlib
import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time


def truncated(path, data):
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])


def emptied(path, _):
    with open(path, "wb"):
        pass


def flipped(path, data):
    with open(path, "r+b") as file:
        file.seek(len(data) // 2)
        file.write(bytes([data[len(data) // 2] ^ 1]))


def newer(path, data):
    with open(path, "wb") as file:
        file.write(data.replace(b" 1\n", b" 9\n", 1).replace(b" 2\n", b" 9\n", 1))


def random(path, data):
    with open(path, "wb") as file:
        file.write(os.urandom(len(data)))


def removed(path, _):
    os.unlink(path)


def made_a_directory(path, _):
    os.unlink(path)
    os.mkdir(path)


def made_a_link(path, _):
    os.unlink(path)
    os.symlink("/nowhere/at/all", path)


WAYS = (truncated, emptied, flipped, newer, random, removed, made_a_directory, made_a_link)


def wait_for(condition, patience=20):
    deadline = time.monotonic() + patience
    while not (found := condition()):
        if time.monotonic() > deadline:
            sys.exit("damage: it takes too long")
        time.sleep(0.02)
    return found


class Devices:
    """Both homes in a folder, and the commands that run on them."""

    def __init__(self, peer, work):
        self.peer, self.work, self.log, self.said = peer, work, f"{work}.events", []
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]

    def home(self, name):
        return {**os.environ, "HOME": self.work, "PEER_HOME": f"{self.work}/{name}"}

    def run(self, home, *words, text=""):
        """Runs a command to its end; keeps what it said."""
        done = subprocess.run([self.peer, *words], input=text.encode(), capture_output=True, timeout=60, env=self.home(home), check=False)
        lines = (done.stderr + done.stdout).decode(errors="replace").splitlines()
        told = [line for line in lines if line.startswith("peer: ")] or lines[-1:]
        self.said.append((f"{home}: {' '.join(words[:2])}", done.returncode, told))
        return done.returncode

    def events(self, kind):
        with open(self.log, encoding="utf-8") as file:
            return [event for event in map(json.loads, file) if event["event"] == kind]

    @contextlib.contextmanager
    def receiver(self):
        with open(self.log, "wb") as log:
            one = subprocess.Popen(
                [self.peer, "receive", f"{self.work}/in", "--keep", "--remember", "--no-announce", "--json", "--listen", f"127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.DEVNULL, env=self.home("new"))
        wait_for(lambda: one.poll() is not None or self.events("listening"))
        try:
            yield one
        finally:
            ended = one.poll()
            one.terminate()
            one.wait(20)
            told = [event["message"] for kind in ("notice", "error") for event in self.events(kind) if event["message"] != "interrupted"]
            self.said.append(("new: receive", ended, told))

    def send(self, *words, text=""):
        return self.run("old", "send", *words, "--to", f"127.0.0.1:{self.port}", "--remember", "--code-file", "-", "--give-up-after", "2", text=text)

    def begin(self):
        """They pair, and a transfer is left unfinished."""
        for name, size in (("first", 1), ("big", 24 << 20)):
            with open(f"{self.work}/{name}", "wb") as file:
                file.write(os.urandom(size))
        with self.receiver():
            code = wait_for(lambda: self.events("code"))[0]["code"]
            if self.send(f"{self.work}/first", text=f"{code}\n") != 0:
                sys.exit(f"damage: the devices do not pair: {self.said}")
            words = ["send", f"{self.work}/big", "--to", f"127.0.0.1:{self.port}", "--remember", "--limit", "8M", "--json"]
            one = subprocess.Popen([self.peer, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.home("old"))
            wait_for(lambda: any(event["bytes"] > 2 << 20 for event in self.events("progress")))
            one.kill()
            one.wait()
            wait_for(lambda: self.events("interrupted"))

    def try_all(self):
        """Everything that a user would do next."""
        self.said = []
        for home in ("new", "old"):
            self.run(home, "resume", "list")
        with self.receiver():
            codes = self.events("code")
            self.send(f"{self.work}/big", text=f"{codes[0]['code']}\n" if codes else "")
        for home in ("new", "old"):
            for record in glob.glob(f"{self.work}/{home}/transfers/*"):
                self.run(home, "forget", os.path.basename(record)[:8])


def is_bad(code, told):
    return (code or 0) < 0 or any("broke the protocol" in line or "Fatal" in line for line in told)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    with tempfile.TemporaryDirectory(prefix="peer-damage-") as folder:
        kept, work = f"{folder}/kept", f"{folder}/work"
        devices = Devices(os.path.abspath(sys.argv[1]), work)
        os.makedirs(f"{work}/in")
        devices.begin()
        os.rename(work, kept)
        files = [name for home in ("new", "old") for name in glob.glob(f"{home}/**", root_dir=kept, recursive=True)]
        files = sorted(name for name in [*files, *glob.glob("in/.peer-*/journal", root_dir=kept)] if os.path.isfile(f"{kept}/{name}"))
        count = bad = 0
        for name in files:
            for way in WAYS:
                shutil.rmtree(work, ignore_errors=True)
                shutil.copytree(kept, work, symlinks=True)
                with open(f"{work}/{name}", "rb") as file:
                    data = file.read()
                way(f"{work}/{name}", data)
                devices.try_all()
                count += 1
                print(f"{name} is {way.__name__.replace('_', ' ')}")
                for what, code, told in devices.said:
                    bad += is_bad(code, told)
                    print(f"  {what}: {code}" + "".join(f"\n    {line}" for line in told))
        print(f"{count} cases of {len(files)} files, {bad} bad")
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
