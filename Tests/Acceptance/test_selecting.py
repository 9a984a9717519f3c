"""Exclusions from a transfer."""

import os


from devices import Process, Receiver, end_well, sender, small_file
from outside import equal, require

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
    equal(sending.events("notStored"), [], "what was not sent")


def test_a_home_with_the_program_s_own_records(work):
    """a source that contains PEER_HOME: everything of it arrives but the program's own records, twice"""
    old, new = work.place()
    home = f"{old}/folder/.local/share/peer"
    make(f"{old}/folder", "letter", ".local/share/peer/apps/notes/data")
    for passes in (1, 2):
        receiver = Receiver(work, new, options=["--existing", "update"])
        sending = Process(
            work, ["send", f"{old}/folder", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json"],
            receiver.pairing_code + "\n", home=home)
        end_well(sending, receiver)
        require(os.path.isdir(f"{home}/transfers"), f"there are records after pass {passes}")
        equal([path for path in paths(f"{new}/folder") if not path.endswith("/")], [".local/share/peer/apps/notes/data", "letter"],
              f"the files that arrived in pass {passes}")


def test_caches(work):
    """caches: the directory and its tag arrive, and nothing else of it"""
    old, new = work.place()
    make(f"{old}/folder", "cache/x", "cache/deep/y", "other/CACHEDIR.TAG", "other/z")
    small_file(f"{old}/folder/cache/CACHEDIR.TAG", TAG)
    arrives(work, old, new, "--exclude-caches")
    equal(paths(f"{new}/folder"), ["cache/", "cache/CACHEDIR.TAG", "other/", "other/CACHEDIR.TAG", "other/z"], "what arrived")
