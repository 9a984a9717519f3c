"""Secrets of real processes: codes, and the numbers computed from them. They are gone from memory
after a pairing, and are in no argument, variable, stored file or log. No core file or other process
gets the memory."""

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys

import pytest

from devices import PATIENCE, Receiver, random_file, sender
from outside import IS_ROOT, MIB, NOBODY, Failure, equal, require, wait_for
from test_scripts import Awaiting, first_line, new_code

ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
"""The order of P-256."""


def forms(code):
    """The secrets of a code, by their names: the code as a text, and the numbers computed from
    it."""
    digits = code.replace("-", "")
    stretched = hashlib.scrypt(digits.encode(), salt=b"peer-pair-v1 scrypt", n=1 << 14, r=8, p=1, maxmem=64 << 20, dklen=48)
    number = 1 + int.from_bytes(stretched, "big") % (ORDER - 1)
    text = {"the code": code.encode(), "its digits": digits.encode()}
    computed = {
        "the stretched code": stretched,
        "its secret number": number.to_bytes(32, "big"),
        "its secret number in OpenSSL's order": number.to_bytes(32, "little"),
    }
    # The C library writes to the first 16 bytes of memory that is freed, wiped or not.
    return text, {name: secret[16:] for name, secret in computed.items()}


def areas(pid):
    """The memory that a process can write to."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file:
            place, rights = line.split()[:2]
            if rights.startswith("rw"):
                yield tuple(int(bound, 16) for bound in place.split("-"))


def found_in(pid, secrets):
    """The names of the secrets that are in a process's memory."""
    found = set()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end in areas(pid):
            memory.seek(start)
            with contextlib.suppress(OSError):
                content = memory.read(end - start)
                found |= {name for name, secret in secrets.items() if secret in content}
    return found


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def traces(process, folder, outputs, secrets):
    """Where secrets are besides a process's memory: its arguments and variables, the files in a
    folder, and outputs."""
    places = {}
    for name in ("cmdline", "environ"):
        places[name] = content_of(f"/proc/{process}/{name}")
    for path, _, names in os.walk(folder):
        for name in names:
            # A file of a transfer under way may be gone by now.
            with contextlib.suppress(FileNotFoundError):
                places[os.path.join(path, name)] = name.encode() + b"\0" + content_of(os.path.join(path, name))
    places.update({path: content_of(path) for path in outputs})
    return sorted((place, name) for place, content in places.items() for name, secret in secrets.items() if secret in content)


def require_search(work, code):
    """A search that finds nothing is no proof before it has found something."""
    folder = f"{work.path}/control"
    os.mkdir(folder)
    for name in ("file", "output"):
        with open(f"{folder if name == 'file' else work.path}/{name}", "w", encoding="ascii") as file:
            file.write(code)
    control = subprocess.Popen(["sh", "-c", "echo started; read line", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"CODE": code})
    with control:
        control.stdout.readline()
        found = traces(control.pid, folder, [f"{work.path}/output"], {"it": code.encode()})
        control.stdin.close()
    equal([place for place, _ in found], sorted(["cmdline", "environ", f"{folder}/file", f"{work.path}/output"]), "places of a code")


def require_no_traces(work, process, secrets, is_shown=False):
    """No secret is in a process's arguments, variables, outputs or PEER_HOME."""
    home = f"{work.home(None)}/peer"
    require(any(names for _, _, names in os.walk(home)), "PEER_HOME has no file")
    outputs = [process.err_path] if is_shown else [process.out_path, process.err_path]
    equal(traces(process.pid, home, outputs, secrets), [], f"places of secrets of '{process.name()}'")


@contextlib.contextmanager
def paused(*processes):
    for process in processes:
        process.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.signal(signal.SIGCONT)


def paired(work, receiver, port, code):
    """A sender of a large file over a slow link, once both ends have paired and transfer."""
    old, _ = work.place()
    random_file(f"{old}/large", 64 * MIB)
    sending = sender(work, [f"{old}/large"], work.slow_link(port).port, code)

    def begun():
        for process in (receiver, sending):
            if process.poll():
                raise Failure(f"'{process.name()}' ended with {process.code}: {process.text()[-300:]}")
        return receiver.events("progress") and sending.events("progress")

    wait_for("progress at both ends", PATIENCE, begun)
    return sending


@pytest.mark.skipif(not IS_ROOT, reason="reads other processes' memory, so it needs root")
def test_a_code_from_a_file(work):
    """secrets: after a pairing by a file with the code, neither end has the code or the secret
    computed from it in memory, arguments, variables, PEER_HOME or outputs"""
    _, new = work.place()
    path = new_code(work)
    code = first_line(path)
    receiver = Awaiting(work, new, path)
    sending = paired(work, receiver, receiver.is_ready(), code)
    text, computed = forms(code)
    with paused(sending, receiver):
        # A search that finds nothing is no proof before it has found something.
        require(found_in(os.getpid(), {"it": code.encode()}), "the search does not find what is there")
        equal(found_in(sending.pid, text | computed), set(), "the sender's memory")
        equal(found_in(receiver.pid, text | computed), set(), "the receiver's memory")
        require_search(work, code)
        for process in (sending, receiver):
            require_no_traces(work, process, text | computed)


@pytest.mark.skipif(not IS_ROOT, reason="reads other processes' memory, so it needs root")
def test_a_shown_code(work):
    """secrets: after a pairing by a code that the receiver has shown, neither end has the secret
    computed from it in memory, and the code only the receiver in its output and memory"""
    _, new = work.place()
    receiver = Receiver(work, new)
    text, computed = forms(receiver.pairing_code)
    with paused(receiver):
        # It waits for a sender, so the secret is needed.
        require(found_in(receiver.pid, computed), "a waiting receiver has no secret, or it has an unknown form")
    sending = paired(work, receiver, receiver.port, receiver.pairing_code)
    with paused(sending, receiver):
        equal(found_in(sending.pid, text | computed), set(), "the sender's memory")
        equal(found_in(receiver.pid, computed), set(), "the receiver's memory")
        require_search(work, receiver.pairing_code)
        require_no_traces(work, sending, text | computed)
        require_no_traces(work, receiver, text | computed, is_shown=True)


@pytest.mark.skipif(not IS_ROOT, reason="starts processes of another user, so it needs root")
def test_another_process_of_the_user(work):
    """secrets: no other process of the same user can read the receiver's memory, except with
    PEER_DEBUGGABLE=1"""
    reading = "import os; os.open('/proc/%d/mem' % int(__import__('sys').argv[1]), os.O_RDONLY)"
    for value, is_readable in (("0", False), ("1", True)):
        work.environment["PEER_DEBUGGABLE"] = value
        _, new = work.place(NOBODY)
        receiver = Receiver(work, new, NOBODY)
        run = subprocess.run(
            [sys.executable, "-I", "-S", "-c", reading, str(receiver.pid)], user=NOBODY, group=NOBODY, extra_groups=[],
            capture_output=True, timeout=PATIENCE, check=False)
        equal(run.returncode == 0, is_readable, f"whether it can be read: {run.stderr.decode()[-200:]}")


def crashed(work, folder, command, is_debuggable):
    """Whether the kernel writes a core of a program that is aborted once it has written a line, in
    a folder in which it may write."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most)),
        env={**os.environ, "PEER_HOME": f"{work.home(None)}/peer", "PEER_DEBUGGABLE": is_debuggable,
             # The runtime's trace of a crash takes minutes.
             "SWIFT_BACKTRACE": "enable=no"})
    with process.stdout:
        require(process.stdout.readline(), f"{command[0]} has ended early")
        os.kill(process.pid, signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    equal(process.returncode, -signal.SIGABRT, f"the end of {command[0]}")
    return os.WCOREDUMP(status)


def test_a_crash(work):
    """secrets: a receiver that crashes leaves no core, even where the user's limit allows one"""
    _, new = work.place()
    if not crashed(work, new, ["sh", "-c", "echo started; exec sleep 60"], "0"):
        pytest.skip("a program that crashes leaves no core here")
    receiving = [work.binary, "receive", new, "--existing", "skip", "--listen", "127.0.0.1:0", "--json"]
    require(not crashed(work, new, receiving, "0"), "the receiver's memory is in a core")
    require(crashed(work, new, receiving, "1"), "the check would not notice a core")
