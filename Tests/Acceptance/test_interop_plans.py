"""Plans of several parts: the second implementation (Tests/Interop) against the program."""

import contextlib
import os
import shutil
import time

import pytest

from devices import PATIENCE, Receiver, end_well, own_port, random_file, sender, small_file
from interop import close_of, ended, interop, listening, paired, roots, to_data, violations
from needs import needs
from outside import equal, require, run_script

pytestmark = needs(interop)

if interop() is None:
    import channel
    import wire
    from forms import Violation
    from plan import EXITS, Failed, Part

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


@pytest.mark.parametrize("streams", [1, 3])
def test_a_plan_of_three_parts(work, streams):
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


@pytest.mark.parametrize("name", [name for name, frames in violations().items() if len(frames) == 1])
def test_a_plan_that_breaks_rules(work, name):
    """interop: a PLAN that breaks a rule: CLOSE 3 and exit code 1"""
    [frame] = violations()[name]
    old, new = some(work, "one")
    receiver = Receiver(work, new)
    made = paired(receiver, roots(old))
    made.greet()
    made.control.write(frame)
    said = close_of(made.control.hear)
    work.figure = said.message
    equal(said.code, 3, "code")
    ended(receiver, 1)
    equal(listed(new), [], "what arrived")


def offer(made, part):
    made.control.say("OFFER", part=part, items=0, bytes=0, allocated=0, flags=0)


def run_two(made, count):
    made.plan()
    for _ in range(count):
        made.run_part()


WRONG = {
    "OFFER before PLAN": lambda made: offer(made, 0),
    "PLAN twice": lambda made: (made.plan(), made.plan()),
    "RECEIPT before PLAN": lambda made: made.control.say("RECEIPT"),
    "RECEIPT before a part": lambda made: (run_two(made, 1), made.control.say("RECEIPT")),
    "RECEIPT while a part runs": lambda made: (run_two(made, 1), made.offer(), made.control.say("RECEIPT")),
    "a part twice": lambda made: (run_two(made, 1), offer(made, 0)),
    "parts in the other order": lambda made: (made.plan(), made.offer(made.parts[1]), made.settle(Failed(11)), offer(made, 0)),
    "a part that is refused": lambda made: (made.plan(), offer(made, 2)),
    "a part that is not in the plan": lambda made: (made.plan(), offer(made, 3)),
    "OFFER while a part runs": lambda made: (made.plan(), made.offer(), offer(made, 1)),
    "FAILED before OFFER": lambda made: (made.plan(), made.control.say("FAILED", part=0, code=11)),
    "FAILED of another part": lambda made: (made.plan(), made.offer(), made.control.say("FAILED", part=1, code=11)),
    "FAILED twice": lambda made: (made.plan(), made.offer(), made.settle(Failed(11)), made.control.say("FAILED", part=0, code=11)),
    "FINISH behind FAILED": lambda made: (made.plan(), made.offer(), made.settle(Failed(11)),
                                          made.control.say("FINISH", items=0, bytes=0, unsent=0, digest=bytes(16))),
    "DATA behind DONE": lambda made: (run_two(made, 1), made.streams.put(b"\1")),
}


@pytest.mark.parametrize("name", WRONG)
def test_frames_that_a_plan_does_not_allow(work, name):
    """interop: a frame that comes where the plan does not allow it: CLOSE 3 and exit code 1, or 8"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, [*each(old), Part(roots(old), kind=wire.APP, **APP)])
    made.greet()
    with contextlib.suppress(channel.Cut):
        said = close_of(lambda: (WRONG[name](made), [made.control.hear() for _ in range(99)]))
        work.figure = said.message
        equal(said.code, 3, "code")
    require(receiver.wait() in (1, 8), f"exit code {receiver.code}")


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


def test_a_source_that_is_gone(work):
    """interop: a part that the sender cannot read is offered without totals, and fails at once"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, each(old))
    shutil.move(f"{old}/one", f"{old}/other")
    made.session()
    equal((codes(made), made.exit_code()), ([11, 0], 8), "results")
    ended(receiver, 8)
    equal(listed(new), ["two"], "what arrived")


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


@pytest.mark.parametrize("change, code", [
    pytest.param({"plan": bytes(16)}, 12, id="an unknown plan"),
    pytest.param({"unknown": {200: b"later"}}, 3, id="an unknown field"),
    pytest.param("order", 3, id="another order of parts"),
    pytest.param("name", 3, id="another name of a part"),
    pytest.param("fewer", 3, id="a part less"),
    pytest.param("estimates", None, id="other estimates, kinds and flags"),
])
def test_a_plan_that_differs(work, change, code):
    """interop: a later PLAN must be the first one, except the estimates, kinds of roots and flags"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, each(old), frame=100_000, before_frame=at_frame(4, Stop()))
    with pytest.raises(Stop):
        made.session()
    made.streams.drain()
    made.cut()
    made.options.before_frame = None
    parts = [part.told() for part in made.parts]
    later = {"order": parts[::-1], "name": [{**parts[0], "name": "other"}, parts[1]], "fewer": parts[:1], "estimates": [
        {**part, "bytes": 7, "items": 8, "roots": [(wire.FILE, root) for _, root in part["roots"]]} for part in parts]}
    made.options.plan = change if isinstance(change, dict) else {"parts": later[change], "flags": 0x80}
    made.resume()
    if code is None:
        made.session()
        end_well(receiver)
        run_script("check-trees", "--inside", old, new)
        return
    made.greet()
    said = close_of(made.plan)
    work.figure = said.message
    equal(said.code, code, "code")
    ended(receiver, EXITS.get(code, 1))


def test_a_paired_session_continues_no_plan(work):
    """interop: PLAN names a plan in a session that has paired: CLOSE 12"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = paired(receiver, each(old), plan={"plan": bytes(16)})
    made.greet()
    equal(close_of(made.plan).code, 12, "code")
    ended(receiver, 4)


def test_an_item_below_no_root(work):
    """interop: an item below a root of another part: CLOSE 14"""
    old, new = some(work)
    receiver = Receiver(work, new)
    made = to_data(paired(receiver, each(old)))
    made.put(wire.item(wire.RECORD.put({"path": b"two/item", "kind": wire.DIRECTORY, "generation": bytes(16)})))
    equal(close_of(made.drain).code, 14, "code")
    ended(receiver, 1)


# The second implementation receives


def finished(receiver, program):
    """Lets a receiver act until the program and its plan have ended."""
    limit = time.monotonic() + PATIENCE
    while program.is_running() or not receiver.is_over:
        require(time.monotonic() < limit, f"no end of the plan: {program.text()[-300:]}")
        receiver.turn(0.05)


@pytest.mark.parametrize("code, exit_code", [
    (1, 1), (2, 5), (3, 1), (4, 1), (5, 4), (6, 4), (7, 6), (8, 4), (9, 1), (10, 7), (11, 9), (12, 4), (14, 1), (15, 4), (16, 5), (17, 4), (18, 4),
    (19, 4), (20, 4), (21, 4), (999, 1)])
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


TAKEN = {"code": 0}
VERDICTS = {
    "no verdict": {"parts": []},
    "a verdict too many": {"parts": [TAKEN, TAKEN]},
    "a message with code 0": {"parts": [{"code": 0, "message": "yes"}]},
    "a name with code 0": {"parts": [{"code": 0, "name": b"one"}]},
    "a root left out twice": {"parts": [{"code": 0, "without": [(0, 6), (0, 6)]}]},
    "all roots left out": {"parts": [{"code": 0, "without": [(0, 6), (1, 6)]}]},
    "a root left out that is not there": {"parts": [{"code": 0, "without": [(2, 6)]}]},
    "a root left out of a part that is refused": {"parts": [{"code": 5, "without": [(0, 6)]}]},
    "a new plan that is finished": {"parts": [{"code": 0xFFFF}]},
    "a small window": {"window": 2_621_439},
    "no streams": {"streams": 0},
    "65 streams": {"streams": 65},
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_that_breaks_rules(work, name):
    """interop: a VERDICT that breaks a rule: CLOSE 3 and exit code 1"""
    old, new = some(work)
    with listening(new, verdict=VERDICTS[name]) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code)
        with pytest.raises(channel.Closed, match="CLOSE 3"):
            finished(receiver, program)
        ended(program, 1)


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
@pytest.mark.parametrize("state", ["judging", "reporting", "receiving", "data", "importing"])
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


FAILURES = {
    "before an OFFER, of another part": {"at": lambda receiver, state: state == "between" and say_failed(receiver.control, 1)},
    "of another part": {"at": lambda receiver, state: state == "receiving" and say_failed(receiver.control, 1)},
    "on a data stream": {"before_frame": lambda receiver, _: say_failed(receiver.streams[0].link, 0)},
}


def say_failed(link, part):
    link.say("FAILED", part=part, code=9, message="the test fails it")


@pytest.mark.parametrize("where", FAILURES)
def test_a_failed_that_breaks_rules(work, where):
    """interop: FAILED where it may not come: CLOSE 3 and exit code 1"""
    old, new = some(work)
    with listening(new, **FAILURES[where]) as receiver:
        program = sender(work, roots(old), receiver.port, receiver.code)
        with pytest.raises((channel.Closed, Violation)):
            finished(receiver, program)
        while program.is_running():
            with contextlib.suppress(channel.Closed, Violation):
                receiver.turn(0.05)
        ended(program, 1)
