"""The libraries that an app's program needs to start."""

import re
import subprocess

from outside import equal, require


def needed(program):
    """The libraries that a program names."""
    words = ["readelf", "--dynamic", "--wide", program]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said)


def of_openssl(program):
    return [name for name in needed(program) if re.match(r"lib(crypto|ssl)\b", name)]


def test_an_app_links_no_cryptography(work):
    """app: a program with AppMigrationKit, Security and AuthenticationServices links neither
    libcrypto nor libssl"""
    for name in "TestApp", "TestAppExtension":
        require(needed(f"{work.programs}/{name}"), f"{name} names no library")
        equal(of_openssl(f"{work.programs}/{name}"), [], name)
    require(of_openssl(work.binary), "peer, which has cryptography, is not seen to link it")
