"""Descriptions of apps, and the page's files, that other devices or other users may have made or
changed."""

import os
import shutil
import subprocess

import pytest

from computers import computers
from devices import PATIENCE
from needs import needs, root
from outside import NOBODY, ROOT, equal, require

PLANTED = "[Application]\nId=org.example.planted\nName=Planted\n[Data]\nrc=home/.bashrc\n"
NAME = "org.example.planted.app"


def new_computer(work):
    """A computer whose home has data that the planted description names."""
    work.environment["PEER_SYSTEM"] = ""
    new = computers(work, [])[1]
    new.write(".bashrc")
    return new


def laid(folder, mode=0o755, name=NAME, text=PLANTED):
    """Lays a description into a folder; returns its path."""
    os.makedirs(folder, exist_ok=True)
    os.chmod(folder, mode)
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
    return f"{folder}/{name}"


def program_at(work, path):
    os.makedirs(os.path.dirname(path))
    shutil.copy(f"{work.programs}/peer", path)
    work.binary = path


def test_a_planted_description(work):
    """descriptions: what lies in a visible folder of the home as if it were peer's own gives no app a place in the next session"""
    work.environment["PEER_SYSTEM"] = ""
    old, new = computers(work, [])
    old.write(".bashrc", "their commands\n")
    laid(f"{old.peer_home}/descriptions")
    folder = laid(f"{new.home}/share/peer/known-apps").removesuffix(f"/{NAME}")
    own = work.binary
    program_at(work, f"{new.home}/bin/peer")
    receiver = new.receive()
    work.binary = own
    old.send(receiver.port, receiver.pairing_code, "--everything").wait()
    receiver.wait()
    equal(new.read(".bashrc"), None, "what arrived")
    said = " ".join(event["message"] for event in receiver.events("notice"))
    require(f"the descriptions in '{folder}' are not used" in said, f"said: {said}")


def behind_a_link(path):
    os.rename(path, f"{path}.target")
    os.symlink(f"{path}.target", path)


def as_a_pipe(path):
    os.remove(path)
    os.mkfifo(path)


@needs(root)
@pytest.mark.parametrize("change, reason", [(behind_a_link, "is a link"), (as_a_pipe, "is not a regular file")], ids=["behind a link", "a pipe"])
def test_files_that_others_change(work, change, reason):
    """descriptions: one that is no file, or to which a link leads, is named and not used, and holds nothing up"""
    new = new_computer(work)
    change(laid(f"{new.peer_home}/descriptions"))
    process = new.start("app", "list", "--all")
    process.wait()
    require("Planted" not in process.output(), f"it is used: {process.text()}")
    require(reason in process.errors(), f"said: {process.text()}")


def served(work, program):
    """What the assistant says, and its exit code; none if it serves the page."""
    process = subprocess.Popen(
        [program, "assistant", "--no-browser"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "HOME": work.home(None), "PEER_HOME": f"{work.home(None)}/peer"})
    with process.stdout:
        line = process.stdout.readline().decode()
        if "http://" in line:
            process.terminate()
            process.wait(PATIENCE)
            return None, line
        return process.wait(PATIENCE), line


def page_at(folder):
    shutil.copytree(f"{ROOT}/Sources/Computer/MigrationPage/Page", folder)
    os.chmod(folder, 0o755)
    for name in os.listdir(folder):
        os.chmod(f"{folder}/{name}", 0o644)


@needs(root)
def test_the_page_of_another_user(work):
    """assistant: a page that another user laid into a folder above the program is not served, and one in the program's place that others may change is named and not served"""
    shared = f"{work.path}/shared"
    page_at(f"{shared}/Sources/Computer/MigrationPage/Page")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", f"{shared}/Sources"], check=True)
    program_at(work, f"{shared}/tools/peer")
    equal(served(work, work.binary)[0], 1, "exit code with a page of another user above")
    program_at(work, f"{work.path}/prefix/bin/peer")
    page = f"{work.path}/prefix/share/peer/page"
    page_at(page)
    equal(served(work, work.binary)[0], None, "exit code of a page that is root's")
    os.chmod(f"{page}/page.js", 0o666)
    code, said = served(work, work.binary)
    require(code == 4 and f"'{page}/page.js' can be changed by every user" in said, f"{code}: {said}")
    os.chmod(f"{page}/page.js", 0o644)
    os.chown(os.path.dirname(page), NOBODY, NOBODY)
    code, said = served(work, work.binary)
    require(code == 4 and f"'{os.path.dirname(page)}' belongs to another user" in said, f"{code}: {said}")
