"""A sender that remembers what the receiver has acknowledged as durable, for Lab/power.

Usage: lab_power_witness.py --to HOST:PORT [--rate BYTES] [--seconds N] FOLDER...

It reads the code from its input, sends with the second implementation of the protocol
(Tests/Interop), and resumes after each interruption until it is done. Whenever a session resumes,
everything that was ever acknowledged as durable must be in the receiver's ledger: Protocol.md §9.4
promises that it survives a power loss.

It prints events, a JSON object a line: `progress` with `bytes`, `durable` with `entries`, `resumed`
with `entries`, `missing` with `path` for each broken promise, `finishing`, `done`, and `error`.
Exit codes: 0 done, 1 otherwise.
"""

import argparse
import collections
import json
import os
import sys
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/Tests/Interop")

import zstandard  # noqa: E402

import channel  # noqa: E402
import wire  # noqa: E402
from forms import Violation  # noqa: E402
from sender import Options, Sender  # noqa: E402
from streams import Streams  # noqa: E402

STREAMS = 3


def tell(name, **members):
    print(json.dumps({"event": name, **members}), flush=True)


class Promises:
    """The entries that were acknowledged as durable."""

    def __init__(self):
        self.records, self.ranges, self.count = {}, collections.defaultdict(list), 0

    def add(self, entry):
        self.count += 1
        if entry.kind == wire.ITEM:
            self.records[entry.path, entry.generation] = wire.record(entry.data)
        else:
            self.ranges[entry.path, entry.generation].append((entry.offset, entry.offset + entry.length))

    def broken(self, key, held, partial):
        """The promised states of paths that a ledger lacks, each with the reason."""
        for path, generation in self.records.keys() | self.ranges.keys():
            if wire.mark(key, generation, path) in held[1]:
                continue
            ranges = joined(self.ranges.get((path, generation), []))
            record = self.records.get((path, generation))
            if record is not None and ranges == ([(0, record["size"])] if record.get("size") else []):
                yield path, "was complete"
                continue
            there = partial.get(path)
            kept = there.ranges if there is not None and there.generation == generation else []
            if not all(any(one[0] <= start and end <= one[1] for one in kept) for start, end in ranges):
                yield path, f"the bytes {ranges} were there, now {list(kept)}"


def joined(ranges):
    """Ranges without overlaps, and without two that touch."""
    found = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


class WitnessStreams(Streams):
    """Data streams that note the entries of each frame until it is durable."""

    def __init__(self, promises, *arguments):
        super().__init__(*arguments)
        self.promises, self.frames_of, self.key = promises, collections.defaultdict(collections.deque), None

    def say(self, stream, frame):
        encoding, size, payload = frame
        plain = zstandard.ZstdDecompressor().decompress(payload, max_output_size=size) if encoding else payload
        self.frames_of[stream.number].append([entry._replace(data=entry.data if entry.kind == wire.ITEM else None)
                                              for entry in wire.entries(plain, self.key)])
        super().say(stream, frame)

    def acknowledged(self, stream, said):
        frames, before = self.frames_of[stream.number], self.promises.count
        count = said.durable - stream.durable
        super().acknowledged(stream, said)
        for _ in range(count):
            for entry in frames.popleft():
                self.promises.add(entry)
        if self.promises.count != before:
            tell("durable", entries=self.promises.count)


class Witness(Sender):
    """A sender whose sessions check the ledger against the promises."""

    def __init__(self, sources, options):
        super().__init__(sources, options)
        self.promises = Promises()

    def ledger(self):
        super().ledger()
        if self.promises.count == 0:
            return
        for path, reason in self.promises.broken(self.accepted.hashKey, self.held, self.partial):
            tell("missing", path=repr(path), reason=reason)
        tell("resumed", entries=self.promises.count)

    def make_streams(self, is_packed):
        return WitnessStreams(self.promises, self.control, self.open_stream, self.verdict, is_packed, self.options)

    def open(self):
        super().open()
        self.streams.key = self.key

    def finish(self):
        tell("finishing")
        super().finish()

    def send_until_done(self, address, code, seconds):
        limit = time.monotonic() + seconds
        self.pair(address, code)
        while not self.is_over:
            try:
                if self.control is None:
                    self.resume()
                self.session()
            except (channel.Cut, channel.Ended, channel.Silent, channel.Aborted, channel.Closed, OSError) as error:
                if isinstance(error, channel.Closed) and error.code != 16 or time.monotonic() > limit:
                    raise
                if not self.is_over:
                    self.cut()
                    time.sleep(0.3)


def paced(rate):
    """Called before each frame, so that about so many bytes a second are sent."""
    state = {"begun": time.monotonic(), "bytes": 0, "said": 0}

    def before_frame(streams, number):
        state["bytes"] += streams.options.frame
        ahead = state["bytes"] / rate - (time.monotonic() - state["begun"])
        if ahead > 0:
            streams.serve(ahead)
        else:
            # Time without a connection is not made up for.
            state["begun"] -= ahead
        if number % 4 == 0:
            tell("progress", frames=number)

    return before_frame


def main():
    parser = argparse.ArgumentParser(description="Sends folders, and checks what is acknowledged as durable.")
    parser.add_argument("--to", required=True)
    parser.add_argument("--rate", type=int, default=8 << 20)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("folders", nargs="+")
    chosen = parser.parse_args()
    host, _, port = chosen.to.rpartition(":")
    witness = Witness(chosen.folders, Options(streams=STREAMS, frame=1 << 16, before_frame=paced(chosen.rate)))
    try:
        witness.send_until_done((host, int(port)), sys.stdin.readline().strip(), chosen.seconds)
    except (channel.Cut, channel.Ended, channel.Silent, channel.Aborted, channel.Closed, OSError, Violation) as error:
        tell("error", message=f"{type(error).__name__}: {error}")
        return 1
    [part] = witness.parts
    if not part.done:
        tell("error", message=str(witness.failure))
        return 1
    tell("done", items=part.done.items, unsent=len(part.unsent), notStored=part.done.notStored or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
