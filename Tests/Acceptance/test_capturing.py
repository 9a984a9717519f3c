"""Sources in use: what belongs together arrives of one moment, or is named."""

import contextlib
import os
import sqlite3
import subprocess

import pytest

from devices import PATIENCE, Receiver, random_file, sender
from outside import MIB, equal, require, wait_for

SIZE = 12 * MIB


def sent_while(work, old, change):
    """Sends a folder with something large in it, and changes something in the middle; returns the
    destination, and the exit code of both."""
    _, new = work.place()
    receiver = Receiver(work, new)
    link = work.slow_link(receiver.port, 4 * MIB)
    sending = sender(work, [old], link.port, receiver.pairing_code)
    wait_for("a half", PATIENCE, lambda: progress(sending) > SIZE // 2 or sending.poll())
    change()
    codes = {sending.wait(), receiver.wait()}
    require(codes in ({0}, {8}), f"exit codes {codes}: {sending.text()[-300:]}")
    return f"{new}/{os.path.basename(old)}", codes.pop(), sending


def progress(process):
    found = process.events("progress")
    return found[-1]["bytes"] if found else 0


@pytest.mark.takes(8)
def test_a_database_that_is_checkpointed(work):
    """SQLite: a checkpoint and commits between its two files lose no row that was committed before"""
    old, _ = work.place()
    folder = f"{old}/app"
    os.mkdir(folder)
    random_file(f"{folder}/large", SIZE)
    with contextlib.closing(sqlite3.connect(f"{folder}/x.db")) as database:
        database.execute("pragma journal_mode=wal")
        database.execute("pragma wal_autocheckpoint=0")
        database.execute("create table t(n)")
        database.executemany("insert into t values(?)", [(n,) for n in range(300)])
        database.commit()

        def change():
            database.execute("insert into t values(1000)")
            database.commit()
            database.execute("pragma wal_checkpoint(truncate)")

        place, code, sending = sent_while(work, folder, change)
        with contextlib.closing(sqlite3.connect(f"{place}/x.db")) as arrived:
            rows = arrived.execute("select count(*) from t").fetchone()[0] if code == 0 else None
            equal((code, rows), (0, 301), f"the exit code, and the rows: {sending.text()[-200:]}")
            equal(arrived.execute("pragma integrity_check").fetchone()[0], "ok", "its check")


@pytest.mark.takes(8)
def test_a_repository_with_a_commit(work):
    """Git: a commit during the transfer arrives, or what is missing of it is named"""
    old, _ = work.place()
    folder = f"{old}/work"
    os.mkdir(folder)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(place, *words):
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", place, *words], check=False, env=environment,
            capture_output=True, text=True, timeout=PATIENCE)

    git(folder, "init", "-q")
    random_file(f"{folder}/large", SIZE)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")

    def change():
        with open(f"{folder}/new", "w", encoding="utf-8") as file:
            file.write("new")
        git(folder, "add", ".")
        equal(git(folder, "commit", "-qm", "two").returncode, 0, "the commit")

    place, code, sending = sent_while(work, folder, change)
    whole = git(place, "fsck", "--full").returncode == 0 and git(place, "log").stdout.count("commit ") == 2
    named = sending.events("notStored")
    require(whole and code == 0 or code == 8 and named, f"exit code {code}, and nothing is named: {sending.text()[-300:]}")
