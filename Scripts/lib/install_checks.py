"""Installs the present release into its own folders, and checks that it works and is removed
completely, and small trees among links and folders of others.

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

import installation  # noqa: E402
from outside import IS_ROOT, NOBODY, ROOT, SCRIPTS, check_line, equal, require  # noqa: E402

LISTED = [
    "bin/peer", "share/man/man1/peer.1.gz", "share/man/man1/peer-send.1.gz", "share/man/man1/peer-receive.1.gz",
    "share/man/man1/peer-app.1.gz", "share/bash-completion/completions/peer", "share/zsh/site-functions/_peer",
    "share/fish/vendor_completions.d/peer.fish", "share/doc/peer/README.md", "share/doc/peer/docs/Installing.md",
    "share/doc/peer/examples/peer-receive.service", "share/doc/peer/examples/peer-receive-system.service",
    "share/doc/peer/examples/Notes/bundle",
    "share/doc/peer/examples/Carry/Sources/carry/Carry.swift", "share/peer/package/Package.swift",
    "share/peer/package/Examples/NewApp/Package.swift",
    "share/peer/page/index.html", "share/applications/peer.desktop", "share/peer/manifest",
]
"""Some of the required files, of each kind."""


def tree(folder):
    """The files below a folder, with their contents."""
    return {os.path.relpath(path, folder): open(path, "rb").read() for place, _, names in os.walk(folder)
            for path in (os.path.join(place, name) for name in names)}


def write(folder, path, content=""):
    place = os.path.join(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "w", encoding="utf-8") as file:
        file.write(content)


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
    equal(tree(folder), {}, "what is left")
    equal(os.listdir(prefix), [], "what is left")
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


def refused(path, action, *arguments):
    """The sentence with which an action is refused; it must change no file."""
    before = tree(path)
    try:
        action(*arguments)
    except installation.Failure as failure:
        equal(tree(path), before, "what is there")
        return failure.args[0]
    require(False, "it was not refused")


def nothing_is_written_or_removed_through_a_link(folder):
    stage, prefix = f"{folder}/stage", f"{folder}/prefix"
    write(stage, "bin/peer", "new")
    write(folder, "elsewhere/peer", "theirs")
    write(prefix, "bin/other", "theirs")
    # Names that another user planted: the unfinished file, and the file itself.
    for name in ".peer.peer-new", "peer":
        os.symlink(f"{folder}/elsewhere/peer", f"{prefix}/bin/{name}")
    installation.install(prefix, stage)
    write(stage, "lib/peer", "new")
    os.symlink(f"{folder}/elsewhere", f"{prefix}/lib")
    require("a link is not followed" in refused(folder, installation.install, prefix, stage), "another sentence")
    os.unlink(f"{prefix}/lib")
    installation.install(prefix, stage)
    os.rename(f"{prefix}/lib", f"{prefix}/moved")
    os.symlink(f"{folder}/elsewhere", f"{prefix}/lib")
    require("a link is not followed" in refused(folder, installation.uninstall, prefix), "another sentence")
    os.unlink(f"{prefix}/lib")
    installation.uninstall(prefix)
    equal(tree(folder)["elsewhere/peer"], b"theirs", "the file elsewhere")
    equal(tree(prefix), {"bin/other": b"theirs", "moved/peer": b"new"}, "what is left")


def a_later_version_takes_the_place_of_an_earlier_one(folder):
    stage, prefix = f"{folder}/stage", f"{folder}/prefix"
    write(stage, "bin/peer", "new")
    # As the version before wrote its list.
    write(prefix, "share/peer/manifest", f"# old\ndirectory ..\ndirectory share/gone\nfile {'0' * 64} share/gone/a b\n")
    write(prefix, "share/gone/a b", "old")
    write(prefix, "share/peer/transfers/one", "what peer remembers")
    installation.install(prefix, stage)
    require(not os.path.exists(f"{prefix}/share/gone"), "a file of the earlier version is left")
    installation.uninstall(prefix)
    equal(tree(prefix), {"share/peer/transfers/one": b"what peer remembers"}, "what is left")
    write(prefix, "share/peer/manifest", "share/../../other\n")
    require("is no list" in refused(folder, installation.uninstall, prefix), "another sentence")


def root_installs_only_where_others_change_nothing(folder):
    if not IS_ROOT:
        return
    stage, prefix = f"{folder}/stage", f"{folder}/prefix"
    write(stage, "bin/peer", "new")
    installation.install(prefix, stage)
    for place, owner, group, mode in (
            ("", NOBODY, NOBODY, 0o755), ("/bin", NOBODY, NOBODY, 0o755), ("/bin", 0, 0, 0o777), ("/bin", 0, NOBODY, 0o775), ("", 0, NOBODY, 0o775)):
        os.chown(prefix + place, owner, group)
        os.chmod(prefix + place, mode)
        for action in (installation.install, prefix, stage), (installation.uninstall, prefix):
            require("other users may change" in refused(folder, *action), "another sentence")
        os.chown(prefix + place, 0, 0)
        os.chmod(prefix + place, 0o755)
    if installation.is_of_root(0):
        os.chmod(f"{prefix}/bin", 0o775)
        installation.install(prefix, stage)
    os.symlink(prefix, f"{folder}/link")
    require("a link is not followed" in refused(folder, installation.uninstall, f"{folder}/link"), "another sentence")


def the_folder_of_transfers_is_the_owners_alone(folder):
    stage, home = f"{folder}/stage", os.environ.get("XDG_DATA_HOME")
    write(stage, "bin/peer", "new")
    try:
        os.environ["XDG_DATA_HOME"] = f"{folder}/prefix/share"
        installation.install(f"{folder}/prefix", stage)
    finally:
        os.environ.pop("XDG_DATA_HOME")
        if home is not None:
            os.environ["XDG_DATA_HOME"] = home
    equal([os.stat(f"{folder}/prefix/{path}").st_mode & 0o777 for path in ("share", "share/peer")], [0o755, 0o700], "modes")


def only_files_that_git_tracks_are_installed(folder):
    project = f"{folder}/project"
    write(project, "docs/known")
    lines = ('. "$1/lib/setup.sh"; . "$1/lib/layout.sh"; root=$2; git init -q "$root"; git -C "$root" add .; '
             'touch "$root/docs/stray"; copy docs "$3"')
    ended(["bash", "-euo", "pipefail", "-c", lines, "bash", SCRIPTS, project, f"{folder}/taken"])
    equal(tree(f"{folder}/taken"), {"known": b""}, "what is taken of a clone")


CHECKS = [
    what_is_installed_works_and_goes_away_whole, authors_of_apps_get_every_file_of_the_kit_and_an_example_that_uses_it,
    bad_prefixes_are_refused_before_anything_is_built, nothing_is_written_or_removed_through_a_link,
    a_later_version_takes_the_place_of_an_earlier_one, root_installs_only_where_others_change_nothing,
    the_folder_of_transfers_is_the_owners_alone, only_files_that_git_tracks_are_installed,
]


def main():
    code = 0
    for check in CHECKS:
        outcome, figure = "ok", ""
        with tempfile.TemporaryDirectory(prefix="peer-install-") as folder:
            try:
                figure = check(folder) or ""
            except Exception as failure:  # It is this check's failure, and the others still run.
                outcome, figure, code = "FAILED", failure, 1
        print(check_line(check.__name__.replace("_", " "), outcome, figure), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
