"""Guarantees for scripts: no question without a terminal, a code in a file, exit codes that no
other check reaches."""

import os
import pty
import select
import signal
import stat
import subprocess
import time

import pytest

from devices import PATIENCE, Process, Receiver, other_code, sender, small_file
from needs import needs, terminals
from outside import ROOT, equal, require, run_script, wait_for

PROMPTS = (b"Code shown", b"Accept this", b"Press Enter")


def new_code(work, name="code"):
    """A code in a new file; returns its path."""
    path = f"{work.path}/{name}"
    equal(Process(work, ["code", "new", "--code-file", path]).wait(), 0, "exit code of code new")
    return path


def first_line(path):
    with open(path, encoding="ascii") as file:
        return file.readline().strip()


class Awaiting(Process):
    """A receiver whose code comes from its own file."""

    def __init__(self, work, destination, file, options=()):
        super().__init__(work, ["receive", destination, "--code-file", file, "--listen", "127.0.0.1:0", "--json", *options])

    def is_ready(self):
        """Waits until the code may be entered; returns the port."""
        def found():
            require(self.is_running() or self.events("code"), f"the receiver ended with {self.code}: {self.text()[-300:]}")
            return self.events("code")

        equal(wait_for("'code' at the receiver", PATIENCE, found)[0]["code"], None, "the code that is told")
        return self.events("listening")[0]["port"]


def test_a_given_code(work):
    """--code-file at the receiver: both ends take a code that 'peer code new' has made, and no
    output has it"""
    old, new = work.place()
    small_file(f"{old}/file")
    path = new_code(work)
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600, "mode of the file")
    again = Process(work, ["code", "new", "--code-file", path])
    equal(again.wait(), 1, "exit code where the file is there")
    code = first_line(path)
    printed = Process(work, ["code", "new"])
    equal(printed.wait(), 0, "exit code without a file")
    require(printed.output().strip() != code and len(printed.output()) == 10, "the code that is printed")
    receiver = Awaiting(work, new, path)
    port = receiver.is_ready()
    sending = Process(work, ["send", f"{old}/file", "--to", f"127.0.0.1:{port}", "--code-file", path, "--json"])
    equal((sending.wait(), receiver.wait()), (0, 0), f"exit codes: {sending.text()} {receiver.text()}")
    run_script("check-trees", "--inside", old, new)
    for process in (sending, receiver):
        require(code not in process.text() and code.replace("-", "") not in process.text(), "the code is in an output")


def test_a_given_code_is_spent(work):
    """--code-file at the receiver: three wrong codes end it with 3, and no other code is shown"""
    _, new = work.place()
    path = new_code(work)
    receiver = Awaiting(work, new, path)
    port = receiver.is_ready()
    small_file(f"{work.path}/file")
    for step in range(1, 4):
        # Each guess from one address waits longer than the previous one.
        def refused(step=step):
            wrong = sender(work, [f"{work.path}/file"], port, other_code(first_line(path), step))
            equal(wrong.wait(), 3, "exit code of a wrong code")
            return len(receiver.events("wrongCode")) >= step
        wait_for(f"wrong code {step}", PATIENCE, refused)
    equal(receiver.wait(), 3, "exit code")
    equal(receiver.error()["message"], "the code that was given is spent", "message")
    equal(len(receiver.events("code")), 1, "codes told")


def run_at_terminal(work, arguments, standard_input):
    """Runs the command with a terminal that is not its standard input; returns its exit code and
    the terminal's output."""
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            if standard_input is None:
                os.close(0)
            else:
                os.dup2(standard_input, 0)
            home = work.home(None)
            os.chdir(work.path)
            os.execve(work.binary, [work.binary, *arguments], {**os.environ, "HOME": home, "PEER_HOME": home + "/peer"})
        finally:
            os._exit(127)
    read, status = b"", None
    limit = time.monotonic() + 20
    while status is None and time.monotonic() < limit:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                read += os.read(terminal, 65536)
            except OSError:
                pass
        done, found = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(found) if done else None
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os.close(terminal)
    return status, read


@needs(terminals)
@pytest.mark.parametrize("kind", ["closed", "/dev/null", "a pipe"])
def test_no_question(work, kind):
    """no question without a terminal at standard input, even if one is near: code and consent"""
    old, new = work.place()
    small_file(f"{old}/file")
    receiver = Receiver(work, new)
    reading, writing = os.pipe()
    given = {"closed": None, "/dev/null": os.open("/dev/null", os.O_RDONLY), "a pipe": reading}[kind]
    for arguments, hint in (
            (["send", f"{old}/file", "--to", f"127.0.0.1:{receiver.port}"], b"--code-file"),
            (["receive", f"{new}/asked", "--ask", "--listen", "127.0.0.1:0"], b"--ask")):
        code, said = run_at_terminal(work, arguments, given)
        equal(code, 2, f"exit code of {arguments[0]} with standard input {kind}: {said}")
        require(not any(prompt in said for prompt in PROMPTS), f"{arguments[0]} asks: {said}")
        require(hint in said, f"{arguments[0]} says {said}")
    for one in (reading, writing):
        os.close(one)


@pytest.mark.takes(3)
def test_the_administrators_script(work):
    """the script of docs/Administrators.md sends to several machines, with a fake ssh, and reports
    each, also one in a last line without an end; one that is listed twice ends it"""
    with open(f"{ROOT}/docs/Administrators.md", encoding="utf-8") as file:
        script = file.read().split("```bash\n")[1].split("```")[0]
    path = f"{work.path}/send-to-all"
    small_file(path, script.encode())
    os.chmod(path, 0o755)
    folder = f"{work.path}/bin"
    os.mkdir(folder)
    os.symlink(work.binary, f"{folder}/peer")
    # Each machine is a folder here; ssh's commands run in it, with the standard input that ssh
    # would have.
    small_file(f"{folder}/ssh", f"""#!/bin/bash
while [ "${{1#-}}" != "$1" ]; do case $1 in -o) shift 2 ;; *) shift ;; esac; done
host=$1; shift
[ -d "{work.path}/machines/$host" ] || exit 255
cd "{work.path}/machines/$host" && HOME=$PWD PEER_HOME=$PWD/peer exec bash -c "$*"
""".encode())
    os.chmod(f"{folder}/ssh", 0o755)
    old, _ = work.place()
    tree = f"{old}/tree"
    os.mkdir(tree)
    for number in range(30):
        small_file(f"{tree}/{number}", b"%d" % number)
    hosts = ["one", "two", "taken"]
    for host in hosts:
        os.makedirs(f"{work.path}/machines/{host}/Incoming")
    os.mkdir(f"{work.path}/machines/taken/Incoming/tree")
    home = work.home(None)

    def send(listed):
        small_file(f"{work.path}/hosts", listed)
        return subprocess.run(
            [path, f"{work.path}/hosts", tree], cwd=work.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
            check=False, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "HOME": home, "PEER_HOME": home + "/peer",
                              "PEER_AT": "127.0.0.1", "PEER_PORT": "0", "TMPDIR": work.path})

    twice = send(b"one\ntwo\none\n")
    equal((twice.returncode, twice.stderr), (2, b"send-to-all: listed twice: one\n"), "a machine that is listed twice")
    equal(os.listdir(f"{work.path}/machines/one/Incoming"), [], "what arrived then")
    done = send(b"one\n\ntaken\ngone\ntwo")
    said = done.stdout.decode() + done.stderr.decode()
    words = dict(line.split()[:2] for line in done.stdout.decode().splitlines() if len(line.split()) > 1)
    equal(words, {"one": "0", "two": "0", "taken": "4", "gone": "255"}, f"what became of each: {said}")
    equal(done.returncode, 1, "exit code of the script")
    for host in ("one", "two"):
        run_script("check-trees", tree, f"{work.path}/machines/{host}/Incoming/tree")
        equal([name for name in os.listdir(f"{work.path}/machines/{host}") if "code" in name], [], "codes that are left")


def test_damaged_transfers(work):
    """resume list --json: the event 'damaged' names each transfer whose record cannot be used, and so
    does a sender"""
    folder = f"{work.home(None)}/peer/transfers/{'0' * 32}-send"
    os.makedirs(folder, 0o700)
    os.chmod(f"{work.home(None)}/peer", 0o700)
    small_file(f"{folder}/state", b"no state")
    run = Process(work, ["resume", "list", "--json"])
    equal(run.wait(), 0, "exit code")
    equal([event["id"] for event in run.events("damaged")], ["0" * 32], "what is damaged")
    small_file(f"{work.path}/file")
    sending = Process(work, ["send", f"{work.path}/file", "--to", "127.0.0.1:1", "--json"])
    equal(sending.wait(), 5, "exit code of a sender")
    said = [event["message"] for event in sending.events("notice")]
    require(any("is damaged; 'peer forget 00000000' removes it" in one for one in said), f"the sender says {said}")


def test_few_open_files(work):
    """a transfer does not begin with fewer than 64 open files allowed, and the limit is named"""
    small_file(f"{work.path}/file")
    for arguments in (["receive", f"{work.path}/in"], ["send", f"{work.path}/file", "--to", "127.0.0.1:1"]):
        done = subprocess.run(
            ["bash", "-c", "ulimit -n 63; exec \"$@\"", "-", work.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=PATIENCE, check=False, env={**os.environ, "HOME": work.home(None), "PEER_HOME": work.home(None) + "/peer"})
        equal((done.returncode, done.stderr.count(b"only 63 files open")), (1, 1), f"what {arguments[0]} says: {done.stderr}")
