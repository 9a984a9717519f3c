"""Completion of commands, options and values, in the shells themselves."""

import os
import re
import shutil
import signal
import subprocess

import pytest

from apps import ID
from apps import Device as AppDevice
from devices import PATIENCE, Process, Waiting, end_well, random_file, small_file
from needs import needs, networks, shell, terminals
from networks import Network
from outside import MIB, equal, require, wait_for
from shells import LOADS, Fish, TypedShell
from terminal import clean

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


def unfinished(work):
    """The ID of a transfer that both users have interrupted, from the sender's list."""
    old, new = work.place()
    random_file(f"{old}/large", 8 * MIB)
    receiver = Waiting(work, [new], home=work.folder(None))
    sending = Process(
        work, ["send", f"{old}/large", "--to", f"127.0.0.1:{receiver.port}", "--code-file", "-", "--json", "--limit", "100k"],
        text=receiver.pairing_code + "\n")
    wait_for("begin of the transfer", PATIENCE, lambda: receiver.events("started") or receiver.events("progress"))
    for process in (sending, receiver):
        process.signal(signal.SIGINT)
    sending.wait(), receiver.wait()
    listing = Process(work, ["resume", "list", "--json"])
    end_well(listing)
    [event] = listing.events("transfer")
    return event["id"][:8]


@pytest.mark.takes(3)
def test_values(work):
    """apps and unfinished transfers are offered, each with a description"""
    home = home_of(work)
    device = AppDevice(work, work.place()[0])
    shutil.copytree(device.home, f"{home}/peer", dirs_exist_ok=True, symlinks=True)
    os.chmod(f"{home}/peer", 0o700)
    number = unfinished(work)

    def offered(*words):
        run = Process(work, ["completion", "--words", *words])
        end_well(run)
        return run.output().splitlines()[1:]
    equal(offered("app", "run", ""), [f"{ID}\t1.0"], "apps")
    [transfer] = offered("forget", "")
    require(re.fullmatch(number + r"\tsending /.*/large to .+", transfer), f"transfers: {transfer}")


@needs(networks)
@pytest.mark.takes(4)
def test_devices(work):
    """waiting devices are found in a second, and their labels cannot control the terminal"""
    network = Network(work, "old", "new")
    network["new"].responder("new\x1b[2Jlaptop", "00000000deadbeef", "47470", "10.99.0.2")
    network["new"].responder("other", "00000000deadbee0", "5000", "10.99.0.2")
    run = network["old"].start("completion", "--words", "send", "--to=")
    end_well(run)
    clean(run.output().replace("\t", " "), "the answer")
    lines = run.output().splitlines()
    equal(lines[0], "words\t--to=", "the first line")
    equal(set(lines[1:]), {"10.99.0.2:5000\tother", "10.99.0.2\tnew\\u{1b}[2Jlaptop"}, "the answer")


@needs(terminals, shell("bash"))
@pytest.mark.takes(3)
def test_redirections_in_bash(work):
    """bash completes a file after a redirection, and ignores the redirection for later words"""
    folder, _ = work.place()
    small_file(f"{folder}/dull")
    shell_here = typed(work, "bash", folder)
    for line in ("peer completion fish > du", "peer completion fish >du", "peer forget x 2>du", "peer forget x 2>> du", "peer forget>du"):
        equal(shell_here.complete(line)[0], f"{line}ll ", f"'{line}'")
    for line in ("peer 2>/dev/null resume l", "peer resume > x l", "peer resume <x l", "peer >'a b' resume l"):
        equal(shell_here.complete(line)[0], f"{line}ist ", f"'{line}'")


@needs(terminals, shell("bash"))
@pytest.mark.takes(2)
def test_quotes_in_bash(work):
    """bash completes words in quotes, and words after them"""
    shell_here = typed(work, "bash")
    for line, whole in (
            ("peer \"app\" inst", "peer \"app\" install "), ("peer receive --existing 'k", "peer receive --existing 'keep-both' "),
            ("peer receive --existing=\"k", "peer receive --existing=\"keep-both\" "), ("peer re\\sume l", "peer re\\sume list "),
            ("peer 'res", "peer 'resume' ")):
        equal(shell_here.complete(line)[0], whole, f"'{line}'")
    equal(shell_here.complete("peer resume\\ l")[0], "peer resume\\ l", "a line that stays")


def test_nothing_is_written(work):
    """completion leaves no files behind"""
    home = f"{work.path}/untouched"
    os.mkdir(home)
    for line in ("app run ", "forget ", "send --app "):
        subprocess.run(
            [work.binary, "completion", "--words", *line.split(" ")], check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE,
            env={"HOME": home, "PATH": os.environ["PATH"]})
        equal(os.listdir(home), [], f"what '{line}' has made")


@pytest.mark.takes(2)
@needs(terminals, shell("bash"), shell("zsh"), shell("fish"))
def test_without_the_command(work):
    """files are completed if peer cannot run"""
    folder, _ = work.place()
    small_file(f"{folder}/only-file")
    home = home_of(work)
    with open(f"{home}/peer.fish", "wb") as file:
        subprocess.run([work.binary, "completion", "fish"], check=True, stdout=file, timeout=PATIENCE)
    fish = Fish(work, folder, home)
    equal(list(fish.offers("peer send only", f"source {home}/peer.fish; function command; false; end")), ["only-file"], "offers in fish")
    for name in ("bash", "zsh"):
        shell_here = typed(work, name, folder, LOADS[name] + "; command() { false; }")
        equal(shell_here.complete("peer send only")[0], "peer send only-file ", f"the line in {name}")
