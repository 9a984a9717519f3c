"""Installs the release that is there into folders of its own, and looks that it works and goes away as it should.

PEER_BINARY names the release; without it Scripts/install builds one.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import installation_self_test  # noqa: E402
from installation_self_test import tree, write  # noqa: E402
from outside import IS_ROOT, NOBODY, ROOT, SCRIPTS, Skip, equal, require  # noqa: E402
from self_tests import run  # noqa: E402

LISTED = [
    "bin/peer", "share/man/man1/peer.1.gz", "share/man/man1/peer-send.1.gz", "share/man/man1/peer-receive.1.gz",
    "share/man/man1/peer-app.1.gz", "share/bash-completion/completions/peer", "share/zsh/site-functions/_peer",
    "share/fish/vendor_completions.d/peer.fish", "share/doc/peer/README.md", "share/doc/peer/docs/Installing.md",
    "share/doc/peer/examples/peer-receive.service", "share/doc/peer/examples/Notes/bundle", "share/peer/package/Package.swift",
    "share/peer/manifest",
]
"""Some of what must be there, of each kind."""


def ended(words, code=0, **options):
    """Runs a command, which must end with a code; what it said."""
    result = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False, **options)
    text = result.stdout.decode(errors="replace")
    equal(result.returncode, code, f"{' '.join(words)}: {text[-400:]}")
    return text


def script(*words, code=0, **options):
    return ended([f"{SCRIPTS}/install", *words], code, **options)


def what_is_installed_works_and_goes_away_whole(folder):
    prefix = f"{folder}/prefix"
    text = script("--prefix", prefix)
    require(f"export PATH=\"{prefix}/bin:$PATH\"" in text, f"how to find it is not said: {text}")
    for path in LISTED:
        require(os.path.isfile(f"{prefix}/{path}"), f"{path} is missing")
    version = ended([f"{prefix}/bin/peer", "--version"]).strip()
    ended(["bash", "-n", f"{prefix}/share/bash-completion/completions/peer"])
    found = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"}
    require("PATH" not in script("--prefix", prefix, env=found), "a folder in PATH is said to be missing there")
    script("--uninstall", "--prefix", prefix)
    equal(os.listdir(folder), [], "what is left")
    return version


def modules(package):
    """The files of each of a package's modules, as Swift finds them."""
    # Outside of the package, so that nothing is left there.
    with tempfile.TemporaryDirectory(prefix="peer-install-") as scratch:
        text = ended(["swift", "package", "--package-path", package, "--scratch-path", scratch, "describe", "--type", "json"])
    return {target["name"]: sorted(target["sources"]) for target in json.loads(text[text.index("{"):])["targets"]}


def authors_of_apps_get_every_file_of_the_kit_and_an_example_that_uses_it(folder):
    # Made for a package, it names the places where things will be.
    script("--root", folder, "--prefix", "/usr")
    equal(os.listdir(folder), ["usr"], "below the root")
    found, whole = modules(f"{folder}/usr/share/peer/package"), modules(ROOT)
    require("AppMigrationKit" in found and "COpenSSL" not in found, f"the modules: {sorted(found)}")
    equal(found, {name: whole[name] for name in found}, "the modules")
    with open(f"{folder}/usr/share/doc/peer/examples/Notes/Package.swift", encoding="utf-8") as file:
        require('path: "/usr/share/peer/package"' in file.read(), "the example does not name the package")
    links = check_links(f"{folder}/usr/share/doc/peer")
    script("--root", folder, "--prefix", "/usr", "--uninstall")
    return f"{len(found)} modules, {sum(map(len, found.values()))} files; {links} links"


def check_links(documents):
    """Whether every link of an installed document leads to a file, but for those to the program's own sources."""
    count = 0
    for path, content in tree(f"{documents}/docs").items():
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", content.decode()) if path.endswith(".md") else []
        for link in links:
            if not re.match(r"\.\./(Sources|Scripts|Tests)/", link):
                require(os.path.exists(f"{documents}/docs/{link}"), f"docs/{path}: {link} is missing")
                count += 1
    return count


def bad_prefixes_are_refused_before_anything_is_built(folder):
    write(folder, "file")
    cases = [("there", 2, "is not an absolute path: 'there'"), (f"{folder}/file", 1, f"{folder}/file is not a directory"),
             (f"{folder}/file/below", 1, f"{folder}/file is not a directory")]
    environment = {**os.environ, "PEER_BINARY": f"{folder}/not-there"}
    for prefix, code, sentence in cases:
        text = script("--prefix", prefix, code=code, env=environment)
        require(text.startswith("error: ") and sentence in text and text.count("\n") == 2 and "\nhint: " in text, f"{prefix}: {text}")
    script("--prefix", code=2)
    script("--unknown", code=2)
    require("nothing was installed" in script("--uninstall", "--prefix", folder, code=1), "nothing can be taken away")
    equal(tree(folder), {"file": b""}, "what is there")


def a_prefix_of_root_is_refused_to_others(folder):
    if not IS_ROOT:
        raise Skip("not root: every folder is this user's")
    os.chmod(folder, 0o755)
    for name in "installation.py", "manifest.py":
        shutil.copy(f"{SCRIPTS}/lib/{name}", folder)
    words = ["python3", "-B", f"{folder}/installation.py", "check", f"{folder}/prefix"]
    text = ended(words, 1, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
    require(f"error: {folder} cannot be written by this user\nhint: " in text, text)


TESTS = [
    what_is_installed_works_and_goes_away_whole, authors_of_apps_get_every_file_of_the_kit_and_an_example_that_uses_it,
    bad_prefixes_are_refused_before_anything_is_built, a_prefix_of_root_is_refused_to_others, *installation_self_test.TESTS,
]


if __name__ == "__main__":
    sys.exit(run(TESTS, "peer-install-"))
