"""Installs the present release into its own folders, and checks that it works and is removed
completely.

PEER_BINARY names the release (default: Scripts/install builds one).
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import installation_self_test  # noqa: E402
import package_self_test  # noqa: E402
import places_self_test  # noqa: E402
from installation_self_test import tree, write  # noqa: E402
from outside import ROOT, SCRIPTS, equal, require  # noqa: E402
from self_tests import run  # noqa: E402

LISTED = [
    "bin/peer", "share/man/man1/peer.1.gz", "share/man/man1/peer-send.1.gz", "share/man/man1/peer-receive.1.gz",
    "share/man/man1/peer-app.1.gz", "share/bash-completion/completions/peer", "share/zsh/site-functions/_peer",
    "share/fish/vendor_completions.d/peer.fish", "share/doc/peer/README.md", "share/doc/peer/docs/Installing.md",
    "share/doc/peer/examples/peer-receive.service", "share/doc/peer/examples/Notes/bundle",
    "share/doc/peer/examples/Carry/Sources/carry/Carry.swift", "share/peer/package/Package.swift",
    "share/peer/manifest",
]
"""Some of the required files, of each kind."""


def ended(words, code=0, **options):
    """Runs a command, which must end with a code; returns its output."""
    result = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False, **options)
    text = result.stdout.decode(errors="replace")
    equal(result.returncode, code, f"{' '.join(words)}: {text[-400:]}")
    return text


def script(*words, code=0, **options):
    return ended([f"{SCRIPTS}/install", *words], code, **options)


def what_is_installed_works_and_goes_away_whole(folder):
    # Characters that the shell, sed and Swift would misinterpret.
    prefix, temporary = f"{folder}/a prefix & | $HOME \\ \"'", f"{folder}/temporary"
    os.mkdir(temporary)
    environment = {**os.environ, "TMPDIR": temporary}
    text = script("--prefix", prefix, env=environment)
    equal(os.listdir(temporary), [], "what is left in the folder for temporary files")
    os.rmdir(temporary)
    export = text.splitlines()[-1]
    equal(ended(["bash", "-c", f"{export}; command -v peer"]).strip(), f"{prefix}/bin/peer", "what the shell finds")
    with open(f"{prefix}/share/doc/peer/examples/Notes/Package.swift", encoding="utf-8") as file:
        require(f"path: {json.dumps(prefix + '/share/peer/package')}" in file.read(), "the example does not name the package")
    for path in LISTED:
        require(os.path.isfile(f"{prefix}/{path}"), f"{path} is missing")
    version = ended([f"{prefix}/bin/peer", "--version"]).strip()
    ended(["bash", "-n", f"{prefix}/share/bash-completion/completions/peer"])
    found = {**os.environ, "PATH": f"{prefix}/bin:{os.environ['PATH']}"}
    require("PATH" not in script("--prefix", prefix, env=found), "a folder in PATH is said to be missing there")
    command = re.search(r"Scripts/install (--uninstall .*) takes it away\.", text).group(1)
    script(*shlex.split(command))
    equal(os.listdir(folder), [], "what is left")
    return version


def modules(package):
    """The files of each of a package's modules, as Swift finds them."""
    # Outside of the package, so that no files are left in it.
    with tempfile.TemporaryDirectory(prefix="peer-install-") as scratch:
        environment = {**os.environ, "TMPDIR": scratch}
        words = ["swift", "package", "--package-path", package, "--scratch-path", f"{scratch}/build", "describe", "--type", "json"]
        text = ended(words, env=environment)
    return {target["name"]: sorted(target["sources"]) for target in json.loads(text[text.index("{"):])["targets"]}


def authors_of_apps_get_every_file_of_the_kit_and_an_example_that_uses_it(folder):
    # Made for a package, it names the final places.
    script("--root", folder, "--prefix", "/usr")
    equal(os.listdir(folder), ["usr"], "below the root")
    found, whole = modules(f"{folder}/usr/share/peer/package"), modules(ROOT)
    products = {"AppMigrationKit", "AuthenticationServices", "Security"}
    require(products <= set(found) and "COpenSSL" not in found, f"the modules: {sorted(found)}")
    equal(found, {name: whole[name] for name in found}, "the modules")
    with open(f"{folder}/usr/share/doc/peer/examples/Notes/Package.swift", encoding="utf-8") as file:
        require('path: "/usr/share/peer/package"' in file.read(), "the example does not name the package")
    links = check_links(f"{folder}/usr/share/doc/peer")
    script("--root", folder, "--prefix", "/usr", "--uninstall")
    return f"{len(found)} modules, {sum(map(len, found.values()))} files; {links} links"


def check_links(documents):
    """Whether every link of an installed document leads to a file or a folder."""
    count = 0
    for path, content in tree(documents).items():
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", content.decode()) if path.endswith(".md") else []
        for link in links:
            require(os.path.exists(f"{documents}/{os.path.dirname(path)}/{link}"), f"{path}: {link} is missing")
            count += 1
    return count


def bad_prefixes_are_refused_before_anything_is_built(folder):
    write(folder, "file")
    cases = [("there", 2, "is not an absolute path: 'there'"), (f"{folder}/file", 1, f"{folder}/file is not a directory"),
             (f"{folder}/file/below", 1, f"{folder}/file is not a directory"), ("/", 2, "is no folder of its own"),
             (f"{folder}/a\nbreak", 2, "has a line break in it")]
    environment = {**os.environ, "PEER_BINARY": f"{folder}/not-there"}
    for prefix, code, sentence in cases:
        text = script("--prefix", prefix, code=code, env=environment)
        require(text.startswith("error: ") and sentence in text and text.count("\n") == 2 and "\nhint: " in text, f"{prefix}: {text}")
    script("--prefix", code=2)
    script("--unknown", code=2)
    require("nothing was installed" in script("--uninstall", "--prefix", folder, code=1), "nothing can be taken away")
    equal(tree(folder), {"file": b""}, "what is there")


TESTS = [
    what_is_installed_works_and_goes_away_whole, authors_of_apps_get_every_file_of_the_kit_and_an_example_that_uses_it,
    bad_prefixes_are_refused_before_anything_is_built, *installation_self_test.TESTS, *places_self_test.TESTS,
    *package_self_test.TESTS,
]


if __name__ == "__main__":
    sys.exit(run(TESTS, "peer-install-"))
