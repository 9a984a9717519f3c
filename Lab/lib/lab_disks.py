"""The file systems of Lab/files: how to make, mount and remount each in the machine."""

import os

DESTINATION = "/mnt/disk"
SIZE = 6 << 30
"""The size of an image, most of which is a hole."""

PASSWORD = "of-this-machine-only"


class Disk:
    """One file system. `name` is its name in the table, `modules` are the kernel's."""

    modules = ()
    has_image = True
    largest = None
    """The size of the largest file, if it matters."""

    def __init__(self, name, options=""):
        self.name, self.options = name, options
        self.slug = "".join(c if c.isalnum() else "-" for c in name)

    def images(self, folder):
        """Images of disks that the machine gets; /dev/vda is the first."""
        if not self.has_image:
            return []
        path = f"{folder}/{self.slug}.img"
        with open(path, "wb") as file:
            file.truncate(SIZE)
        return [path]

    def shares(self, folder):
        return {}

    def prepare(self, machine):
        machine.load(*self.modules)
        machine.shell(f"mkdir -p {DESTINATION}")
        self.make(machine)
        self.mount(machine)

    def make(self, machine):
        """Makes the file system, and starts its server, if it has one."""

    def mount(self, machine):
        options = f"-o {self.options} " if self.options else ""
        machine.shell(f"mount {options}{self.source} {DESTINATION}", seconds=60)

    def remount(self, machine):
        machine.shell(f"umount {DESTINATION}", seconds=120)
        self.mount(machine)


class Local(Disk):
    """A file system on a disk of the machine, by the kernel."""

    def __init__(self, name, module, make, options=""):
        super().__init__(name, options)
        self.modules, self.making = (module,), make
        self.kind = module
        self.source = f"-t {module} /dev/vda"
        self.largest = (4 << 30) - 1 if module == "vfat" else None

    def make(self, machine):
        machine.shell(f"{self.making} /dev/vda", seconds=120)


class Folding(Local):
    """ext4 with a directory in which names fold."""

    def make(self, machine):
        super().make(machine)
        machine.shell(f"mount {self.source} {DESTINATION}; mkdir {DESTINATION}/folding; chattr +F {DESTINATION}/folding; umount {DESTINATION}")

    def mount(self, machine):
        machine.shell(f"mkdir -p /mnt/whole; mount {self.source} /mnt/whole; mount --bind /mnt/whole/folding {DESTINATION}", seconds=60)

    def remount(self, machine):
        machine.shell(f"umount {DESTINATION}; umount /mnt/whole", seconds=120)
        self.mount(machine)


class Served(Disk):
    """A file system of a server in the machine, on an ext4 of its own."""

    def make(self, machine):
        machine.load("ext4")
        machine.shell("mkfs.ext4 -q /dev/vda; mkdir -p /srv/disk; mount -t ext4 /dev/vda /srv/disk; mkdir /srv/disk/share", seconds=120)
        self.serve(machine)


class NFS(Served):
    modules = ("nfsd", "nfsv4", "nfsv3")

    def __init__(self, name, version):
        super().__init__(name, f"vers={version}")
        self.source = "-t nfs 127.0.0.1:/srv/disk/share" if version < "4" else "-t nfs4 127.0.0.1:/"

    def serve(self, machine):
        # Without a short grace period a server that has just started keeps its clients waiting for
        # 90 s.
        machine.shell(
            "mkdir -p /proc/fs/nfsd /run/rpcbind /var/lib/nfs/sm /var/lib/nfs/rpc_pipefs; mount -t nfsd nfsd /proc/fs/nfsd;"
            "mount -t rpc_pipefs pipefs /var/lib/nfs/rpc_pipefs;"
            "echo 10 >/proc/fs/nfsd/nfsv4gracetime; echo 10 >/proc/fs/nfsd/nfsv4leasetime; rpcbind -w;"
            "rpc.statd; exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check '*:/srv/disk/share'; rpc.nfsd 2; rpc.mountd; sleep 12", 120)


class CIFS(Served):
    modules = ("cifs", "nls_utf8", "cmac", "md5", "sha512_generic", "ccm", "gcm", "aes_generic")
    source = "-t cifs //127.0.0.1/share"

    def __init__(self, name, options="", server=""):
        super().__init__(name, f"username=root,password={PASSWORD}" + (f",{options}" if options else ""))
        self.server = server

    def serve(self, machine):
        configuration = (
            "[global]\\nlog level = 0\\nlog file = /run/samba.log\\nload printers = no\\ndisable spoolss = yes\\n"
            f"{self.server}\\n[share]\\npath = /srv/disk/share\\nread only = no\\n")
        machine.shell(
            f"printf '{configuration}' >/etc/samba/smb.conf; mkdir -p /run/samba /var/lib/samba/private;"
            f"printf '%s\\n%s\\n' {PASSWORD} {PASSWORD} | smbpasswd -s -a root; smbd -D; "
            "for n in $(seq 100); do if python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 445))' 2>/dev/null; then exit 0; fi; sleep 0.2; done; exit 1", 120)


class Shared(Disk):
    """A folder of the outer machine, by 9p."""

    has_image = False
    source = "-t 9p shared"
    modules = ("9p", "9pnet_virtio")

    def __init__(self, name, options):
        super().__init__(name, f"trans=virtio,version=9p2000.L,{options}")

    def shares(self, folder):
        path = f"{folder}/{self.slug}"
        os.makedirs(path, exist_ok=True)
        return {"shared": path}


def all_disks():
    return [
        NFS("NFS 4.2", "4.2"),
        NFS("NFS 3", "3"),
        CIFS("CIFS"),
        CIFS("CIFS, as of a NAS", "uid=0,gid=0,file_mode=0644,dir_mode=0755,noserverino,mfsymlinks", "server min protocol = SMB2"),
        Shared("9p", "msize=262144"),
        Shared("9p, cache=loose", "msize=262144,cache=loose"),
        Local("exFAT", "exfat", "mkfs.exfat", "iocharset=utf8"),
        Local("FAT", "vfat", "mkfs.vfat -F 32", "utf8,shortname=mixed"),
        Local("FAT, no options", "vfat", "mkfs.vfat -F 32"),
        Folding("ext4 with casefold", "ext4", "mkfs.ext4 -q -O casefold"),
    ]
