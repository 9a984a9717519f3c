"""Installs small trees with installation.py, over others and cut off at any step, and checks the
result."""

import os
import shutil
import subprocess

import installation
from manifest import MANIFEST, Failure
from outside import equal, require


def tree(folder):
    """Everything below a folder, with the content of its files."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.relpath(os.path.join(place, name), folder)] = None
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                found[os.path.relpath(os.path.join(place, name), folder)] = file.read()
    return found


def write(folder, path, content="", mode=0o644):
    place = os.path.join(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(content)
    os.chmod(place, mode)


def small_stage(folder):
    """A tree to install that took no build."""
    stage = f"{folder}/stage"
    write(stage, "bin/peer", "new", 0o755)
    write(stage, "share/doc/peer/README.md", "new")
    return stage


def what_others_put_there_stays(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    others = {"bin/other": "theirs", "share/man/man1/other.1": "theirs", "share/peer/transfers/one": "what peer remembers"}
    for path, content in others.items():
        write(prefix, path, content)
    before = tree(prefix)
    installation.install(prefix, stage)
    write(prefix, "share/doc/peer/README.md", "changed")
    said = installation.uninstall(prefix)
    equal(said, [f"Left as it is, since it was changed after it was installed: {prefix}/share/doc/peer/README.md"], "what is said")
    equal(tree(prefix), {**before, "share/doc": None, "share/doc/peer": None, "share/doc/peer/README.md": b"changed"}, "what is left")


def what_is_in_the_way_is_left(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    write(prefix, "bin/peer", "another program", 0o755)
    refused(prefix, stage, f"{prefix}/bin/peer is there already")


def a_document_that_was_changed_makes_room_and_is_kept(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    document = f"{prefix}/share/doc/peer/README.md"
    for content, name in ("mine", f"{document}.old"), ("mine again", f"{document}.old2"):
        installation.install(prefix, stage)
        write(prefix, "share/doc/peer/README.md", content)
        said = installation.install(prefix, stage)
        equal(said, [f"Kept as {name}, since it was changed after it was installed: {document}"], "what is said")
    # Only documents do.
    write(prefix, "bin/peer", "mine")
    refused(prefix, stage, f"{prefix}/bin/peer is there already")
    write(prefix, "bin/peer", "new")
    equal(installation.uninstall(prefix), [], "what is said")
    kept = {path: content for path, content in tree(prefix).items() if content is not None}
    equal(kept, {"share/doc/peer/README.md.old": b"mine", "share/doc/peer/README.md.old2": b"mine again"}, "what is left")


def names_may_have_blanks_but_no_line_breaks(folder):
    stage, prefix = small_stage(folder), f"{folder}/prefix"
    write(stage, "share/a folder/two  blanks, a\rreturn")
    installation.install(prefix, stage)
    installation.install(prefix, stage)
    equal(installation.uninstall(prefix), [], "what is said")
    require(not os.path.exists(prefix), "it cannot be taken away")
    write(stage, "share/a\nbreak")
    refused(prefix, stage, "'share/a\\nbreak' has a line break in its name")
    require(not os.path.exists(prefix), "something was written")


def refused(prefix, stage, sentence):
    """An installation that must fail, and leave everything unchanged."""
    before = tree(prefix)
    try:
        installation.install(prefix, stage)
    except Failure as failure:
        require(sentence in str(failure), str(failure))
    else:
        require(False, f"it was installed, and not refused: {sentence}")
    equal(tree(prefix), before, "what is there")


def a_later_version_takes_the_place_of_an_earlier_one(folder):
    old, new, prefix = f"{folder}/old", f"{folder}/new", f"{folder}/prefix"
    os.makedirs(f"{old}/bin")
    shutil.copy2(shutil.which("sleep"), f"{old}/bin/peer")
    write(old, "share/peer/gone/file", "old")
    write(old, "share/peer/kept", "old")
    write(new, "bin/peer", "new", 0o755)
    write(new, "share/peer/kept", "new")
    installation.install(prefix, old)
    process = subprocess.Popen([f"{prefix}/bin/peer", "60"])
    try:
        installation.install(prefix, new)
        require(process.poll() is None, "what ran was disturbed")
    finally:
        process.kill()
        process.wait()
    found = tree(prefix)
    found.pop(MANIFEST)
    equal(found, {path: content for path, content in tree(new).items()}, "what is there")
    installation.uninstall(prefix)
    require(not os.path.exists(prefix), f"left: {os.listdir(folder)}")


def an_installation_that_is_cut_off_anywhere_can_be_repeated_and_taken_away(folder):
    old, new, prefix = f"{folder}/old", f"{folder}/new", f"{folder}/prefix"
    for stage in old, new:
        write(stage, "bin/peer", stage)
        write(stage, f"share/{os.path.basename(stage)}/file", stage)
        write(stage, "share/peer/package/file", stage)
    cuts = 0
    while True:
        # One step later each time, until the installation completes.
        for repeats in False, True:
            installation.install(prefix, old)
            was_cut = cut_off_after(cuts, lambda: installation.install(prefix, new))
            if repeats:
                installation.install(prefix, new)
                found = tree(prefix)
                found.pop(MANIFEST)
                equal(found, tree(new), f"what is there after cut {cuts}")
            installation.uninstall(prefix)
            require(not os.path.exists(prefix), f"left after cut {cuts}: {sorted(tree(prefix))}")
        if not was_cut:
            return f"{cuts} cuts"
        cuts += 1


class Cut(Exception):
    """Simulates the end of the process."""


def cut_off_after(count, body):
    """Runs something until it has renamed, removed or made so many things; returns whether it was
    cut off."""
    real = {name: getattr(os, name) for name in ("rename", "unlink", "mkdir", "rmdir")}
    left = [count]

    def counted(name):
        def call(*arguments):
            if left[0] == 0:
                raise Cut
            left[0] -= 1
            return real[name](*arguments)
        return call

    try:
        for name in real:
            setattr(os, name, counted(name))
        body()
        return False
    except Cut:
        return True
    finally:
        for name, function in real.items():
            setattr(os, name, function)


TESTS = [
    what_others_put_there_stays, what_is_in_the_way_is_left, a_document_that_was_changed_makes_room_and_is_kept,
    names_may_have_blanks_but_no_line_breaks, a_later_version_takes_the_place_of_an_earlier_one,
    an_installation_that_is_cut_off_anywhere_can_be_repeated_and_taken_away,
]
