"""A disk with a volatile cache, for machines of Lab/files: a server of the NBD protocol (fixed
newstyle, simple replies) on a Unix socket.

A write is in the cache until the machine flushes; a flush makes all writes before it durable, and a
write with FUA itself. A power cut makes a random part of the cached writes durable, in their order,
perhaps one of them only up to a boundary between two sectors, and drops the rest.
"""

import contextlib
import ctypes
import errno
import os
import random
import socket
import struct
import threading

SECTOR = 4096
"""The size of a physical sector, which a disk writes as a whole or not at all. The machine knows
it: the superblock of btrfs and a commit of ext4's journal have this size and one checksum, and a
mount takes no other copy of them. A disk that tears them loses the file system, with any program.
"""

CACHE = 256 << 20
"""How many bytes the cache holds; before it grows larger, its oldest writes become durable."""

PIECE = 1 << 20

SHARES = (0, 0.1, 0.5, 0.9)
"""Which part of the cached writes survives a cut; one of these is drawn for each cut."""

HELLO, OPTION, ANSWER = b"NBDMAGICIHAVEOPT", b"IHAVEOPT", 0x3E889045565A9
EXPORT_NAME, ABORT, INFO, GO = 1, 2, 6, 7
ACK, INFORMATION, UNSUPPORTED = 1, 3, 1 << 31 | 1
FIXED_NEWSTYLE, NO_ZEROES = 1, 2
FLAGS = 1 | 4 | 8 | 32 | 64
"""The export's: it has flags, and takes FLUSH, FUA, TRIM and WRITE_ZEROES."""

REQUEST, REPLY = 0x25609513, 0x67446698
READ, WRITE, DISCONNECT, FLUSH, TRIM, WRITE_ZEROES = 0, 1, 2, 3, 4, 6
FUA = 1
PUNCH_HOLE = 2 | 1

library = ctypes.CDLL(None, use_errno=True)
library.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def boundaries(offset, data):
    """The places between two sectors in a write."""
    return range(SECTOR - offset % SECTOR, len(data), SECTOR)


class Cache:
    """The content of a disk twice, as the machine reads it and as far as it is durable, and the
    writes that are between the two."""

    def __init__(self, folder, name, size):
        self.size = size
        self.files = []
        for suffix in "seen", "durable":
            self.files.append(os.open(f"{folder}/{name}.{suffix}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
            os.ftruncate(self.files[-1], size)
        self.seen, self.durable = self.files
        self.writes, self.bytes = [], 0

    def close(self):
        for file in self.files:
            os.close(file)

    @staticmethod
    def put(file, offset, data):
        """Writes bytes, or, if the data is a number, so many zeros."""
        if isinstance(data, int):
            if library.fallocate(file, PUNCH_HOLE, offset, data) != 0:
                raise OSError(ctypes.get_errno(), "fallocate")
            return
        while data:
            count = os.pwrite(file, data, offset)
            data, offset = data[count:], offset + count

    def read(self, offset, length):
        parts = []
        while length:
            part = os.pread(self.seen, length, offset)
            parts.append(part)
            offset, length = offset + len(part), length - len(part)
        return b"".join(parts)

    def write(self, offset, data, is_durable=False):
        self.put(self.seen, offset, data)
        if is_durable:
            # An earlier write to the same place must not come after it.
            self.flush()
            self.put(self.durable, offset, data)
            return
        self.writes.append((offset, data))
        self.bytes += 0 if isinstance(data, int) else len(data)
        while self.bytes > CACHE:
            self.settle(1 + len(self.writes) // 2)

    def settle(self, count):
        """Makes the oldest writes durable."""
        for offset, data in self.writes[:count]:
            self.put(self.durable, offset, data)
            self.bytes -= 0 if isinstance(data, int) else len(data)
        del self.writes[:count]

    def flush(self):
        self.settle(len(self.writes))

    def cut(self, draw):
        """Leaves what a power cut leaves; returns the numbers of kept, torn and dropped writes."""
        share, torn = draw.choice(SHARES), None
        kept = [draw.random() < share for _ in self.writes]
        large = [number for number, (offset, data) in enumerate(self.writes) if not isinstance(data, int) and boundaries(offset, data)]
        if large and draw.random() < 0.5:
            torn = draw.choice(large)
        for number, (offset, data) in enumerate(self.writes):
            if number == torn:
                self.put(self.durable, offset, data[:draw.choice(boundaries(offset, data))])
            elif kept[number]:
                self.put(self.durable, offset, data)
        for offset, data in self.writes:
            end = offset + (data if isinstance(data, int) else len(data))
            for at in range(offset, end, PIECE):
                self.put(self.seen, at, os.pread(self.durable, min(PIECE, end - at), at))
        counts = sum(is_kept for number, is_kept in enumerate(kept) if number != torn), int(torn is not None)
        counts += (len(self.writes) - sum(counts),)
        self.writes, self.bytes = [], 0
        return counts


class Server:
    """Serves one disk to one client after the other."""

    def __init__(self, folder, name, size):
        self.cache = Cache(folder, name, size)
        self.path, self.name = f"{folder}/{name}.socket", name
        self.lock, self.is_off, self.link = threading.Lock(), False, None
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # A socket's path may be 107 bytes long, and the folder's longer.
        handle = os.open(folder, os.O_PATH)
        self.listener.bind(f"/proc/self/fd/{handle}/{name}.socket")
        os.close(handle)
        self.listener.listen(1)
        threading.Thread(target=self.accept, daemon=True).start()

    def drive(self):
        """The disk in the words of the emulator, which runs in the folder."""
        return f"nbd:unix:{self.name}.socket"

    def cut(self, seed):
        """Cuts the power: from here on nothing is answered until `turn_on`."""
        with self.lock:
            self.is_off = True
            self.hang_up()
            return self.cache.cut(random.Random(seed))

    def turn_on(self):
        with self.lock:
            self.is_off = False

    def settle(self):
        """Makes everything durable."""
        with self.lock:
            self.cache.flush()

    def close(self):
        with self.lock:
            self.is_off = True
            self.hang_up()
            self.listener.close()
            self.cache.close()
        os.remove(self.path)

    def hang_up(self):
        if self.link is not None:
            with contextlib.suppress(OSError):
                self.link.shutdown(socket.SHUT_RDWR)

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                with self.lock:
                    self.link = link
                with link, contextlib.suppress(OSError, EOFError):
                    if self.greet(link):
                        self.serve(link)

    # The protocol

    def greet(self, link):
        """Whether the client wants the disk."""
        link.sendall(HELLO + struct.pack(">H", FIXED_NEWSTYLE | NO_ZEROES))
        flags, = struct.unpack(">I", take(link, 4))
        export = struct.pack(">QH", self.cache.size, FLAGS)
        while True:
            magic, option, length = struct.unpack(">8sII", take(link, 16))
            if magic != OPTION or length > 1 << 16:
                return False
            take(link, length)

            def answer(kind, data=b"", option=option):
                link.sendall(struct.pack(">QIII", ANSWER, option, kind, len(data)) + data)

            if option == EXPORT_NAME:
                link.sendall(export + (b"" if flags & NO_ZEROES else bytes(124)))
                return True
            if option in (INFO, GO):
                answer(INFORMATION, b"\0\0" + export)
                answer(ACK)
                if option == GO:
                    return True
            elif option == ABORT:
                answer(ACK)
                return False
            else:
                answer(UNSUPPORTED)

    def serve(self, link):
        while True:
            magic, flags, kind, cookie, offset, length = struct.unpack(">IHHQQI", take(link, 28))
            if magic != REQUEST or kind == DISCONNECT:
                return
            data = take(link, length) if kind == WRITE else None
            with self.lock:
                if self.is_off:
                    return
                error, answer = self.perform(kind, flags, offset, length, data)
                # Under the lock: an answer after the cut would be a promise.
                link.sendall(struct.pack(">IIQ", REPLY, error, cookie) + answer)

    def perform(self, kind, flags, offset, length, data):
        """The error and the answer to one request."""
        if kind != FLUSH and offset + length > self.cache.size:
            return errno.EINVAL, b""
        is_durable = bool(flags & FUA)
        if kind == READ:
            return 0, self.cache.read(offset, length)
        if kind == WRITE:
            self.cache.write(offset, data, is_durable)
        elif kind in (TRIM, WRITE_ZEROES):
            self.cache.write(offset, length, is_durable)
        elif kind == FLUSH:
            self.cache.flush()
        else:
            return errno.EINVAL, b""
        return 0, b""


def take(link, count):
    """So many bytes from a connection."""
    data = bytearray()
    while len(data) < count:
        part = link.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)
