"""The built program's protection against mistakes with memory, as its file shows it."""

import re
import subprocess

def readelf(program, *options):
    run = subprocess.run(["readelf", "--wide", *options, program], capture_output=True, text=True, check=True)
    return run.stdout


def segments(program):
    """The kinds of the program's segments, each with its rights."""
    found = {}
    for line in readelf(program, "--program-headers").split("\n"):
        match = re.match(r"\s+(\w+)\s+(?:0x\w+\s+){5}(\w[\w ]*?)\s+0x\w+$", line)
        if match:
            found.setdefault(match[1], []).append(match[2].replace(" ", ""))
    return found


def findings(program):
    """A sentence for each protection that is missing."""
    header, dynamic = readelf(program, "--file-header"), readelf(program, "--dynamic")
    kinds, symbols = segments(program), readelf(program, "--dyn-syms")
    named = {symbol.split("@")[0] for symbol in re.findall(r"UND (\S+)", symbols)}
    rules = {
        "it is not position-independent": re.search(r"Type:\s+DYN", header) and re.search(r"FLAGS_1\).*\bPIE\b", dynamic),
        "its tables of functions stay writable: they are not filled at the start":
            re.search(r"\(FLAGS\).*\bBIND_NOW\b", dynamic) or re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic),
        "its relocated data stays writable": "GNU_RELRO" in kinds,
        "its stack is executable": kinds.get("GNU_STACK") == ["RW"],
        "it has memory that is writable and executable": not any("W" in rights and "E" in rights for rights in kinds.get("LOAD", ["WE"])),
        "its code is changed when it is loaded": not re.search(r"\(TEXTREL\)|\bTEXTREL\b", dynamic),
        "it looks for libraries in a folder of its own": not re.search(r"\((?:RPATH|RUNPATH)\)", dynamic),
        "the functions of C do not check the sizes of what they fill":
            any(re.fullmatch(r"__\w+_chk", name) for name in named),
    }
    return [sentence for sentence, holds in rules.items() if not holds]
