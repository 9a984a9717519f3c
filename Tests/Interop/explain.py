"""The parts of a frame with their meanings, by the forms of `wire`."""

import wire
from forms import Fields, Fixed, Reader, Sized, take_varint

NAMES = {wire.ITEM: "ITEM", wire.CHUNK: "CHUNK", wire.HOLE: "HOLE", wire.CONTENT: "CONTENT", wire.BASE: "BASE"}


BITS = {"features": "#x", "flags": "#x", "rules": "#x", "mode": "#o"}
"""The formats of bit sets and modes, by field."""


def shown(value):
    """A value in print; empty for bytes that are no text."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(shown, value)))
    if isinstance(value, tuple):
        return " ".join(filter(None, map(shown, value)))
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(part)}".strip() for name, part in value.items())
    if isinstance(value, bytes):
        is_text = 0 < len(value) != 16 and all(0x20 <= byte < 0x7F for byte in value)
        return f'"{value.decode()}"' if is_text else ""
    return f'"{value}"' if isinstance(value, str) else f"{value:,}"


def said(name, value):
    """A field's name and value. A mode below 4 is that of HELLO, not of a file."""
    if name in BITS and isinstance(value, int) and (name != "mode" or value > 3):
        return f"{name} {value:{BITS[name]}}"
    return f"{name} {shown(value)}".strip()


def body(form, reader):
    """Yields (bytes, meaning) of a body: one for each field."""
    if isinstance(form, Fixed):
        for name, part in form.forms.items():
            begin = reader.at
            if name == "payload":
                yield from entries(reader)
                continue
            value = part.take(reader)
            yield reader.data[begin:reader.at], said(name, value)
    elif isinstance(form, Fields):
        while not reader.is_over():
            begin, tag = reader.at, reader.number(1)
            value = reader.take(take_varint(reader))
            name = form.by_tag.get(tag)
            if name == "parts":
                yield from parts_of(form.fields[name][1], Reader(value), reader.data[begin:reader.at - len(value)], tag)
                continue
            meaning = said(name, form.fields[name][1].take(Reader(value))) if name else "a field with an unknown tag"
            yield reader.data[begin:reader.at], f"tag {tag}: {meaning}"


def parts_of(form, reader, head, tag):
    """Yields the fields of the parts in a PLAN or VERDICT."""
    yield head, f"tag {tag}: parts"
    number = 0
    while not reader.is_over():
        begin, size = reader.at, take_varint(reader)
        yield reader.data[begin:reader.at], f"  part {number}, {size} bytes"
        for data, meaning in body(form.form.form, Reader(reader.take(size))):
            yield data, "  " + meaning
        number += 1


def entries(reader):
    """Yields the parts of the entries in a payload that is not compressed."""
    while not reader.is_over():
        begin, kind = reader.at, reader.number(1)
        if kind == wire.ITEM:
            size = take_varint(reader)
            yield reader.data[begin:reader.at], f"ITEM, a record of {size} bytes"
            yield from body(wire.RECORD, Reader(reader.take(size)))
            continue
        yield reader.data[begin:reader.at], NAMES[kind]
        for name, form in wire.ENTRIES[kind].forms.items():
            begin = reader.at
            if isinstance(form, Sized):
                size = take_varint(reader)
                yield reader.data[begin:reader.at], f"{name}, {size:,} bytes"
                yield (value := reader.take(size)), said(name, value) if name == "path" else ""
            else:
                value = form.take(reader)
                yield reader.data[begin:reader.at], name if isinstance(value, bytes) else said(name, value)


def parts(data, is_early):
    """Yields the parts of a whole frame."""
    head = 3 if is_early else 5
    kind = data[0]
    name, form = (wire.EARLY if is_early else wire.MESSAGES)[kind][:2]
    yield data[:head], f"{name}, {len(data) - head} bytes"
    yield from body(form, Reader(data[head:]))


def lines(data, is_early, digits=48):
    """The lines of a frame: bytes on the left, meaning on the right."""
    for part, meaning in parts(data, is_early):
        text = part.hex()
        for at in range(0, len(text), digits):
            yield f"{text[at:at + digits]:<{digits}}  {meaning if at == 0 else ''}".rstrip()
