"""Completion of commands, options and values, in the shells themselves."""

import os

import pytest

from devices import small_file
from needs import needs, shell, terminals
from outside import equal, require
from shells import Fish, TypedShell

TYPED = [pytest.param("bash", marks=needs(terminals, shell("bash"))), pytest.param("zsh", marks=needs(terminals, shell("zsh")))]
# A line, and its last word after completion.
WORDS = [
    ("rece", "receive"), ("app inst", "install"), ("resume l", "list"), ("code n", "new"), ("completion z", "zsh"), ("help app st", "status"),
    ("help --m", "--man"), ("--vers", "--version"), ("send --comp", "--compress"), ("send a --json --exclude=x --lim", "--limit"),
    ("receive --existing k", "keep-both"), ("receive --existing=k", "--existing=keep-both"), ("send --compress=al", "--compress=always"),
    ("send a --to=h:1 --str", "--streams"), ("receive --listen h:1 --verb", "--verbose"),
    ("app migrate x --as and", "android")]
# Lines that completion does not change.
STAYING = ["frob", "send -- --comp", "send --json --jso", "app run x --he", "discover --for 1", "send --limit 2", "receive --json=", "help send rec", "send --to new-lap"]
STRANGE = "strange $(touch pwned);`touch pwned`'\"& ä"


def home_of(work):
    home = work.home(None)
    os.makedirs(f"{home}/peer", mode=0o700, exist_ok=True)
    return home


def typed(work, name, folder=None, load=None):
    return TypedShell(work, name, folder or work.place()[0], home_of(work), load)


@pytest.mark.takes(6)
@pytest.mark.parametrize("name", TYPED)
def test_words(work, name):
    """commands, options and the words of values are completed in a shell at a terminal"""
    shell_here = typed(work, name)
    for line, word in WORDS:
        text = shell_here.complete(f"peer {line}")[0]
        equal(text.rstrip().split(" ")[-1], word, f"the last word of 'peer {line}'")
    for line in STAYING:
        equal(shell_here.complete(f"peer {line}")[0].rstrip(), f"peer {line}", "a line that stays")


@needs(shell("fish"))
@pytest.mark.takes(5)
def test_words_in_fish(work):
    """commands, options and values are completed in fish, each with its description"""
    fish = Fish(work, work.place()[0], home_of(work))
    for line, word in WORDS:
        found = fish.offers(f"peer {line}")
        # Completions with another beginning come after those with this beginning.
        require(word in found and len(found[word]) > 3, f"'peer {line}': {found}")
    for line in STAYING:
        equal(fish.offers(f"peer {line}"), {}, f"offers for 'peer {line}'")


@pytest.mark.parametrize("name", TYPED)
def test_files(work, name):
    """files and directories are completed, with any name"""
    folder, _ = work.place()
    small_file(f"{folder}/{STRANGE}")
    small_file(f"{folder}/dull")
    os.mkdir(f"{folder}/du directory")
    shell_here = typed(work, name, folder)
    for line in ("peer send st", "peer send a -- st", "peer send --code-file st", "peer app run x --y st"):
        equal(shell_here.last_word(line), STRANGE, f"the last word of '{line}'")
    equal(shell_here.last_word("peer send --code-file=st"), f"--code-file={STRANGE}", "a value behind an equals sign")
    for line in ("peer receive du", "peer app install du"):
        equal(shell_here.last_word(line).rstrip("/"), "du directory", f"the last word of '{line}'")
    require(not os.path.exists(f"{folder}/pwned"), "a name was run")


@needs(shell("fish"))
@pytest.mark.takes(3)
def test_files_in_fish(work):
    """files and directories are completed in fish, with any name"""
    folder, _ = work.place()
    small_file(f"{folder}/{STRANGE}")
    small_file(f"{folder}/dull")
    os.mkdir(f"{folder}/du directory")
    fish = Fish(work, folder, home_of(work))
    for line in ("peer send st", "peer send a -- st", "peer send --code-file st", "peer app run x --y st"):
        equal(list(fish.offers(line)), [STRANGE], f"offers for '{line}'")
    equal(list(fish.offers("peer send --code-file=st")), [f"--code-file={STRANGE}"], "a value behind an equals sign")
    for line in ("peer receive du", "peer app install du"):
        equal(list(fish.offers(line)), ["du directory/"], f"offers for '{line}'")
    require(not os.path.exists(f"{folder}/pwned"), "a name was run")
