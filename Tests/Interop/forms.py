"""The forms of values on the wire (Protocol.md §5, §6): they put values into bytes and take them.

`put` checks nothing, so that a test can send forbidden values; `take` checks everything.
"""


class Violation(Exception):
    """The other end broke the protocol; the message says how, and `code` is that of CLOSE."""

    def __init__(self, message, code=3):
        super().__init__(message)
        self.code = code


def require(condition, message, code=3):
    if not condition:
        raise Violation(message, code)


class Reader:
    """Bytes, read from the start."""

    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, count):
        require(count <= len(self.data) - self.at, f"{count} bytes are expected, and {len(self.data) - self.at} are there")
        self.at += count
        return self.data[self.at - count:self.at]

    def rest(self):
        return self.take(len(self.data) - self.at)

    def is_over(self):
        return self.at == len(self.data)

    def number(self, size):
        return int.from_bytes(self.take(size), "big")


def varint(value):
    """A number with its size in the two top bits of its first byte, as short as possible."""
    power = next(power for power in range(4) if value < 1 << (8 * (1 << power) - 2))
    size = 1 << power
    return (value | power << (8 * size - 2)).to_bytes(size, "big")


def take_varint(reader):
    first = reader.number(1)
    size = 1 << (first >> 6)
    value = (first & 0x3F) << 8 * (size - 1) | reader.number(size - 1)
    require(len(varint(value)) == size, f"a varint of {size} bytes for {value}")
    return value


class Number:
    """An unsigned or signed number of `size` bytes."""

    def __init__(self, size, low=None, high=None, signed=False):
        self.size, self.low, self.high, self.signed = size, low, high, signed

    def put(self, value):
        return value.to_bytes(self.size, "big", signed=self.signed)

    def take(self, reader):
        value = int.from_bytes(reader.take(self.size), "big", signed=self.signed)
        require(self.low is None or value >= self.low, f"{value} is below {self.low}")
        require(self.high is None or value <= self.high, f"{value} is above {self.high}")
        return value


class Raw:
    """A number of bytes; without `count` all remaining ones, within bounds, that `fits` takes."""

    def __init__(self, count=None, low=0, high=None, fits=lambda _: True):
        self.count, self.low, self.high, self.fits = count, low, high, fits

    def put(self, value):
        return bytes(value)

    def take(self, reader):
        value = reader.rest() if self.count is None else reader.take(self.count)
        require(len(value) >= self.low and (self.high is None or len(value) <= self.high), f"{len(value)} bytes")
        require(self.fits(value), f"the value {value[:80]!r}")
        return value


class Text(Raw):
    """The remaining bytes as UTF-8."""

    def put(self, value):
        return value.encode()

    def take(self, reader):
        try:
            return super().take(reader).decode()
        except UnicodeDecodeError:
            raise Violation("text that is not UTF-8") from None


class String:
    """A string: bytes after their length, a varint."""

    def __init__(self, low=0, high=None):
        self.low, self.high = low, high

    def put(self, value):
        return varint(len(value)) + value

    def take(self, reader):
        count = take_varint(reader)
        require(count >= self.low and (self.high is None or count <= self.high), f"{count} bytes")
        return reader.take(count)


class Sized:
    """A string that is a value in a form."""

    def __init__(self, form):
        self.form = form

    def put(self, value):
        return String().put(self.form.put(value))

    def take(self, reader):
        return whole(self.form, String().take(reader))


class Row:
    """A tuple of values, each in its form."""

    def __init__(self, *forms):
        self.forms = forms

    def put(self, value):
        return b"".join(form.put(part) for form, part in zip(self.forms, value))

    def take(self, reader):
        return tuple(form.take(reader) for form in self.forms)


class Each:
    """A list of at least `low` elements, up to the end, in at most `size` bytes; strictly ascending by
    `key`, if given."""

    def __init__(self, form, high=None, key=None, low=1, size=None):
        self.form, self.high, self.key, self.low, self.size = form, high, key, low, size

    def put(self, value):
        return b"".join(map(self.form.put, value))

    def take(self, reader):
        size, found = len(reader.data) - reader.at, []
        require(self.size is None or size <= self.size, f"a list of {size} bytes")
        while len(found) < self.low or not reader.is_over():
            found.append(self.form.take(reader))
        require(self.high is None or len(found) <= self.high, f"{len(found)} elements, more than {self.high}")
        keys = [self.key(element) for element in found] if self.key else []
        require(all(one < next_one for one, next_one in zip(keys, keys[1:])), "a list does not ascend")
        return found


class Fixed:
    """A fixed body: named values in their order, and nothing after them."""

    def __init__(self, **forms):
        self.forms = forms

    def names(self):
        return list(self.forms)

    def put(self, values):
        return b"".join(form.put(values[name]) for name, form in self.forms.items())

    def take(self, reader):
        return {name: form.take(reader) for name, form in self.forms.items()}


class Chosen(Fixed):
    """A fixed body: `reason`, and behind it the values that belong to this reason, if any."""

    def __init__(self, reason, more):
        super().__init__(reason=reason, **{name: form for forms in more.values() for name, form in forms.items()})
        self.more = more

    def put(self, values):
        return Fixed(**{name: form for name, form in self.forms.items() if values.get(name) is not None}).put(values)

    def take(self, reader):
        values = Fixed(reason=self.forms["reason"]).take(reader)
        return {**values, **Fixed(**self.more.get(values["reason"], {})).take(reader)}


class Fields:
    """A field body: `tag u8 | length varint | value`, tags strictly ascending.

    Its value is a dictionary by the names of the fields; `unknown` has the unknown fields by tag.
    """

    def __init__(self, **fields):
        """Each field is `(tag, form)`, or `(tag, form, False)` if it is optional."""
        self.fields = {name: (field[0], field[1], len(field) == 2) for name, field in fields.items()}
        self.by_tag = {tag: name for name, (tag, _, _) in self.fields.items()}

    def names(self):
        return [*self.fields, "unknown"]

    def put(self, values):
        parts = dict(values.get("unknown", {}))
        for name, (tag, form, _) in self.fields.items():
            if values.get(name) is not None:
                parts[tag] = form.put(values[name])
        return b"".join(bytes([tag]) + String().put(part) for tag, part in sorted(parts.items()))

    def take(self, reader):
        values, last = {}, 0
        while not reader.is_over():
            tag = reader.number(1)
            require(tag > last, f"tag {tag} behind tag {last}")
            last, part = tag, Reader(String().take(reader))
            name = self.by_tag.get(tag)
            if name is None:
                values.setdefault("unknown", {})[tag] = part.rest()
                continue
            values[name] = self.fields[name][1].take(part)
            require(part.is_over(), f"the field '{name}' is too long")
        missing = [name for name, (_, _, is_required) in self.fields.items() if is_required and name not in values]
        require(not missing, f"no field '{'|'.join(missing)}'")
        return values


def whole(form, data):
    """The value of bytes in a form, which must take all of them."""
    reader = Reader(data)
    value = form.take(reader)
    require(reader.is_over(), f"{len(data) - reader.at} bytes too many")
    return value
