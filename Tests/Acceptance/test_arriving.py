"""What arrives: files, apps' data and secrets, as this device's user takes them."""

import json
import os
import shutil
import signal

from computers import computers
from devices import PATIENCE, own_port, random_file
from interop import interop, paired
from needs import needs
from outside import MIB, ROOT, equal, require, wait_for

if interop() is None:
    import wire
    from plan import Part

DESCRIPTIONS = f"{ROOT}/Sources/Computer/MigrationApps/Descriptions"

# A folder of PATH.
TOOLS = "tools/bin"


def start(new, options, answers, words=()):
    """A receiver, and where it listens."""
    receiver = new.start("receive", *words, *options, "--listen", "127.0.0.1:0", "--json", text=answers or "")
    [listening] = wait_for("a port", PATIENCE, lambda: receiver.events("listening"))
    return receiver, listening["port"]


def code_of(receiver):
    return wait_for("a code", PATIENCE, lambda: receiver.events("code"))[0]["code"]


def test_the_rest_arrives(work):
    """arriving: of one folder, what would become a folder of PATH is left out and named, the rest arrives, and a link takes its place no more"""
    old, new = computers(work, [])
    work.environment["PATH"] = f"{new.home}/{TOOLS}:{os.environ['PATH']}"
    for name in (f"{TOOLS}/ls", f"{TOOLS}/deep/er", "tools/notes", "plain/bin/ls"):
        old.write(name, "new")
    receiver, port = start(new, [], None, [new.home])
    sender = old.send(port, code_of(receiver), f"{old.home}/tools", f"{old.home}/plain")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
    equal((sorted(os.listdir(f"{new.home}/tools")), new.read("plain/bin/ls")), (["notes"], "new"), "what arrived")
    left = [f"{TOOLS}", f"{TOOLS}/deep", f"{TOOLS}/deep/er", f"{TOOLS}/ls"]
    for process in (sender, receiver):
        equal(sorted((event["path"], event["reason"]) for event in process.events("notStored")), [(path, "notTaken") for path in left], "what is named")
    old.write("elsewhere/bin/ls", "new")
    os.symlink("elsewhere", f"{old.home}/link")
    os.rename(f"{old.home}/tools", f"{old.home}/was")
    os.rename(f"{old.home}/link", f"{old.home}/tools")
    os.rename(f"{new.home}/tools", f"{new.home}/moved")
    receiver, port = start(new, [], None, [new.home])
    sender = old.send(port, code_of(receiver), f"{old.home}/tools", f"{old.home}/elsewhere")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
    require(not os.path.lexists(f"{new.home}/tools") and new.read("elsewhere/bin/ls") == "new", "what arrived")


def shipped():
    """The keys of each shipped description, and whether it names secrets."""
    found = {}
    for name in sorted(os.listdir(DESCRIPTIONS)):
        with open(f"{DESCRIPTIONS}/{name}", encoding="utf-8") as file:
            text = file.read()
        data = text.split("[Data]\n")[1].split("\n[")[0] if "[Data]" in text else "dconf="
        keys = sorted({line.split("=")[0].encode() for line in data.splitlines() if "=" in line and line[0] != "#"})
        found[name.removesuffix(".app")] = keys, "Secret=yes" in text or "Identity=yes" in text
    return found


@needs(interop)
def test_a_hostile_sender(work):
    """arriving: of a sender that has the code, and says that all is harmless, no data of any app arrives without --take-apps"""
    old, new = computers(work, [])
    old.write("evil/start", "run")
    apps = shipped()
    apps["org.example.Undescribed"] = [b"container", b"overrides"], False
    require(len(apps) >= 38, f"only {len(apps)} descriptions")
    shutil.copytree(DESCRIPTIONS, f"{new.peer_home}/descriptions")

    def brought(*options):
        receiver = new.receive(*options)
        made = paired(receiver, [
            Part({key: f"{old.home}/evil" for key in keys}, kind=wire.APP_OF_FILES, identifier=app, name="Pictures of the wedding")
            for app, (keys, _) in apps.items()])
        made.session()
        receiver.wait()
        codes = dict(zip(apps, (part.code for part in made.parts)))
        return codes, sorted(os.listdir(new.home)), receiver

    codes, names, receiver = brought()
    # Without dconf here, the settings fail before anything is asked.
    equal({app: code for app, code in codes.items() if code not in (5, 18)}, {}, "the codes of parts")
    equal((names, receiver.code), ([], 4), "what arrived")
    codes, names, receiver = brought("--take-apps")
    equal({app for app, (_, isSecret) in apps.items() if isSecret} - {app for app, code in codes.items() if code == 5}, set(), "secrets")
    equal(codes["org.videolan.VLC"], 0, "the code of VLC")
    require(not any(name in names for name in (".ssh", ".gnupg", ".purple", ".mozilla")), f"arrived: {names}")


def asked(receiver, about="consent"):
    return [question for question in receiver.events("question") if question["about"] == about]


def test_names(work):
    """arriving: the question names apps and places in this device's words, and the sender's only beside"""
    old, new = computers(work, [])
    for computer, name in ((old, "Pictures of the wedding"), (new, "The Editor")):
        os.makedirs(f"{computer.peer_home}/descriptions")
        with open(f"{computer.peer_home}/descriptions/editor.app", "w", encoding="utf-8") as file:
            file.write(f"[Application]\nId=editor\nName={name}\n[Data]\nconfig=config/editor\n")
    old.write(".config/editor/start", "run")
    receiver, port = start(new, ["--everything", "--ask"], "n\n")
    sender = old.send(port, code_of(receiver), "--everything")
    equal((sender.wait(), receiver.wait()), (4, 4), "the exit codes")
    [question] = asked(receiver)
    [part] = question["parts"]
    equal((part["name"], part["part"], part["classes"]), ("The Editor", "Pictures of the wedding", ["apps"]), "the part")
    equal(part["places"], [{"class": "apps", "paths": [{"path": ".config/editor"}]}], "its places")


def test_a_late_answer(work):
    """arriving: a question is withdrawn when its sender leaves, and a later answer to it is none to the next question"""
    old, new = computers(work, [])
    old.write("notes")
    old.write(".profile", "run")
    receiver = new.start("receive", new.home, "--ask", "--listen", "127.0.0.1:0", "--json", text=None)
    port = wait_for("a port", PATIENCE, lambda: receiver.events("listening"))[0]["port"]

    def question(number):
        code = wait_for("a code", PATIENCE, lambda: receiver.events("code")[number - 1:])[0]["code"]
        sender = old.send(port, code, f"{old.home}/notes", f"{old.home}/.profile")
        wait_for(f"question {number}", PATIENCE, lambda: len(asked(receiver)) == number or sender.poll())
        equal([one["number"] for one in asked(receiver)], [*range(1, number + 1)], f"the questions: {sender.text()[-300:]}")
        return sender

    question(1).signal(signal.SIGKILL)
    sender = question(2)
    receiver.say("#1 all")
    receiver.say("#2 files")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
    equal([event["number"] for event in receiver.events("withdrawn")], [1], "the withdrawn questions")
    equal(sorted(os.listdir(new.home)), ["notes"], "what arrived")


def test_answers_are_kept(work):
    """arriving: what a person has refused stays refused in the next plan, with --replace too; an option holds for its run; the person may take it"""
    old, new = computers(work, [])
    for name in ("vault", "editor"):
        for computer in (old, new):
            os.makedirs(f"{computer.peer_home}/descriptions", exist_ok=True)
            with open(f"{computer.peer_home}/descriptions/{name}.app", "w", encoding="utf-8") as file:
                file.write(f"[Application]\nId={name}\nName={name}\n{'Secret=yes' if name == 'vault' else ''}\n[Data]\nconfig=config/{name}\n")
        old.write(f".config/{name}/data", "first")
    old.write("notes", "first")

    def run(options, answers, code, expected, isKnown=True):
        receiver, port = start(new, ["--everything", *options], answers)
        sender = old.send(port, None if isKnown else code_of(receiver), "--everything")
        equal((sender.wait(), receiver.wait()), (code, code), f"the exit codes: {sender.text()[-400:]}")
        equal([name for name in ("vault", "editor") if new.read(f".config/{name}/data")], expected, f"what arrived with {options} {answers}")
        return receiver

    run(["--ask"], "files\n", 8, [], isKnown=False)
    # Without a person, what was refused stays so; the sender's second run is a new plan.
    old.write("notes", "second, longer")
    run([], None, 8, [])
    equal(new.read("notes"), "second, longer", "the file")
    old.write("notes", "third, longer still")
    run(["--replace"], None, 8, [])
    # It is shown as refused, and 'y' does not take it.
    receiver = run(["--ask", "--replace"], "y\n", 8, [])
    equal([part["ticked"] for part in asked(receiver)[0]["parts"] if part["name"] == "editor"], [[]], "what is ticked")
    receiver = run(["--ask"], "all\nn\n", 8, ["editor"])
    equal([[part["name"] for part in question["parts"]] for question in asked(receiver, "secrets")], [["vault"]], "the secrets")
    # What was taken is taken again; an option stands above a refusal, for its run.
    old.write(".config/editor/data", "second, longer")
    run(["--replace"], None, 8, ["editor"])
    equal(new.read(".config/editor/data"), "second, longer", "the app's data")
    run(["--take-apps", "--take-secrets"], None, 0, ["vault", "editor"])
    # A stranger again: nothing is remembered of the answers.
    new.peer("device", "forget", json.loads(new.peer("device", "list", "--json"))["id"])
    old.write(".config/editor/data", "third, longer still")
    run(["--replace"], None, 8, ["vault", "editor"], isKnown=False)
    equal(new.read(".config/editor/data"), "second, longer", "the app's data")


def test_answers_of_a_place(work):
    """arriving: what a person takes at one destination is refused at another one, and in the folder that a device has there"""
    old, new = computers(work, [])

    def run(content, code, expected, place, *options, answers=None, is_known=True):
        old.write("tool", content)
        receiver, port = start(new, ["--remember", "--existing", "replace", *options], answers, [f"{new.home}/{place}"])
        sender = old.send(port, None if is_known else code_of(receiver), f"{old.home}/tool", "--remember")
        equal((sender.wait(), receiver.wait()), (code, code), f"the exit codes at {place}: {sender.text()[-300:]}")
        found = [name for name in ("bin/tool", ".config/tool") if new.read(name) is not None]
        equal((found, new.read("bin/tool")), expected, f"what arrived at {place}")

    run("first", 0, (["bin/tool"], "first"), "bin", "--ask", answers="y\n", is_known=False)
    run("second", 4, (["bin/tool"], "first"), ".config")
    run("second", 0, (["bin/tool"], "second"), "bin")
    run("third", 4, (["bin/tool"], "second"), "", "--into", "snap/{device}")


def test_a_second_start(work):
    """arriving: what a run without a person has refused is asked about when the same transfer goes on with one"""
    old, new = computers(work, [])
    for computer in (old, new):
        os.makedirs(f"{computer.peer_home}/descriptions")
        with open(f"{computer.peer_home}/descriptions/editor.app", "w", encoding="utf-8") as file:
            file.write("[Application]\nId=editor\nName=editor\n[Data]\nconfig=config/editor\n")
    old.write(".config/editor/start", "run")
    random_file(f"{old.home}/large", 24 * MIB)
    port = own_port()
    receiver = new.receive(port=port)
    way = work.slow_link(port)
    sender = old.send(way.port, receiver.pairing_code, "--everything")
    wait_for("some of it", PATIENCE, lambda: way.passed > 4 * MIB or not sender.is_running())
    receiver.signal(signal.SIGKILL), receiver.wait()
    sender.signal(signal.SIGTERM), sender.wait()
    receiver = new.start("receive", "--everything", "--ask", "--listen", f"127.0.0.1:{port}", "--json", text="files\n")
    wait_for("a port", PATIENCE, lambda: receiver.events("listening"))
    sender = old.send(port, None, "--everything")
    equal((sender.wait(), receiver.wait()), (8, 8), f"the exit codes: {sender.text()[-300:]}")
    require(asked(receiver), "the second run took what was never asked about without a question")
    require(sender.events("resumed"), "it was another transfer")
    equal((new.read(".config/editor/start"), os.path.getsize(f"{new.home}/large")), (None, 24 * MIB), "what arrived")
