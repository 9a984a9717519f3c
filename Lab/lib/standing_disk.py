"""A file system in front of a folder, which hangs when it is told to: requests then wait until it
continues.

It speaks the kernel's protocol of /dev/fuse itself, like the forgetful disk. Only this way can a
process that is killed meanwhile end: the kernel waits for an answer to every request that the
server has read, and sends another request about the kill.

Usage: standing_disk.py DEVICE CONTROL FOLDER
  DEVICE   the descriptor of /dev/fuse
  CONTROL  the descriptor of a socket, with these commands:
           `stand OPERATION` and `hold OPERATION`: answered by `standing` at the next such request;
           `hold` lets other requests pass
           `go on`: no answer
"""

import errno
import os
import selectors
import socket
import struct
import sys

from forgetful_disk import HEADER, LARGEST_WRITE, Server

OPERATIONS = {
    "make a directory": (9,), "remove": (10, 11), "move": (12, 45), "read": (15,), "write": (16,), "sync": (20, 30), "list": (28,),
    "create": (35,)}
"""The operations at which a disk can be told to hang; it can also hang at any."""

INTERRUPT, FLUSH, UNANSWERED = 36, 25, (2, 42)
ANYTHING = range(3, 100)


class Standing(Server):
    """Keeps its nodes while their names exist, and can delay requests."""

    def __init__(self, device, control, behind):
        super().__init__(device, behind)
        self.control = control
        self.numbers = {}
        self.lists, self.next_list = {}, 0
        self.awaited = ()
        """The operations at which it hangs."""
        self.is_standing = False
        self.passing = UNANSWERED
        """The operations that never wait."""
        self.waiting = {}
        """The delayed requests, by their numbers."""
        self.answers[29] = self.release_directory
        # Otherwise the kernel would send a request for every file that closes, even those of a
        # killed process, and wait. It stops when one is answered, which may be the first while the
        # disk hangs.
        del self.answers[FLUSH]

    def serve(self):
        os.set_blocking(self.device, False)
        selector = selectors.DefaultSelector()
        for place in (self.device, self.control):
            selector.register(place, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is self.control:
                    self.obey(self.control.recv(100).decode())
                    continue
                try:
                    self.consider(os.read(self.device, LARGEST_WRITE + 4096))
                except OSError as error:
                    if error.errno not in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                        return

    def consider(self, request):
        _, operation, unique, *_ = HEADER.unpack_from(request)
        if operation == INTERRUPT:
            unique = struct.unpack_from("<Q", request, HEADER.size)[0]
            if self.waiting.pop(unique, None):
                self.reply(unique, errno.EINTR)
            return
        if operation == FLUSH:
            self.take(request)
            return
        if operation in self.awaited and not self.is_standing:
            self.is_standing = True
            self.control.send(b"standing")
        if self.is_standing and operation not in self.passing:
            self.waiting[unique] = request
        else:
            self.take(request)

    def obey(self, order):
        word, _, operation = order.partition(" ")
        if word != "go":
            self.awaited = OPERATIONS[operation] if operation else ANYTHING
            self.passing = UNANSWERED if word == "stand" else set(range(100)).difference(self.awaited)
            return
        requests, self.waiting = self.waiting, {}
        self.awaited, self.is_standing = (), False
        for request in requests.values():
            self.take(request)

    # A node has one number while it has its name

    def node(self, path):
        if path not in self.numbers:
            self.numbers[path] = super().node(path)
        return self.numbers[path]

    def unlink(self, node, rest):
        self.numbers.pop(self.path(node, rest[:-1]), None)
        return super().unlink(node, rest)

    def remove_directory(self, node, rest):
        self.numbers.pop(self.path(node, rest[:-1]), None)
        return super().remove_directory(node, rest)

    def moved(self, path, other):
        super().moved(path, other)
        for old in [old for old in self.numbers if old == path or old.startswith(path + "/")]:
            self.numbers[other + old[len(path):]] = self.numbers.pop(old)

    def attributes(self, node, rest):
        is_of_handle, _, handle = struct.unpack_from("<IIQ", rest)
        return self.told(os.fstat(handle)) if is_of_handle else super().attributes(node, rest)

    # A listing stays as it was while it is read

    def open_directory(self, *_):
        self.next_list += 1
        return struct.pack("<QII", self.next_list, 0, 0)

    def names_in(self, node, handle, offset):
        if offset == 0:
            self.lists[handle] = super().names_in(node)
        return self.lists[handle]

    def release_directory(self, _, rest):
        self.lists.pop(struct.unpack_from("<Q", rest)[0], None)
        return b""


if __name__ == "__main__":
    Standing(int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])), sys.argv[3]).serve()
