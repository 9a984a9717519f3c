"""Code of the scripts that run the built command from outside."""

import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "Scripts")
GIB = 1 << 30
MIB = 1 << 20
IS_ROOT = os.geteuid() == 0
NOBODY = 65534


class Failure(Exception):
    """A check with an unexpected result; the message names the result."""


class Skip(Exception):
    """A check that is not possible here; the message gives the reason."""


def require(condition, message):
    if not condition:
        raise Failure(message)


def equal(found, expected, what):
    require(found == expected, f"{what}: {found!r}, not {expected!r}")


def say(text):
    """Tells a user the progress."""
    print(text, file=sys.stderr, flush=True)


def wait_for(what, seconds, ready):
    """The first true value of a function, called again and again until the bound."""
    limit = time.monotonic() + seconds
    while True:
        value = ready()
        if value:
            return value
        if time.monotonic() > limit:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def check_line(name, outcome, figure=""):
    """The line that every script prints for a check: its name, ok or FAILED or skipped, and a
    figure."""
    return f"{name} | {outcome:7} | {figure}"


def mib(count):
    return f"{count / MIB:.0f} MiB" if count < 10 * GIB else f"{count / GIB:.0f} GiB"


def tool(name):
    """The path of a tool, of the scripts or of the laboratory."""
    return next(path for folder in ("Scripts", "Lab") if os.path.exists(path := f"{ROOT}/{folder}/lib/{name}"))


def run_script(name, *arguments, seconds=600):
    """Runs a tool; returns its output. Fails unless its exit code is 0."""
    result = subprocess.run(
        [sys.executable, tool(name), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=seconds, check=False)
    text = result.stdout.decode(errors="replace").strip()
    require(result.returncode == 0, f"{name}: {text[:600]}")
    return text


def remove(path):
    """Removes a folder with everything in it, with any modes."""
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwX", path], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", path], check=False)


def find_binary(name):
    """The command to run: PEER_BINARY, or the release build; None if there is none. `name` is the
    script's."""
    binary = os.environ.get("PEER_BINARY")
    if not binary:
        print(f"{name}: building the release binary", file=sys.stderr, flush=True)
        binary = build("peer")
    return os.path.abspath(binary) if binary and os.path.isfile(binary) else None


def build(product):
    """Builds a program in release mode; returns its path, or None if that fails."""
    result = subprocess.run(
        ["bash", "-c",
         'set -euo pipefail; . "$1/Scripts/lib/setup.sh"; set_up; build_program "$2" >&2; built "$2"',
         "bash", ROOT, product],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    return result.stdout.decode().splitlines()[-1] if result.returncode == 0 else None


def terminated(number, _):
    raise SystemExit(128 + number)
