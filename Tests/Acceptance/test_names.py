"""The display of names: a terminal, a shell or a parser takes every name as a name."""

import base64
import json
import os
import re
import subprocess

import pytest

from devices import PATIENCE, Process, Receiver, Waiting, end_well, sender, small_file
from outside import Failure, equal, require
from terminal import clean

SHELL = [b"$(touch pwned)", b"`touch pwned`", b"a;touch pwned", b"a|b&c", b'"', b"it's", b"back\\slash", b"a b", b"*?[x]{a,b}",
         b"~root", b"#x", b"!rm", b"it's !rm", b"<x>", b"(x)", b"-rf", b"=ls", b"'; touch pwned; '", b"a, b", b"  two  spaces  and  more  than  eighty  columns: the name of a folder of the other device "]
TERMINAL = [b"\x1b[2J\x1b[31mred", b"\x1b]8;;http:evil\x07link\x1b]8;;\x07", b"\x1b]52;c;cm0gLXJm\x07", b"\x1bPq\x1b\\", b"bell\x07", b"new\nline",
            b"peer: error: forged\n", b"tab\t", b"over\rwritten", b"back\x08\x08", b"\x7f", b"\x01\x02\x1f", "\u009b31m".encode(), "\u0085".encode(),
            "\u202efdp.exe".encode(), "\u2066a\u2069".encode(), "\u200b\u200d".encode(), "\u2028".encode(), "\ufeff".encode(), "\U000e0041".encode(),
            b"\xff\xfe", b"\x9b31m", b"\xc3\x28", b"\xe2\x80", b"\xed\xa0\x80"]
NAMES = SHELL + TERMINAL

def lines(path):
    """Events of a run, from output without any character that could control a terminal."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "strict")
    clean(text, path)
    return [json.loads(line) for line in text.splitlines()]


def exact(event, key="path"):
    """The bytes of a name in an event."""
    if f"{key}Base64" in event:
        found = base64.b64decode(event[f"{key}Base64"], validate=True)
        try:
            found.decode()
        except UnicodeDecodeError:
            return found
        raise Failure(f"{key}Base64 of a name that is UTF-8: {found!r}")
    return event[key].encode()


def as_words(text):
    """The words of a text in a shell, without running anything in it."""
    script = f"set -f; for word in {text}; do printf '%s\\0' \"$word\"; done"
    result = subprocess.run(
        ["/bin/bash", "--norc", "-c", script], env={"LC_ALL": "C.UTF-8", "PATH": "/nowhere"}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    require(result.returncode == 0 and not result.stderr, f"a shell said {result.stderr!r} to {text!r}")
    return result.stdout.split(b"\0")[:-1]


def tree(folder):
    """Every name as a root, and in a folder, where a link leads to it too."""
    folder = os.fsencode(folder)
    for name in NAMES:
        small_file(folder + b"/" + name)
    inner = folder + b"/in" + NAMES[20]
    os.mkdir(inner)
    for number, name in enumerate(NAMES):
        small_file(inner + b"/" + name)
        os.symlink(name, inner + b"/link%d" % number)
    return sorted(os.listdir(folder))


def paths(folder, names):
    return [os.fsencode(folder) + b"/" + name for name in names]


def test_names_of_every_kind_arrive(work):
    """names of every kind arrive, as roots and in folders, and JSON has their bytes"""
    old, new = work.place()
    names = tree(old)
    receiver = Receiver(work, new)
    sending = sender(work, paths(old, names), receiver.port, receiver.pairing_code)
    end_well(sending, receiver)
    equal(sorted(os.listdir(os.fsencode(new))), names, "what arrived")
    for process in (sending, receiver):
        offers = [event for event in lines(process.out_path) if event["event"] == "offer"]
        equal([exact(root, "name") for root in offers[0]["roots"]], names, "the offer's names")
        equal(process.errors(), "", "standard error")
    work.figure = f"{len(names)} roots"


@pytest.mark.takes(5)
def test_names_in_errors(work):
    """names in errors on both devices: a taken name, a missing source, an invalid destination"""
    old, new = work.place()
    for name in NAMES:
        source, taken = os.fsencode(old) + b"/" + name, os.fsencode(new) + b"/" + name
        small_file(taken)
        # Both at once.
        sending = Process(work, ["send", source + b"/missing", "--to", "127.0.0.1:9", "--code-file", "-"])
        receiver = Process(work, ["receive", taken, "--listen", "127.0.0.1:0"])
        clean_errors(sending, name)
        clean_errors(receiver, name)
    for name in (b"it's !rm\x1b[2J\n", "$(x)\u202e".encode(), b"\xff\\"):
        for place in (old, new):
            small_file(os.fsencode(place) + b"/" + name)
        receiver = Waiting(work, [new])
        sending = sender(work, paths(old, [name]), receiver.port, receiver.pairing_code)
        equal((sending.wait(), receiver.wait()), (4, 4), "exit codes")
        for process in (sending, receiver):
            clean(process.errors(), "standard error")
            message = [event for event in lines(process.out_path) if event["event"] == "error"][0]["message"]
            quoted = re.search(r"(\$?'.*') already exists in the destination\"?$", message).group(1)
            equal(as_words(quoted), [name], "the name in the error")


def clean_errors(process, name):
    """Requires that a run fails, and shows the name in quotes that a shell understands."""
    require(process.wait() != 0, "it ended well")
    text = process.errors()
    clean(text, "standard error")
    words = [found for found in re.findall(r"\$?'(?:\\.|[^'\\]|'\\'')*'", text) if name in as_words(found)[0]]
    require(words, f"{name!r} is not named in {text!r}")
