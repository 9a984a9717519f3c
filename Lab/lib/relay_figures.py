"""Measures a relay on this machine: processor time, memory and descriptors, alone and under floods.

Usage: Lab/relay PEER [--size MIB]
  PEER     the program
  --size   how much one transfer has (default: 1024)

Each row is one transfer of an honest pair: until it has its place, from the code to the end, the
relay's processor time for each MB that passed, its memory, and its descriptors. The rows are: alone
(three times); while four threads connect without a token, or say half a request; beside 5,000
devices that ask for places with one token; beside 200 callers that never read. Ends with 1 if a
transfer fails, or an honest pair beside a flood takes 5 s. Needs /dev/shm, and 12,000 open files.
"""

import argparse
import contextlib
import json
import os
import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../../Tests/Interop")
import relays  # noqa: E402

LONGEST = 5
"""How many seconds an honest pair may take beside a flood."""


def wait(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > limit:
            sys.exit("relay: it takes too long")
        time.sleep(0.02)
    return found


def events(path, name):
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return [event for event in map(json.loads, file.read().split("\n")[:-1]) if event["event"] == name]
    return []


class Relay:
    """The relay that is measured, and the folder of everything."""

    def __init__(self, program, work):
        self.program, self.work, self.token_file, self.count = program, work, f"{work}/token", 0
        command = [program, "relay", "--token-file", self.token_file, "--listen", "127.0.0.1:0", "--json"]
        with open(f"{work}/relay", "wb") as out:
            self.process = subprocess.Popen(command, stdout=out)
        self.port = wait(lambda: events(f"{work}/relay", "listening"))[0]["port"]
        with open(self.token_file, encoding="ascii") as file:
            self.token = relays.token_of(file.read())

    def asking(self, host):
        return relays.Asking(self.port, self.token, f"127.0.0.1:{self.port}", host)

    def seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def row(self, name, size, is_flooded=True):
        """Transfers so many MiB between two new devices, and prints the row."""
        self.count += 1
        place = f"{self.work}/{self.count}"
        os.makedirs(f"{place}/new")
        with open(f"{place}/file", "wb") as file:
            block = secrets.token_bytes(1 << 20)
            for number in range(size):
                file.write(block[number % 4096:] + block[:number % 4096])
        via = ["--via", f"127.0.0.1:{self.port}", "--via-token-file", self.token_file, "--json"]
        begun = time.monotonic()
        with open(f"{place}/out", "wb") as out:
            receiver = subprocess.Popen(
                [self.program, "receive", f"{place}/new", "--listen", "127.0.0.1:0", *via], stdout=out,
                env={**os.environ, "PEER_HOME": f"{place}/receiver"})
        code = wait(lambda: [event["code"] for event in events(f"{place}/out", "code") if len(event["code"]) > 9])[-1]
        placed, used = time.monotonic(), self.seconds()
        sender = subprocess.run(
            [self.program, "send", f"{place}/file", "--code-file", "-", "--compress", "never", *via], input=f"{code}\n",
            text=True, stdout=subprocess.DEVNULL, check=False, env={**os.environ, "PEER_HOME": f"{place}/sender"})
        codes = sender.returncode, receiver.wait(60)
        ended, used = time.monotonic(), self.seconds() - used
        figure = f"{used * 1e6 / (size * 1.048576):7.0f} us/MB" if size > 1 else " " * 13
        print(f"{name:12} {placed - begun:6.2f} s {ended - placed:6.2f} s {figure} {self.memory():8} kB "
              f"{len(os.listdir(f'/proc/{self.process.pid}/fd')):6} descriptors", flush=True)
        if codes != (0, 0) or is_flooded and ended - begun > LONGEST:
            sys.exit(f"relay: {name}: exit codes {codes}, {ended - begun:.1f} s")


def without_a_token(relay, ended, held):
    while not ended.is_set():
        with contextlib.suppress(OSError):
            one = socket.create_connection(
                ("127.0.0.1", relay.port), 5, (f"127.{secrets.randbelow(4) + 1}.0.{secrets.randbelow(250) + 1}", 0))
            one.sendall(b"\x11\x00\x50half")
            held.append(one)
            if len(held) > 3000 or secrets.randbelow(2):
                held.pop(0).close()


def slow_readers(relay, count):
    """Joined calls whose callers read nothing, while the other ends send as much as is taken."""
    registered, held = relay.asking("127.6.0.1"), []
    place = registered.register()
    for number in range(count):
        caller, answers = relay.asking(f"127.7.0.{number + 1}"), []
        calling = threading.Thread(target=lambda: answers.append(caller.call(place)))
        calling.start()
        _, body = relays.read(registered.plain)
        answering = relay.asking(f"127.8.0.{number + 1}")
        answering.answer(body[:16])
        calling.join()
        answering.plain.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                answering.plain.send(bytes(1 << 16))
        held += [caller, answering]
    return [registered, *held]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--size", type=int, default=1024)
    chosen = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="peer-relay-", dir="/dev/shm") as work:
        relay = Relay(os.path.abspath(chosen.program), work)
        print(f"{'':12} {'place':>8} {'the rest':>8} {'processor':>13} {'memory':>11}")
        for _ in range(3):
            relay.row("alone", chosen.size, is_flooded=False)
        ended, held = threading.Event(), []
        threads = [threading.Thread(target=without_a_token, args=(relay, ended, held)) for _ in range(4)]
        for one in threads:
            one.start()
        relay.row("no token", 1)
        ended.set()
        for one in threads:
            one.join()
        held.clear()
        for number in range(5000):
            with contextlib.suppress(OSError, EOFError, AssertionError):
                held.append(relay.asking(f"127.5.{number // 40}.{number % 40 + 1}"))
                held[-1].register()
        relay.row("places", 1)
        held = slow_readers(relay, 200)
        relay.row("slow readers", 1)
        held.clear()
        relay.process.terminate()
        print(f"the relay ended with {relay.process.wait(60)}")


main()
