"""Proof that the rounds of chaos find the mistakes for which they are made."""

import os
import random
import shutil
import stat

from chaos_round import Plan, Round
from chaos_tally import Tally
from outside import Failure, check_line


def self_test(rounds):
    """Makes each mistake that the rounds must find, in small rounds without other faults."""
    failures = []

    def expect(what, wanted, spoil=lambda one: None, **options):
        one = Round(rounds.place, f"self-{expect.count}", 1, Tally(), scale=0.02, **options)
        expect.count += 1
        try:
            one.run()
            spoil(one)
            one.inspect()
            found = ""
        except Failure as failure:
            found = str(failure)
        is_good = wanted in found if wanted else not found
        shown = found.splitlines()[0][:150] if found else "nothing found"
        print(check_line(what, "ok" if is_good else "FAILED", shown), flush=True)
        if not is_good:
            failures.append(what)

    expect.count = 0

    def alter(one):
        path = f"{one.new}/large-0"
        status = os.stat(path)
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            file.seek(status.st_size // 2)
            byte = file.read(1)[0]
            file.seek(status.st_size // 2)
            file.write(bytes([byte ^ 1]))
        os.chmod(path, stat.S_IMODE(status.st_mode))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def plant(one):
        """A sender's record of an unfinished transfer, copied from one that is under way."""
        other = Round(rounds.place, "self-unfinished", 1, Tally(), scale=0.02, limit=600_000, bound=3)
        try:
            other.run()
        except Failure:
            pass
        shutil.copytree(
            f"{other.homes['sender']}/transfers", f"{one.homes['sender']}/transfers", dirs_exist_ok=True)

    expect("an undisturbed round", "")
    expect("one bit of one file altered", "large-0: content", alter)
    expect("a time altered by 1 ns", "modification time", lambda one: os.utime(f"{one.new}/holes", ns=(0, 1)))
    expect("staging left in the destination", ".peer-0123", lambda one: os.mkdir(f"{one.new}/.peer-0123"))
    expect("an unfinished transfer remembered", "unfinished", plant)
    expect("a relay that stops for ever", "hangs", limit=600_000, bound=6)
    hung = Plan(random.Random(1))
    hung.early = ["kill sender"]
    expect("a relay that stops, and a kill", "hangs", plan=hung, limit=600_000, bound=6)
    empty = Tally()
    empty.rounds = 1
    for what, tally, number in (("no faults", empty, 2), ("no rounds", Tally(), 0)):
        if len(tally.misses()) != number:
            failures.append(what)
            print(f"self-test: {what}: FAILED: {tally.misses()}")
    print(f"chaos: self-test: {len(failures)} failures")
    return 1 if failures else 0
