"""The code and the pairing (Protocol.md §4.3, §4.4): Damm, scrypt, SPAKE2; pure functions."""

import hashlib
import hmac
import secrets

DAMM = ("0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
        "3674209581", "5869720134", "8945362017", "9438617205", "2581436790")

# P-256: the prime of the field, the order of the group, b of the curve, and the generator.
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


class Mismatch(Exception):
    """A share that is not valid, or a confirmation that does not fit."""


# The code


def check_digit(digits):
    """Damm's check digit of seven digits; 0 for a code of eight digits."""
    interim = 0
    for digit in digits:
        interim = int(DAMM[interim][int(digit)])
    return str(interim)


def code_of(seven):
    """The code in print."""
    return f"{seven[:4]}-{seven[4:]}{check_digit(seven)}"


def new_code():
    return code_of(f"{secrets.randbelow(10**7):07d}")


def digits_of(code):
    """The eight digits of a typed code, or None if it is no code."""
    digits = code.replace(" ", "").replace("-", "")
    return digits if len(digits) == 8 and digits.isdigit() and check_digit(digits) == "0" else None


# The curve: y² = x³ − 3x + b; infinity is None


def add(one, other):
    if one is None or other is None:
        return one or other
    if one[0] == other[0]:
        if (one[1] + other[1]) % P == 0:
            return None
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P)
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P)
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def times(number, point):
    result = None
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result


def minus(point):
    return point and (point[0], -point[1] % P)


def point_of_x(compressed):
    """The point of its compressed form."""
    x = int.from_bytes(compressed[1:], "big")
    y = pow(x**3 - 3 * x + B, (P + 1) // 4, P)
    return x, y if y & 1 == compressed[0] & 1 else P - y


def put_point(point):
    """Uncompressed, 65 bytes."""
    return b"\x04" + point[0].to_bytes(32, "big") + point[1].to_bytes(32, "big")


def take_point(data):
    x, y = int.from_bytes(data[1:33], "big"), int.from_bytes(data[33:], "big")
    if len(data) != 65 or data[0] != 4 or x >= P or y >= P or (y * y - x**3 + 3 * x - B) % P:
        raise Mismatch("a share that is no point of the curve")
    return x, y


# RFC 9382 §6 prints them, compressed.
M = point_of_x(bytes.fromhex("02886e2f97ace46e55ba9dd7242579f2993b64e16ef3dcab95afd497333d8fa12f"))
N = point_of_x(bytes.fromhex("03d8bbd6c639c62937b04d997f38c3770719c629d7014d49a24b4f98baa1292b49"))

# SPAKE2


def stretched(digits):
    """scrypt of the code's eight digits: 48 bytes."""
    return hashlib.scrypt(digits.encode(), salt=b"peer-pair-v1 scrypt", n=2**14, r=8, p=1, dklen=48)


def secret_of(digits):
    """w."""
    return 1 + int.from_bytes(stretched(digits), "big") % (ORDER - 1)


def identity(role, fingerprint, exported):
    """idA of "client", idB of "server"."""
    return b"peer-pair-v1 " + role.encode() + b"\0" + fingerprint + exported


def hellos(client, server):
    """AAD, of the two HELLO frames with their type and length."""
    return b"peer-pair-v1\0" + hashlib.sha256(client + server).digest()


def hkdf(key, info, length):
    """HKDF with SHA-256 and no salt, of at most 32 bytes."""
    pseudorandom = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(pseudorandom, info + b"\x01", "sha256")[:length]


def transcript(*parts):
    """TT."""
    return b"".join(len(part).to_bytes(8, "little") + part for part in parts)


class Keys:
    """The keys of one exchange, with every value on the way to them."""

    def __init__(self, id_a, id_b, share_a, share_b, common, w, aad):
        self.tt = transcript(id_a, id_b, share_a, share_b, common, w.to_bytes(32, "big"))
        self.hash = hashlib.sha256(self.tt).digest()
        both = hkdf(self.hash[16:], b"ConfirmationKeys" + aad, 32)
        self.key_a, self.key_b = both[:16], both[16:]
        self.conf_a, self.conf_b = (hmac.digest(key, self.tt, "sha256") for key in (self.key_a, self.key_b))


class Exchange:
    """One end of one exchange: `share` is its own share, `keys` needs the other one."""

    def __init__(self, is_sender, digits, secret=None):
        self.is_sender, self.w = is_sender, secret_of(digits)
        self.secret = secret or 1 + secrets.randbelow(ORDER - 1)
        own = M if is_sender else N
        self.share = put_point(add(times(self.w, own), times(self.secret, G)))

    def common(self, share):
        """K, from the other's share."""
        if share == self.share:
            raise Mismatch("one's own share came back")
        bare = add(take_point(share), minus(times(self.w, N if self.is_sender else M)))
        point = times(self.secret, bare)
        if bare is None or point is None:
            raise Mismatch("infinity")
        return put_point(point)

    def keys(self, share, id_a, id_b, aad):
        shares = (self.share, share) if self.is_sender else (share, self.share)
        return Keys(id_a, id_b, *shares, self.common(share), self.w, aad)


def is_equal(one, other):
    """Compares two confirmations in constant time."""
    return hmac.compare_digest(one, other)
