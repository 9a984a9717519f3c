"""The acceptance tests run the built command from outside: code that its checks share.
`Scripts/acceptance` runs them."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile

import pytest

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..", place) for place in ("Scripts/lib", "Lab/lib")]

import events  # noqa: E402
from devices import Work  # noqa: E402
from disks import own_mounts  # noqa: E402
import promises
from needs import missing  # noqa: E402
from outside import build, find_binary, remove  # noqa: E402
from table import Table  # noqa: E402

PROGRAMS = ("peer", "TestApp", "TestAppExtension", "carry")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="tries more on each file system, and every attack on every frame")
    parser.addoption("--promises", action="store_true", help="only the checks of promises.py")
    parser.addoption("--require", action="store_true", help="takes a check that is skipped for one that failed")


def leave_this_computer_out():
    """Lets the programs see no description, program, package, process or setting of this computer's user
    but those that a check lays: below PEER_SYSTEM, in a home, or in a variable."""
    for name in list(os.environ):
        if name.startswith(("XDG_", "DBUS_")) or name in ("DCONF_PROFILE", "PEER_HOME", "PEER_RELAY"):
            del os.environ[name]
    os.environ["PEER_SYSTEM"] = "/nonexistent"


def pytest_configure(config):
    leave_this_computer_out()
    for mark in ("needs(probe, ...): what a check needs that is not everywhere", "takes(seconds): about how long a check lasts",
                 "option(name): a check that is made where this option is given"):
        config.addinivalue_line("markers", mark)
    # A run that is terminated also undoes its changes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.option.tbstyle = "short"
    if hasattr(config, "workerinput"):
        return
    if not config.pluginmanager.hasplugin("terminalreporter"):
        config.pluginmanager.register(Table())
    # Workers find the programs in their environment.
    for name in PROGRAMS:
        path = find_program(name)
        if name == "carry" and config.option.promises:
            continue
        if path is None or not os.path.isfile(path):
            pytest.exit(f"there is no {name} to run", returncode=2)
        os.environ[f"ACCEPTANCE_{name}"] = path


def pytest_keyboard_interrupt():
    """Ends the workers in order, with their resources; otherwise they would be killed in the middle
    of their checks."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        for worker in file.read().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(worker), signal.SIGTERM)


def find_program(name):
    """The path of a program: in the folder that PEER_PROGRAMS names, or built. PEER_BINARY
    overrides the path of `peer`."""
    folder = os.environ.get("PEER_PROGRAMS")
    if name == "peer" and (os.environ.get("PEER_BINARY") or not folder):
        return find_binary("acceptance")
    return os.path.abspath(f"{folder}/{name}") if folder else build(name)


def sentence(item):
    """The sentence of a check in the table: the first paragraph of its docstring, and the
    parameters, if it has any."""
    said = " ".join(item.function.__doc__.split("\n\n")[0].split())
    return f"{said}: {item.callspec.id}" if hasattr(item, "callspec") else said


def pytest_collection_modifyitems(config, items):
    """Selects the requested checks, and starts the longest first, so that none runs alone at the
    end."""
    chosen = promises.chosen(items)
    if config.option.promises:
        items[:] = chosen
    for item in items:
        item.user_properties.append(("sentence", sentence(item)))

    def is_wanted(item):
        options = [mark.args[0] for mark in item.iter_markers("option")]
        return os.environ.get("ACCEPTANCE_ONLY", "") in sentence(item) and all(config.getoption(option) for option in options)

    config.hook.pytest_deselected(items=[item for item in items if not is_wanted(item)])
    items[:] = [item for item in items if is_wanted(item)]
    items.sort(key=lambda item: -next((mark.args[0] for mark in item.iter_markers("takes")), 0))
    # One of several processes, without a plugin: the third of four has 3/4.
    if part := os.environ.get("ACCEPTANCE_PART"):
        number, count = map(int, part.split("/"))
        items[:] = items[number - 1::count]


def pytest_runtest_setup(item):
    reason = missing(item)
    if reason:
        pytest.skip(reason)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    work = getattr(item, "funcargs", {}).get("work")
    if report.when == "call" and work and work.figure:
        item.user_properties.append(("figure", work.figure))
        report.user_properties = list(item.user_properties)
    if report.when == "call" and work and work.row:
        item.user_properties.append(("row", [*work.row, "FAILED"] if report.failed else work.row))
        report.user_properties = list(item.user_properties)
    if report.when == "call" and work and report.passed:
        if wrong := next(filter(None, map(events.mistake_of, work.processes)), None):
            report.outcome, report.longrepr = "failed", wrong
    if report.failed and work and report.when == "call":
        for process in work.processes:
            state = "still ran" if process.is_running() else f"ended with {process.code}"
            report.sections.append((f"'{process.name()}' {state}", process.text()[-1500:]))
    if report.skipped and item.config.getoption("require"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and --require allows no skip: {report.longrepr[2].removeprefix('Skipped: ')}"


@pytest.fixture(scope="session")
def programs():
    """A folder with the programs, from which every user can run the command."""
    folder = tempfile.mkdtemp(prefix="peer-acceptance-")
    os.chmod(folder, 0o755)
    shutil.copy(os.environ["ACCEPTANCE_peer"], f"{folder}/peer")
    os.chmod(f"{folder}/peer", 0o755)
    for name in PROGRAMS[1:]:
        if f"ACCEPTANCE_{name}" in os.environ:
            os.symlink(os.environ[f"ACCEPTANCE_{name}"], f"{folder}/{name}")
    yield folder
    remove(folder)


@pytest.fixture
def work(programs, pytestconfig):
    """The resources of one check; ended and removed after it, even if it failed."""
    work = Work(programs, pytestconfig.getoption("long"))
    yield work
    work.clean()


@pytest.fixture
def trials(work):
    """Makes places for trials that run at the same time, each with its own folders and home."""
    own_mounts()
    made = []

    def new():
        made.append(Work(work.programs, work.is_long))
        # If one of them fails, their output is shown.
        made[-1].processes = work.processes
        return made[-1]

    yield new
    for one in made:
        one.clean()
