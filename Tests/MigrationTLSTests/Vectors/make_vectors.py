#!/usr/bin/env python3
"""Writes peer-pair-v1.txt beside it, and prints the pairing in Tests/Interop/vectors.md.

The computation is that of Tests/Interop, which follows Protocol.md and knows nothing of the Swift code.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/Tests/Interop")

import pairing  # noqa: E402

CODE = "4829-1367"
CLIENT, SERVER = b"\xc1" * 32, b"\x5e" * 32
EKM = bytes(range(0xE0, 0x100))
X = 0x43DD0FD7215BDCB482879FCA3220C6A968E66D70B1356CAC18BB26C84A78D729
Y = 0xDCB60106F276B02606D8EF0A328C02E4B629F84F89786AF5BEFB0BC75B6E66BE


def early(type, body):
    """A frame before READY (Protocol §4.2)."""
    return bytes([type]) + len(body).to_bytes(2, "big") + body


HELLO_C = early(0x01, b"PEER" + bytes([3, 3, 1]) + bytes(4))
HELLO_S = early(0x02, b"PEER" + bytes([3, 1]) + bytes(4))


def exchange(binding):
    """The values of one pairing by their names, in the order of Protocol §4.4."""
    digits = pairing.digits_of(CODE)
    sender, receiver = pairing.Exchange(True, digits, X), pairing.Exchange(False, digits, Y)
    common = sender.common(receiver.share)
    assert common == receiver.common(sender.share)
    names = [pairing.identity("client", CLIENT, binding), pairing.identity("server", SERVER, EKM)]
    aad = pairing.hellos(HELLO_C, HELLO_S)
    keys = pairing.Keys(*names, sender.share, receiver.share, common, sender.w, aad)
    return {
        "code": digits.encode(), "s": pairing.stretched(digits), "w": sender.w.to_bytes(32, "big"), "EKM": binding,
        "client": CLIENT, "server": SERVER, "HELLO_C": HELLO_C, "HELLO_S": HELLO_S, "idA": names[0], "idB": names[1],
        "AAD": aad, "x": X.to_bytes(32, "big"), "y": Y.to_bytes(32, "big"), "pA": sender.share, "pB": receiver.share,
        "K": common, "SHA-256(TT)": keys.hash, "Ke": keys.hash[:16], "Ka": keys.hash[16:], "KcA": keys.key_a,
        "KcB": keys.key_b, "CONF_A": early(0x05, keys.conf_a), "CONF_B": early(0x06, keys.conf_b),
    }


def printed(values):
    """The pairing as vectors.md shows it: a name, then its bytes in lines of 64 digits."""
    lines = []
    for name, value in values.items():
        text = value.hex()
        for start in range(0, len(text), 64):
            lines.append(f"    {name if start == 0 else '':<12} {text[start : start + 64]}")
    return "\n".join(lines)


def main():
    values = exchange(EKM)
    wrong = exchange(EKM[:-1] + b"\0")["CONF_A"]
    lines = ["# One pairing (Protocol §4.4), by make_vectors.py. The fingerprints and the EKM are made up.", ""]
    lines += [f"{name} = {value.hex()}" for name, value in values.items()]
    lines.append(f"CONF_A with an EKM in idA that ends in 00 = {wrong.hex()}")
    with open(f"{HERE}/peer-pair-v1.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")

    with open(f"{ROOT}/Tests/Interop/vectors.md", encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- pairing: begin -->\n", "<!-- pairing: end -->"
    before, rest = text.split(begin)
    text = f"{before}{begin}\n{printed(values)}\n\n{end}{rest.split(end)[1]}"
    with open(f"{ROOT}/Tests/Interop/vectors.md", "w", encoding="utf-8") as file:
        file.write(text)


main()
