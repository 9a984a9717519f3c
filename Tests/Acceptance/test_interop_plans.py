"""Plans of several parts: the second implementation (Tests/Interop) against the program."""

import os
import time

import pytest

from devices import PATIENCE, Receiver, end_well, own_port, random_file, sender, small_file
from interop import ended, interop, listening, paired, roots
from needs import needs
from outside import equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
    import channel
    import wire
    from plan import Failed, Part

APP = {"identifier": "org.example.other", "app": {"store": "", "platform": "linux", "version": "1"}}


def some(work, *names):
    """Folders with files, and a destination."""
    old, new = work.place()
    for folder in names or ("one", "two"):
        os.mkdir(f"{old}/{folder}")
        for number in range(4):
            random_file(f"{old}/{folder}/large-{number}", 300_000 + number)
        small_file(f"{old}/{folder}/small")
        os.symlink("nowhere", f"{old}/{folder}/link")
    return old, new


def each(old):
    """A part of each folder."""
    return [Part([path]) for path in roots(old)]


def codes(made):
    return [part.code for part in made.parts]


class Stop(Exception):
    """A test's own end of sending."""


def at_frame(number, error):
    """Lets so many frames of a session go, and raises an error once."""
    errors = [error]

    def before(_, count):
        if count == number and errors:
            raise errors.pop()

    return before


def listed(folder):
    return sorted(name for name in os.listdir(folder) if not name.startswith("."))


# The second implementation sends


def test_a_plan_of_three_parts(work, streams=3):
    """interop: two parts of folders arrive, an app between them is refused with code 15; the
    streams stay"""
    old, new = some(work)
    archive = some(work, "archive")[0]
    receiver = Receiver(work, new)
    one, two = each(old)
    made = paired(receiver, [one, Part(roots(archive), kind=wire.APP, **APP), two], streams=streams, frame=100_000)
    made.session()
    equal([judged["code"] for judged in made.verdict.parts], [0, 15, 0], "VERDICT")
    equal((codes(made), made.exit_code(), made.streams.joined), ([0, 15, 0], 8, streams), "results, the exit code, and streams")
    ended(receiver, 8)
    run_script("check-trees", "--inside", old, new)


def test_parts_of_every_kind(work):
    """interop: a receiver of folders takes these alone: known kinds and roles get code 15, others
    17"""
    old, new = some(work)
    receiver = Receiver(work, new)
    place = f"{old}/one"
    app_of_files = Part({"config": place}, kind=wire.APP_OF_FILES, identifier="org.example.editor")
    made = paired(receiver, [
        app_of_files, Part({"documents": place}, identifier="home"), Part({"papers": place}, identifier="office"), Part({"A": place}, kind=77),
        Part(roots(old)), Part(roots(old), kind=wire.APP, **APP)])
    made.session()
    equal(codes(made), [15, 15, 17, 17, 0, 15], "codes")
    ended(receiver, 8)
    run_script("check-trees", "--inside", old, new)


def test_no_part_is_taken(work):
    """interop: a plan without a wanted part: RECEIPT follows VERDICT, and both exit by the first
    part"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, [Part([f"{old}/one"], kind=99), Part(roots(old), kind=wire.APP, **APP)])
    made.session()
    equal((codes(made), made.exit_code()), ([17, 15], 4), "codes")
    ended(receiver, 4)
    equal(listed(new), [], "what arrived")


def test_a_part_of_an_unknown_kind_may_come_later(work):
    """interop: a plan with a part of an unknown kind is kept, and a later run of the program judges
    that part again"""
    old, new = some(work)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = paired(receiver, [Part([f"{old}/one"]), Part({"A": f"{old}/two"}, kind=77)])
    made.session()
    ended(receiver, 8)
    again = Receiver(work, new, port=port, is_inviting=False)
    made.resume()
    made.session()
    equal([judged["code"] for judged in made.verdict.parts], [wire.FINISHED, 17], "the second VERDICT")
    ended(again, 8)


@pytest.mark.parametrize("code", [11, 1])
def test_a_part_that_fails_at_the_sender(work, code):
    """interop: the first part fails with frames under way; the second one arrives; a resumable one
    continues in a later run"""
    old, new = some(work)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = paired(receiver, each(old), streams=2, frame=100_000, before_frame=at_frame(8, Failed(code, "the test fails it")))
    made.session()
    equal((codes(made), made.exit_code()), ([code, 0], 8), "results")
    ended(receiver, 8)
    equal(listed(new), ["two"], "what arrived")
    made.options.before_frame = None
    if code == 11:
        again = Receiver(work, new, port=port, is_inviting=False)
        made.resume()
        made.session()
        equal([judged["code"] for judged in made.verdict.parts], [0, wire.FINISHED], "VERDICT")
        require(made.held[1] or made.partial, "nothing of the part is held")
        equal((codes(made), made.exit_code()), ([0, 0], 0), "results")
        ended(again, 0)
        run_script("check-trees", "--inside", old, new)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_cut_in_the_second_part(work, is_killed):
    """interop: a cut, or a death of the program, in part 2: the plan continues, and part 1 is not
    sent again"""
    old, new = some(work)
    port = own_port()
    receiver = Receiver(work, new, port=port)
    made = paired(receiver, each(old), frame=100_000, before_frame=None)
    made.greet()
    made.plan()
    made.run_part()
    made.options.before_frame = at_frame(made.streams.frames + 8, Stop())
    with pytest.raises(Stop):
        made.run_part()
    made.streams.drain()
    plan, session = made.verdict.plan, made.verdict.session
    if is_killed:
        receiver.signal(9)
        receiver.wait()
        receiver = Receiver(work, new, port=port, is_inviting=False)
    made.cut()
    made.options.before_frame = None
    made.resume()
    made.session()
    equal((made.verdict.plan == plan, made.verdict.session == session), (True, False), "the ids")
    equal([judged["code"] for judged in made.verdict.parts], [wire.FINISHED, 0], "VERDICT")
    require(made.held[1] or made.partial, "nothing of part 2 is held")
    equal(sum(said.name == "OFFER" for is_own, said in made.control.trace if is_own), 1, "OFFERs")
    end_well(receiver)
    run_script("check-trees", "--inside", old, new)


def test_done_answers_an_offer(work):
    """interop: a sender that does not hold the DONE of part 1 gets it again, and then part 2 runs"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, each(old))
    made.greet()
    made.plan()
    made.run_part()
    first = made.part.done
    made.cut()
    made.part.done = None
    made.resume()
    made.session()
    equal((made.parts[0].done.items, made.parts[0].done.bytes), (first.items, first.bytes), "totals")
    end_well(receiver)
    run_script("check-trees", "--inside", old, new)


# The second implementation receives


def finished(receiver, program):
    """Lets a receiver act until the program and its plan have ended."""
    limit = time.monotonic() + PATIENCE
    while program.is_running() or not receiver.is_over:
        require(time.monotonic() < limit, f"no end of the plan: {program.text()[-300:]}")
        receiver.turn(0.05)


@pytest.mark.parametrize("code, exit_code", [(6, 4), (7, 6), (999, 1)])
def test_the_only_part_is_refused(work, code, exit_code):
    """interop: VERDICT refuses the part: the program sends RECEIPT and exits with the code of section 10"""
    old, new = some(work, "one")
    with listening(new, judge_part=lambda _: {"code": code, "message": "the test refuses", "name": b"one"}) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code)
        finished(receiver, program)
        ended(program, exit_code)
        # Its words are shown only where the code does not say all.
        equal("the test refuses" in program.text(), code in (1, 3, 10, 11, 14, 16, 999), program.text()[-300:])
        equal((receiver.exit_code(), receiver.sessions), (exit_code, 1), "the exit code here, and sessions")


def test_another_plan_in_a_verdict(work):
    """interop: VERDICT of a later session names another plan: CLOSE 3 and exit code 1"""
    old, new = some(work)

    def cut(receiver, _):
        receiver.options.before_frame, receiver.options.verdict = None, {"plan": bytes(16)}
        receiver.control.cut()
        raise channel.Cut("by the test")

    with listening(new, before_frame=cut) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code)
        with pytest.raises(channel.Closed, match="CLOSE 3"):
            finished(receiver, program)
        ended(program, 1)


def test_a_root_is_left_out(work):
    """interop: VERDICT leaves out a root: the other one arrives, and both exit with 8"""
    old, new = some(work)
    with listening(new, judge_part=lambda _: {"code": 0, "without": [(0, 6)]}) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code)
        finished(receiver, program)
        ended(program, 8)
        # The walk was before the verdict.
        equal((receiver.exit_code(), receiver.part.offer.flags), (8, 1), "the exit code here, and the flags of the OFFER")
    equal(listed(new), ["two"], "what arrived")


def at_state(wanted, error):
    def enter(_, state):
        if state == wanted:
            raise error

    return enter


@pytest.mark.parametrize("code, exit_code", [(9, 1), (8, 4)])
@pytest.mark.parametrize("state", ["data", "importing"])
def test_the_receiver_fails_the_part(work, state, code, exit_code):
    """interop: FAILED in each state: the program answers and exits; after a resumable code the next
    run continues"""
    old, new = some(work)
    error = Failed(code, "the test fails the part")
    values = {"before_entry": lambda receiver, _: receiver.streams[0].written and raised(error)} if state == "data" else {"at": at_state(state, error)}
    with listening(new, **values) as receiver:
        program = sender(work, [*roots(old), "--streams", "2"], receiver.port, receiver.code)
        finished(receiver, program)
        ended(program, exit_code)
        equal((receiver.part.code, receiver.exit_code()), (code, exit_code), "the result here")
        equal("the test fails the part" in program.text(), code in (1, 3, 10, 11, 14, 16), program.text()[-300:])
        equal(listed(new), [], "what arrived")
        if code == 9:
            receiver.options.at = receiver.options.before_entry = None
            receiver.is_over = False
            program = sender(work, roots(old), receiver.port, None)
            finished(receiver, program)
            ended(program, 0)
            run_script("check-trees", "--inside", old, new)


def raised(error):
    raise error
