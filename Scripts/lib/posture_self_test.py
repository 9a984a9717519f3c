"""Tests Scripts/posture: with code that is unsafe and code that only looks so, and with programs
that lack one protection each."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

import posture_program  # noqa: E402
import posture_sources  # noqa: E402
from outside import ROOT, equal, require  # noqa: E402
from self_tests import run  # noqa: E402

UNSAFE = [
    "let value = unsafe load()",
    "nonisolated(unsafe) var count = 0",
    "unowned(unsafe) let owner: Owner",
    "@safe struct Wrapper {}",
    "@unsafe func load() {}",
    'print("\\(unsafe load())")',
    'print(#"\\#(unsafe load())"#)',
    'print("\\(name("\\(unsafe load())"))")',
    "/* a comment */ unsafe load()",
    'print("a") ; unsafe load() // why',
    '"""\ntext\n\\(unsafe load())\n"""',
]
SAFE = [
    "// unsafe load()",
    "/* unsafe /* unsafe */ unsafe */ load()",
    "/// Says unsafe things.",
    'print("unsafe")',
    'print("a \\" unsafe")',
    'print(#"a " unsafe \\(unsafe)"#)',
    '"""\nunsafe "text" unsafe\n"""',
    "withUnsafeBytes { _ in }",
    "let unsafeCount = 1; isunsafe()",
    "load(`unsafe`: 1)",
]

HARDENED = ["-O2", "-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]

PROGRAM = """
#include <string.h>
#ifdef BOTH
__asm__(".section .both, \\"awx\\", @progbits\\n.byte 0\\n.text\\n");
#endif
int csystem_copy(const char *source, int count) {
  char own[64];
  strcpy(own, source);
  return own[count];
}
int main(int count, char **words) { return csystem_copy(words[0], count); }
"""

LACKING = {
    "it is not position-independent": ["-fno-PIE", "-no-pie"],
    "its tables of functions stay writable: they are not filled at the start": ["-Wl,-z,lazy"],
    "its relocated data stays writable": ["-Wl,-z,norelro"],
    "its stack is executable": ["-Wl,-z,execstack"],
    "it has memory that is writable and executable": ["-DBOTH"],
    "it looks for libraries in a folder of its own": ["-Wl,-rpath,$ORIGIN"],
    "no function of C looks whether its frame is intact": ["-fno-stack-protector"],
    "the functions of C do not check the sizes of what they fill": ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"],
}


def unsafe_code_is_found(_):
    for text in UNSAFE:
        equal(len(posture_sources.unsafe_lines(text)), 1, text)
    return f"{len(UNSAFE)} samples"


def comments_and_texts_are_not_code(_):
    for text in SAFE:
        equal(posture_sources.unsafe_lines(text), [], text)
    return f"{len(SAFE)} samples"


def lines_keep_their_numbers(_):
    text = '/* a\nb */ let x = """\n  c\n  """\nunsafe load()\n'
    equal(posture_sources.unsafe_lines(text), [5], "the line")


def a_file_in_the_wrong_module_fails(folder):
    for module in ("MigrationSystem", "MigrationWire"):
        os.makedirs(f"{folder}/Sources/{module}/Part")
        with open(f"{folder}/Sources/{module}/Part/File.swift", "w", encoding="utf-8") as file:
            file.write("func go() {\n  unsafe load()\n}\n")
    targets = '\n    .target(name: "MigrationSystem", swiftSettings: product),\n    .target(\n      name: "MigrationWire", swiftSettings: {}),\n'
    for settings, count in (("product", 1), ("common", 2)):
        with open(f"{folder}/Package.swift", "w", encoding="utf-8") as file:
            file.write("let product = common + [.strictMemorySafety()]" + targets.format(settings))
        found = posture_sources.findings(folder)
        equal(len(found), count, f"findings: {found}")
        require(found[0].startswith("Sources/MigrationWire/Part/File.swift:2: "), found[0])


def the_modules_here_are_found(_):
    found = posture_sources.modules(ROOT)
    require({"MigrationWire", "MigrationSystem", "peer"} <= set(found), f"modules: {found}")
    return f"{len(found)} modules"


def built(folder, *options):
    with open(f"{folder}/program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-w", *HARDENED, *options, f"{folder}/program.c", "-o", f"{folder}/program"], check=True, capture_output=True)
    return posture_program.findings(f"{folder}/program")


def a_protected_program_passes(folder):
    equal(built(folder), [], "findings")


def each_missing_protection_is_found(folder):
    for sentence, options in LACKING.items():
        found = built(folder, *options)
        require(sentence in found, f"{options}: {found}")
    return f"{len(LACKING)} programs"


if __name__ == "__main__":
    sys.exit(run([
        unsafe_code_is_found, comments_and_texts_are_not_code, lines_keep_their_numbers, a_file_in_the_wrong_module_fails,
        the_modules_here_are_found, a_protected_program_passes, each_missing_protection_is_found,
    ], "peer-posture-"))
