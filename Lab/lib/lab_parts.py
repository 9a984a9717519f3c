"""The parts of the machine of Lab/files: Debian's kernel, a root for it, and an initramfs; kept
in a folder.

The folder is .build/lab, or the folder that PEER_LAB names. None of it is part of the project.
"""

import contextlib
import fcntl
import glob
import gzip
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile

from outside import IS_ROOT, ROOT, Skip, remove

PACKAGES = (
    "libssl3,libzstd1,libstdc++6,kmod,iproute2,procps,python3,python3-minimal,nfs-kernel-server,nfs-common,rpcbind,samba,"
    "cifs-utils,e2fsprogs,dosfstools,exfatprogs,btrfs-progs,xfsprogs,nftables")
"""The root's packages beyond Debian's minimum: the program's libraries, servers, and the tools that
make file systems."""

XZ = b"\xfd7zXZ\0"
"""The beginning of data that xz has compressed."""

MODULES = ("virtio_pci", "virtio_console", "virtio_rng", "virtio_net", "virtio_blk", "9pnet_virtio", "9p", "overlay", "ext4")
"""The modules that must be loaded before the root is mounted; cases load the rest themselves."""

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /lower /upper /new
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
while read -r module; do /bin/busybox insmod "/modules/$module"; done </modules/order
if /bin/busybox grep -q lab.root=disk /proc/cmdline
then /bin/busybox mount -t ext4 -o ro /dev/vda /lower
else /bin/busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=262144,cache=loose root /lower
fi
/bin/busybox mount -t tmpfs upper /upper
/bin/busybox mkdir /upper/files /upper/work
/bin/busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work root /new
/bin/busybox mkdir -p /new/lab /new/proc /new/sys /new/dev
/bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 lab /new/lab
for name in proc sys dev; do /bin/busybox mount -o move /$name /new/$name; done
/bin/busybox mount -t tmpfs tmpfs /new/tmp
/bin/busybox mount -t tmpfs tmpfs /new/run
/bin/busybox ip link set lo up
/bin/busybox ip addr add 10.0.2.15/24 dev eth0
/bin/busybox ip link set eth0 up
/bin/busybox ip route add default via 10.0.2.2
exec /bin/busybox switch_root /new /bin/sh -c 'python3 /lab/lab_agent.py; echo o >/proc/sysrq-trigger; sleep 5'
"""


def folder():
    return os.environ.get("PEER_LAB") or f"{ROOT}/.build/lab"


@contextlib.contextmanager
def run_folder(is_kept):
    """A new folder for the images and the output of one run, which is removed at the end unless it
    is kept."""
    # The file system of the parts has room for images, and attributes of more kinds than memory.
    os.makedirs(folder(), exist_ok=True)
    work = os.path.realpath(tempfile.mkdtemp(prefix="run-", dir=folder()))
    try:
        yield work
    finally:
        if is_kept:
            say(f"kept: {work}")
        else:
            remove(work)


def say(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def release():
    """The code name of this Debian; the program that is built here runs in a root of the same
    release."""
    with open("/etc/os-release", encoding="utf-8") as file:
        words = dict(line.strip().replace('"', "").split("=", 1) for line in file if "=" in line)
    if words.get("ID") != "debian":
        raise Skip(f"this is {words.get('PRETTY_NAME', 'no Debian')}; the machine is made of this system's Debian packages")
    return words["VERSION_CODENAME"]


def run(words, seconds, **options):
    """Runs a command until it ends; returns its output. A failure is a Skip: without the parts
    there is no machine."""
    try:
        result = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Skip(f"{words[0]}: {error}") from None
    text = result.stdout.decode(errors="replace")
    if result.returncode != 0:
        raise Skip(f"{words[0]} ended with {result.returncode}: {' '.join(text.split())[-300:]}")
    return text


def install_programs():
    """Installs the emulator and the tools that make a root, by apt-get if they are missing."""
    script = '. "$1/Scripts/lib/setup.sh"; need qemu-system-x86 qemu-system-x86_64; need debootstrap /usr/sbin/debootstrap; install_missing'
    result = subprocess.run(["bash", "-c", script, "bash", ROOT], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False)
    if result.returncode != 0:
        raise Skip("qemu-system-x86 or debootstrap cannot be installed")


class Parts:
    """Paths of the kernel, the root and the initramfs, all of them made."""

    def __init__(self):
        if platform.machine() != "x86_64":
            raise Skip(f"the machine is an x86_64, and this one is {platform.machine()}")
        if not IS_ROOT:
            raise Skip("not root: debootstrap cannot make a root")
        self.codename = release()
        self.folder = folder()
        self.root = f"{self.folder}/root"
        self.initramfs = f"{self.folder}/initramfs.gz"
        install_programs()
        os.makedirs(self.folder, exist_ok=True)
        # Two runs may share the folder.
        with open(f"{self.folder}/lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.make()

    def make(self):
        self.unpack("kernel", self.kernel_package, "boot/vmlinuz-*")
        self.unpack("busybox", lambda: "busybox-static", "bin/busybox")
        self.packed_kernel = glob.glob(f"{self.folder}/kernel/boot/vmlinuz-*")[0]
        self.version = os.path.basename(self.packed_kernel).removeprefix("vmlinuz-")
        self.kernel = self.unpacked(self.packed_kernel)
        self.make_root()
        self.make_initramfs()

    @staticmethod
    def kernel_package():
        words = run(["apt-cache", "depends", "linux-image-amd64"], 60).split()
        found = [word for word in words if word.startswith("linux-image-") and word != "linux-image-amd64"]
        if not found:
            raise Skip("apt-cache knows no kernel package; apt-get update may help")
        return found[0]

    def unpack(self, name, package_name, sign):
        """Downloads a package and unpacks it beside the others; it is not installed."""
        target = f"{self.folder}/{name}"
        if glob.glob(f"{target}/{sign}"):
            return
        package = package_name()
        say(f"downloading {package}")
        part = f"{target}.part"
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        os.makedirs(f"{part}/tree")
        run(["apt-get", "download", package], 600, cwd=part)
        run(["dpkg-deb", "-x", *glob.glob(f"{part}/*.deb"), f"{part}/tree"], 300)
        os.rename(f"{part}/tree", target)
        shutil.rmtree(part)

    def unpacked(self, packed):
        """The kernel without its compression, which the machine would need seconds to undo; the
        same file if it is not compressed by xz. Started this way, it does not survive a sleep."""
        path = f"{self.folder}/vmlinux-{self.version}"
        if os.path.isfile(path):
            return path
        with open(packed, "rb") as file:
            content = file.read()
        try:
            kernel = lzma.LZMADecompressor().decompress(content[content.index(XZ):])
        except (ValueError, lzma.LZMAError):
            kernel = b""
        if not kernel.startswith(b"\x7fELF"):
            return packed
        with open(f"{path}.part", "wb") as file:
            file.write(kernel)
        os.rename(f"{path}.part", path)
        return path

    def make_root(self):
        """A Debian of this release, with the kernel's modules; made again if it is from another
        release."""
        stamp = f"{self.root}/etc/peer-lab"
        wanted = f"{self.codename} {self.version} {PACKAGES}\n"
        if os.path.isfile(stamp):
            with open(stamp, encoding="utf-8") as file:
                if file.read() == wanted:
                    return
        say("making a root by debootstrap, which takes some minutes the first time")
        part = f"{self.root}.part"
        shutil.rmtree(part, ignore_errors=True)
        run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", self.codename, part, mirror(self.codename)], 1500)
        shutil.rmtree(f"{part}/lib/modules", ignore_errors=True)
        shutil.copytree(f"{self.folder}/kernel/lib/modules", f"{part}/usr/lib/modules", symlinks=True)
        run(["chroot", part, "depmod", self.version], 300)
        with open(f"{part}/etc/peer-lab", "w", encoding="utf-8") as file:
            file.write(wanted)
        shutil.rmtree(self.root, ignore_errors=True)
        os.rename(part, self.root)

    def disk(self):
        """The path of an image of the root. A machine that sleeps needs one: the kernel's shares do
        not survive that."""
        image = f"{self.folder}/root.img"
        with open(f"{self.folder}/lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(image) or os.stat(image).st_mtime < os.stat(f"{self.root}/etc/peer-lab").st_mtime:
                say("making an image of the root")
                with open(f"{image}.part", "wb") as file:
                    file.truncate(2 << 30)
                run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", self.root, f"{image}.part"], 600)
                os.rename(f"{image}.part", image)
        return image

    def make_initramfs(self):
        """Busybox, the modules in their order of loading, and the script that mounts the root."""
        shown = []
        for name in MODULES:
            for line in run(["chroot", self.root, "modprobe", "--show-depends", "-S", self.version, name], 60).splitlines():
                if line.startswith("insmod ") and line.split()[1] not in shown:
                    shown.append(line.split()[1])
        archive = Archive()
        for name in "bin", "modules":
            archive.directory(name)
        with open(f"{self.folder}/busybox/bin/busybox", "rb") as file:
            archive.file("bin/busybox", file.read(), 0o755)
        for path in shown:
            with open(f"{self.root}{path}", "rb") as file:
                archive.file(f"modules/{os.path.basename(path)}", file.read(), 0o644)
        archive.file("modules/order", "".join(f"{os.path.basename(path)}\n" for path in shown).encode(), 0o644)
        archive.file("init", INIT.encode(), 0o755)
        with gzip.open(f"{self.initramfs}.part", "wb", 1) as file:
            file.write(archive.whole())
        os.rename(f"{self.initramfs}.part", self.initramfs)


def mirror(codename):
    """The address from which apt takes this release."""
    try:
        text = run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"], 60)
        found = [line.split()[3] for line in text.splitlines() if line.split()[1:3] == [codename, "main"]]
    except Skip:
        found = []
    return found[0] if found else "http://deb.debian.org/debian"


class Archive:
    """An archive in the form that the kernel unpacks (cpio, newc)."""

    def __init__(self):
        self.parts, self.count = [], 0

    def entry(self, name, mode, content):
        self.count += 1
        path = name.encode() + b"\0"
        numbers = (self.count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        head = b"070701" + b"".join(b"%08X" % number for number in numbers) + path
        for part in head, content:
            self.parts.append(part + bytes(-len(part) % 4))

    def directory(self, name):
        self.entry(name, 0o040755, b"")

    def file(self, name, content, mode):
        self.entry(name, 0o100000 | mode, content)

    def whole(self):
        self.entry("TRAILER!!!", 0, b"")
        return b"".join(self.parts)
