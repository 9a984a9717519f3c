"""The vectors, and the printed transfer, against the second implementation (Tests/Interop)."""

import glob
import os
import subprocess
import sys

from interop import VECTORS, interop, violations
from needs import needs
from outside import ROOT, equal, require

pytestmark = needs(interop)

if interop() is None:
    import wire
    from forms import Violation

def hexadecimal(path):
    """The bytes of a vector, without its comment."""
    with open(path, encoding="utf-8") as file:
        return bytes.fromhex("".join(line for line in file if not line.startswith("#")))


def test_vectors_are_read():
    """interop: every vector of a frame decodes, and encodes to the same bytes"""
    count = 0
    for path in glob.glob(f"{VECTORS}/*.hex"):
        data, name = hexadecimal(path), os.path.basename(path)
        if name.startswith("pairing-"):
            said = wire.early_message(data[0], data[3:])
            equal(wire.early_frame(said.name, **said.values), data, name)
        else:
            said = wire.message(data[0], data[5:])
            equal(wire.frame(said.name, **said.values), data, name)
        if said.name == "DATA" and said.encoding == 0:
            made = b""
            for entry in wire.entries(said.payload, bytes(range(0x50, 0x60))):
                if entry.kind == wire.ITEM:
                    made += wire.item(wire.RECORD.put(wire.record(entry.data)))
                else:
                    made += wire.piece(entry.kind, bytes(range(0x50, 0x60)), entry.path, entry.generation, entry.offset, entry.length,
                                       entry.data, entry.lanes)
            equal(made, said.payload, f"entries of {name}")
        count += 1
    require(count > 60, f"{count} vectors")


def test_violations_are_refused():
    """interop: every frame of violations.txt is refused, and a VERDICT with its PLAN"""
    found, accepted = violations(), []
    for name, frames in found.items():
        try:
            said = [wire.message(frame[0], frame[5:]) for frame in frames]
            if len(said) == 2:
                wire.check_verdict(*said)
            if said[0].name == "DATA":
                list(wire.entries(said[0].payload, bytes(16)))
            accepted.append(name)
        except Violation:
            pass
    equal((accepted, len(found) > 25), ([], True), "what is accepted, and whether there are many")


def test_vectors_are_made(tmp_path):
    """interop: make_vectors.py makes the vectors beside it"""
    subprocess.run([sys.executable, "-B", f"{VECTORS}/make_vectors.py", tmp_path], check=True, timeout=60)
    made = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    there = {}
    for name in os.listdir(VECTORS):
        if not name.endswith(".py"):
            with open(f"{VECTORS}/{name}", "rb") as file:
                there[name] = file.read()
    equal(sorted(made), sorted(there), "names")
    equal([name for name in made if made[name] != there[name]], [], "vectors that differ")


def test_the_page():
    """interop: the printed transfer is what frames.py makes"""
    found = subprocess.run([sys.executable, "-B", f"{ROOT}/Tests/Interop/frames.py", "--check"], stderr=subprocess.PIPE, text=True,
                           timeout=60, check=False)
    require(found.returncode == 0, found.stderr)
