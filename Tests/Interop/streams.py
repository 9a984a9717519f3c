"""Data streams (Protocol.md §6.8, §7.3, §9.4): a sender's window, ACK, replacements; and the encodings."""

import collections
import contextlib
import time

import zstandard

import channel
import wire
from forms import Violation, require

TRIES = 16
"""How often a sender tries to join a stream before it gives up."""


class Stream:
    """One data stream and its frames that are not acknowledged as written."""

    def __init__(self, link, number):
        self.link, self.number = link, number
        self.said = self.written = self.durable = 0
        self.waiting = collections.deque()


class Streams:
    """All data streams of one session."""

    def __init__(self, control, open_link, verdict, is_packed, options):
        self.control, self.open_link, self.verdict, self.is_packed, self.options = control, open_link, verdict, is_packed, options
        self.streams, self.number, self.under_way, self.frames, self.joined = [], 0, 0, 0, 0
        self.on_message = lambda said: require(False, f"{said.name} while data is sent")
        """Called with each message of the control connection."""

    def open(self, replaces=wire.NONE, waiting=()):
        """Joins a stream, and sends the frames of a broken one on it, numbered from 0."""
        pause = 0.05
        for _ in range(TRIES):
            try:
                link = self.open_link()
                stream, self.number = Stream(link, self.number), self.number + 1
                link.say("JOIN", session=self.verdict.session, stream=stream.number, replaces=replaces)
                # If this JOIN fails, the next one replaces it, and with it the broken stream.
                replaces = stream.number if waiting or replaces != wire.NONE else replaces
                for frame in waiting:
                    self.say(stream, frame)
                self.streams.append(stream)
                self.joined += 1
                return stream
            except (channel.Cut, channel.Ended, channel.Aborted, channel.Closed, channel.Silent, OSError):
                self.serve(pause)
                pause *= 1.5
        raise channel.Silent("the data connections keep breaking")

    def frame(self, plain):
        """The encoding and payload of a frame of entries."""
        if self.is_packed:
            packed = zstandard.ZstdCompressor(level=1).compress(plain)
            if len(packed) < len(plain):
                return 1, len(plain), packed
        return 0, len(plain), plain

    def say(self, stream, frame):
        encoding, size, payload = frame
        stream.waiting.append(frame)
        stream.said += 1
        stream.link.say("DATA", sequence=stream.said - 1, encoding=encoding, plainLength=size, payload=payload)

    def put(self, plain):
        """Sends one frame on the stream with fewest bytes under way, when the window has room."""
        if self.options.before_frame:
            self.options.before_frame(self, self.frames)
        frame = self.frame(plain)
        while len(self.streams) < min(self.options.streams, self.verdict.streams):
            self.open()
        self.wait_for(min(self.verdict.window, self.options.window) - 13 - len(frame[2]))
        self.under_way += 13 + len(frame[2])
        self.frames += 1
        # Streams may be replaced while others are served.
        stream = min(self.streams, key=lambda one: sum(len(waiting[2]) for waiting in one.waiting))
        try:
            self.say(stream, frame)
        except channel.Cut:
            self.replace(stream)
        self.serve(0)

    def drain(self):
        """Waits until all frames are written."""
        self.wait_for(0)

    def keep(self):
        """DONE has said that all frames are durable."""
        for stream in self.streams:
            stream.durable = stream.said

    def wait_for(self, bound):
        """Waits until at most so many bytes are under way. Nothing moves for 30 s: Silent."""
        last, limit = self.under_way, time.monotonic() + 30
        while self.under_way > bound:
            self.serve(1)
            if self.under_way != last:
                last, limit = self.under_way, time.monotonic() + 30
            if time.monotonic() > limit:
                raise channel.Silent("no frame is acknowledged")

    def end(self):
        """Ends every stream with END."""
        for stream in self.streams:
            with contextlib.suppress(channel.Cut):
                stream.link.say("END")
            stream.link.close()
        self.streams = []

    def replace(self, stream):
        if stream in self.streams:
            self.streams.remove(stream)
        stream.link.cut()
        self.open(stream.number, list(stream.waiting))

    def serve(self, seconds):
        """Acts on all messages that have arrived; waits for one at most `seconds`."""
        limit = time.monotonic() + seconds
        while True:
            ready = channel.wait([self.control] + [stream.link for stream in self.streams], max(0, limit - time.monotonic()))
            if self.control in ready:
                while (said := self.control.next()) is not None:
                    self.on_message(said)
            for stream in [stream for stream in self.streams if stream.link in ready]:
                try:
                    while (said := stream.link.next()) is not None:
                        self.acknowledged(stream, said)
                except (channel.Cut, channel.Ended):
                    self.replace(stream)
                except channel.Closed as error:
                    if error.code != 16:
                        raise
                    self.replace(stream)
            if ready or time.monotonic() >= limit:
                return

    def acknowledged(self, stream, said):
        require(said.name == "ACK", f"{said.name} on a data stream")
        require(stream.written <= said.written <= stream.said, f"{said.written} frames are written of {stream.said}")
        require(stream.durable <= said.durable, f"{said.durable} frames are durable, and {stream.durable} were")
        stream.durable = said.durable
        for _ in range(said.written - stream.written):
            self.under_way -= 13 + len(stream.waiting.popleft()[2])
        stream.written = said.written


def plain(said):
    """The entries of a DATA frame, of any encoding."""
    if said.encoding == 0:
        return said.payload
    try:
        head = zstandard.get_frame_parameters(said.payload)
        unknown = zstandard.CONTENTSIZE_UNKNOWN
        require(not head.dict_id and head.window_size <= 8 << 20 and head.content_size in (said.plainLength, unknown), "a zstd frame's header")
        decoder = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
        found = decoder.decompress(said.payload)
    except zstandard.ZstdError as error:
        raise Violation(f"zstd: {error}") from None
    require(decoder.eof and not decoder.unused_data and len(found) == said.plainLength, "a payload that is not one zstd frame")
    return found
