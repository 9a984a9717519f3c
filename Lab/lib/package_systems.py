"""Debian systems without Swift, made by debootstrap and kept in .build/roots; each trial gets a
copy, which is removed with it.

Programs that use this run as root, in a mount namespace of their own.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys

from lab_parts import mirror, release
from outside import ROOT, Failure, equal, require

FOLDER = f"{ROOT}/.build/roots"
CODENAMES = ["bookworm", "trixie"]
EXTRA = "man-db,bash-completion"
"""The packages of the systems beyond Debian's minimum, like a user's."""

OWN_OF_DPKG = ("var/log/", "var/cache/", "var/lib/apt/", "var/lib/dpkg/status", "var/lib/dpkg/lock", "var/lib/dpkg/available",
               "var/lib/dpkg/diversions", "var/lib/dpkg/statoverride", "var/lib/dpkg/triggers/")
"""The files that may differ after a package was installed and removed: records of apt, dpkg and
man-db."""


def run(words, seconds=600, code=0, **options):
    """Runs a command, which must end with a code; returns its output."""
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=seconds, check=False, **options)
    text = result.stdout.decode(errors="replace")
    equal(result.returncode, code, f"{' '.join(words)}: {' '.join(text.split())[-500:]}")
    return text


def make_root(codename):
    """The folder with a fresh system, made if it is missing."""
    root = f"{FOLDER}/{codename}"
    stamp = f"{root}.made"
    if os.path.isfile(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == EXTRA:
                return root
    print(f"Making a root of {codename} by debootstrap, which takes a minute or two the first time ...", file=sys.stderr, flush=True)
    part = f"{root}.part"
    for place in part, root:
        shutil.rmtree(place, ignore_errors=True)
    os.makedirs(FOLDER, exist_ok=True)
    run(["debootstrap", "--variant=minbase", f"--include={EXTRA}", codename, part, mirror(release())], 1500)
    os.rename(part, root)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(EXTRA)
    return root


def make_root_with(codename, packages, name="apps"):
    """The folder with a system that has more packages, made if it is missing."""
    root = f"{FOLDER}/{codename}-{name}"
    stamp, wanted = f"{root}.made", " ".join(packages)
    if os.path.isfile(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return root
    base = make_root(codename)
    print(f"Installing {len(packages)} packages, which takes some minutes the first time ...", file=sys.stderr, flush=True)
    shutil.rmtree(root, ignore_errors=True)
    run(["cp", "-a", base, root])
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
    # A mirror that stands still has signatures, but none of this week.
    run(["chroot", root, "apt-get", "update", "-qq", "-o", "Acquire::Check-Valid-Until=false"], env=environment)
    run(["chroot", root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], 1800, env=environment)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
    return root


class System:
    """A copy of a root in which a trial may change everything; commands run in it by chroot."""

    def __init__(self, codename, work, lower=None):
        self.codename = codename
        self.root = f"{work}/{codename}"
        layers = {name: f"{work}/{codename}.{name}" for name in ("upper", "work")}
        for place in self.root, *layers.values():
            os.makedirs(place)
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp/home", "LANG": "C.UTF-8", "TERM": "dumb",
                            "DEBIAN_FRONTEND": "noninteractive", "MANPAGER": "cat"}
        run(["mount", "-t", "overlay", "-o", f"lowerdir={lower or make_root(codename)},upperdir={layers['upper']},workdir={layers['work']}",
             "overlay", self.root])
        try:
            run(["mount", "-t", "proc", "proc", f"{self.root}/proc"])
            run(["mount", "-t", "tmpfs", "tmpfs", f"{self.root}/tmp"])
            shutil.copy("/etc/resolv.conf", f"{self.root}/etc/resolv.conf")
            os.mkdir(f"{self.root}/tmp/home")
        except BaseException:
            self.end()
            raise

    def end(self):
        """Removes its mounts."""
        subprocess.run(["umount", "--recursive", "--lazy", self.root], check=False)

    def words(self, words, network=None):
        """A command as it is run here, in a named network if there is one."""
        inside = ["chroot", self.root, *words]
        return ["nsenter", f"--net={network}", *inside] if network else inside

    def run(self, *words, network=None, seconds=600, code=0):
        return run(self.words(words, network), seconds, code, env=self.environment)

    def has(self, name):
        """Whether a command is there."""
        return subprocess.run(self.words(["sh", "-c", f"command -v {name}"]), env=self.environment, stdout=subprocess.DEVNULL,
                              check=False).returncode == 0

    def contents(self):
        """All files with their properties, except running state and the records of dpkg and apt."""
        found = {}
        for place, folders, names in os.walk(self.root):
            relative = os.path.relpath(place, self.root)
            if relative == ".":
                folders[:] = [name for name in folders if name not in ("proc", "sys", "dev", "tmp", "run")]
            for name in folders + names:
                path = os.path.normpath(os.path.join(relative, name))
                if not path.startswith(OWN_OF_DPKG):
                    found[path] = describe(os.path.join(place, name), path)
        return found

    def install(self, package):
        """Installs a package without what it recommends: of that, apt keeps what others recommend too."""
        shutil.copy(package, f"{self.root}/tmp/peer.deb")
        self.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "/tmp/peer.deb")

    def openssl(self):
        """The version of the installed OpenSSL: (3, 5)."""
        text = self.run("sh", "-c", "dpkg-query -W -f '${Version}\\n' libssl3t64 libssl3 2>/dev/null | grep . | head -n 1").strip()
        require(text[:1].isdigit(), f"no OpenSSL in {self.codename}: {text!r}")
        return tuple(int(part) for part in text.split(".")[:2])


def describe(place, path):
    """Mode, owner and content; for the loader's cache only that it exists."""
    status = os.lstat(place)
    what = ""
    if stat.S_ISLNK(status.st_mode):
        what = os.readlink(place)
    elif stat.S_ISREG(status.st_mode) and path != "etc/ld.so.cache":
        with open(place, "rb") as file:
            what = hashlib.sha256(file.read()).hexdigest()
    return (status.st_mode, status.st_uid, status.st_gid, what)


class Network:
    """A network namespace with only its loopback; it ends with this object."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep 3600"], stdout=subprocess.PIPE)
        if self.holder.stdout.readline() != b"up\n":
            raise Failure("there is no loopback in a network of its own")
        self.path = f"/proc/{self.holder.pid}/ns/net"

    def end(self):
        self.holder.kill()
        self.holder.wait()
