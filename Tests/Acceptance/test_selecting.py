"""Exclusions from a transfer."""

import os
import signal

import pytest

from devices import PATIENCE, Process, Receiver, end_well, random_file, sender, small_file
from outside import MIB, equal, require, wait_for

TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n"


def make(folder, *paths):
    """Files of eight bytes, and their folders; a path with a final slash is a folder."""
    for path in paths:
        os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
        if not path.endswith("/"):
            small_file(f"{folder}/{path}")


def paths(folder):
    """The paths in a folder, with a slash after the name of a folder."""
    found = []
    for parent, folders, files in os.walk(folder):
        found += [os.path.relpath(f"{parent}/{name}", folder) + "/" for name in folders]
        found += [os.path.relpath(f"{parent}/{name}", folder) for name in files]
    return sorted(found)


def arrives(work, old, new, *options):
    """Sends the folder and requires success; returns the sender."""
    receiver = Receiver(work, new)
    sending = sender(work, [f"{old}/folder", *options], receiver.port, receiver.pairing_code)
    end_well(sending, receiver)
    return sending


def test_the_last_pattern_that_matches_decides(work):
    """patterns on the command line and in files: the last matching pattern decides"""
    old, new = work.place()
    make(f"{old}/folder", "a.o", "keep.o", "build/keep.o", "src/build", "src/x.log", "x.log", "docs/deep/x.tmp", "#note", "end ")
    with open(f"{old}/patterns", "wb") as file:
        file.write(b"# objects\n*.o   \n/build/\nx.log\n!/src/*.log\r\n\ndocs/**/*.tmp\n\\#*\n")
    sending = arrives(
        work, old, new, "--exclude", "keep.o", "--exclude-from", f"{old}/patterns", "--exclude=!keep.o", "--exclude", "end ")
    equal(paths(f"{new}/folder"), ["docs/", "docs/deep/", "keep.o", "src/", "src/build", "src/x.log"], "what arrived")
    done = sending.events("done")[0]
    equal((done["items"], done["bytes"]), (7, 24), "items and bytes")
    equal(sending.events("unsent"), [], "what was not sent")


def test_patterns_from_standard_input(work):
    """patterns from standard input, the code from a file"""
    old, new = work.place()
    make(f"{old}/folder", "a", "b")
    receiver = Receiver(work, new)
    small_file(f"{old}/code", receiver.pairing_code.encode() + b"\n")
    arguments = ["send", f"{old}/folder", "--exclude-from", "-", "--code-file", f"{old}/code", "--json"]
    sending = Process(work, [*arguments, "--to", f"127.0.0.1:{receiver.port}"], "b\n[c\n")
    end_well(sending, receiver)
    equal(paths(f"{new}/folder"), ["a"], "what arrived")
    notices = [event["message"] for event in sending.events("notice")]
    equal(notices, ["the pattern '[c' has a '[' without a ']' and matches nothing"], "notices")


def test_caches(work):
    """caches: the directory and its tag arrive, and nothing else of it"""
    old, new = work.place()
    make(f"{old}/folder", "cache/x", "cache/deep/y", "other/CACHEDIR.TAG", "other/z")
    small_file(f"{old}/folder/cache/CACHEDIR.TAG", TAG)
    arrives(work, old, new, "--exclude-caches")
    equal(paths(f"{new}/folder"), ["cache/", "cache/CACHEDIR.TAG", "other/", "other/CACHEDIR.TAG", "other/z"], "what arrived")


@pytest.mark.takes(5)
def test_other_patterns_in_a_second_run(work):
    """other patterns in a second run: it resumes, and newly excluded items do not arrive"""
    old, new = work.place(on_disk=True)
    os.mkdir(f"{old}/folder")
    for name in ("one", "two"):
        random_file(f"{old}/folder/{name}", 32 * MIB)
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, rate=24 * MIB)
    sending = sender(work, [f"{old}/folder"], link.port, receiver.pairing_code)

    def has_begun_second():
        events = sending.events("progress")
        require(not sending.poll(), f"the sender ended too early with {sending.code}")
        return events and events[-1]["bytes"] > 40 * MIB

    wait_for("two thirds of the transfer", PATIENCE, has_begun_second)
    sending.signal(signal.SIGKILL)
    sending.wait()
    link.close()
    again = sender(work, [f"{old}/folder", "--exclude", "one"], receiver.port, None)
    end_well(again, receiver)
    equal(paths(new), ["folder/", "folder/two"], "what arrived")
    with open(f"{old}/folder/two", "rb") as sent, open(f"{new}/folder/two", "rb") as arrived:
        require(sent.read() == arrived.read(), "the file is another")
    count = again.events("done")[0]["sentBytes"]
    require(count < 32 * MIB, f"{count} bytes sent again")
    work.figure = f"{count / MIB:.0f} of 32 MiB sent in the second run"


def test_patterns_that_cannot_be_read(work):
    """patterns that cannot be read: exit 2, no question"""
    old, _ = work.place()
    make(old, "file", "folder/")
    with open(f"{old}/utf-16", "wb") as file:
        file.write("a\n".encode("utf-16"))
    for arguments, message in [
        ([f"{old}/file", "--exclude-from", f"{old}/none"], "No such file or directory"),
        ([f"{old}/file", "--exclude-from", f"{old}/folder"], "Is a directory"),
        ([f"{old}/file", "--exclude-from", f"{old}/utf-16"], "is not plain text"),
        ([f"{old}/file", "--exclude-from", "-", "--code-file", "-"], "cannot be read twice"),
        (["--app", "org.example.notes", "--exclude", "x"], "cannot be used with --app"),
    ]:
        sending = Process(work, ["send", *arguments, "--to", "127.0.0.1:9", "--json"])
        equal(sending.wait(), 2, f"exit code where it {message}")
        error = sending.error()
        require(message in error["message"] and error["hint"], f"the error is {error}")
