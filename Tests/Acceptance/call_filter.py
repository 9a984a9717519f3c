"""The filter of a confined process's system calls, compiled for an architecture, and evaluated here
as the kernel would."""

import re
import subprocess

from outside import ROOT, require

ALLOW, ASK = "allowed", "asked"
"""The verdicts besides an error's number."""

OWN = 0xFFFFFFFE
"""Stands for the process's own number."""

SOURCES = f"{ROOT}/Sources/Transfer/CSystem"


class Architecture:
    """A compiler, a way to start its programs, and the kernel's number of the architecture."""

    def __init__(self, name, compiler, starter, audit):
        self.name = name
        # With its options.
        self.compiler = compiler
        self.starter = starter
        self.audit = audit

    def numbers(self):
        """All system calls in the kernel's headers for this architecture: name to number."""
        command = [*self.compiler, "-E", "-dM", "-x", "c", "-"]
        text = subprocess.run(command, input="#include <asm/unistd.h>\n", capture_output=True, text=True, check=True).stdout
        defined = dict(re.findall(r"^#define (__NR\w+) (\w+)$", text, re.MULTILINE))

        def value(word):
            return int(word) if word.isdigit() else value(defined[word]) if word in defined else None

        found = {name[5:]: value(word) for name, word in defined.items() if name.startswith("__NR_")}
        return {name: number for name, number in found.items() if number is not None and name not in NO_CALLS}

    def filters(self, folder):
        """The filters by their numbers (print_calls.c), as lists of instructions."""
        program = f"{folder}/print-{self.name}"
        subprocess.run(
            [*self.compiler, "-Wall", "-Wextra", "-Werror", "-I", SOURCES, "-o", program,
             f"-I{SOURCES}/include", *(f"{SOURCES}/{name}.c" for name in ("CExtensionCalls", "CFilter", "CReceiverCalls")),
             f"{ROOT}/Tests/Acceptance/print_calls.c"], check=True)
        output = subprocess.run([*self.starter, program], capture_output=True, text=True, check=True, timeout=60).stdout
        parts = re.split(r"^filter (\d)\n", output, flags=re.MULTILINE)[1:]
        return {int(number): [tuple(map(int, line.split())) for line in part.splitlines()]
                for number, part in zip(parts[::2], parts[1::2])}


NO_CALLS = ("syscalls", "arch_specific_syscall", "sync_file_range2")
"""Names in the headers that are no calls of their own."""

X86 = Architecture("x86-64", ["cc"], [], 0xC000003E)
ARM = Architecture("arm64", ["aarch64-linux-gnu-gcc", "-static"], ["qemu-aarch64"], 0xC00000B7)


def verdict(program, audit, number, arguments=()):
    """The filter's verdict about a call: a word, or an error's number."""
    words = [number & 0xFFFFFFFF, audit, 0, 0]
    for argument in [*arguments, *[0] * (6 - len(arguments))]:
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    accumulator, index = 0, 0
    while True:
        code, if_true, if_false, operand = program[index]
        index += 1
        if code == 0x20:
            accumulator = words[operand // 4]
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x06:
            return spoken(operand)
        else:
            tests = {0x15: accumulator == operand, 0x25: accumulator > operand, 0x35: accumulator >= operand,
                     0x45: accumulator & operand != 0}
            require(code in tests, f"an instruction that the check does not know: {code:#x}")
            index += if_true if tests[code] else if_false


def spoken(result):
    kind = result & 0xFFFF0000
    known = {0x7FFF0000: ALLOW, 0x7FC00000: ASK, 0x80000000: "killed"}
    return result & 0xFFFF if kind == 0x00050000 else known[kind]
