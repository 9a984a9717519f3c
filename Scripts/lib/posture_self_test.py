"""Tests Scripts/posture: with code that is unsafe and code that only looks so, and with programs
that lack one protection each."""

import os
import subprocess
import sys

sys.dont_write_bytecode = True

import posture_frames  # noqa: E402
import posture_program  # noqa: E402
import posture_sources  # noqa: E402
from outside import ROOT, Failure, Skip, equal, require  # noqa: E402
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
#ifdef BARE_SWIFT
#define BARE_IN_SWIFT __attribute__((no_stack_protector))
#else
#define BARE_IN_SWIFT
#endif
#ifdef BARE_C
#define BARE_IN_C __attribute__((no_stack_protector))
#else
#define BARE_IN_C
#endif
#ifdef BOTH
__asm__(".section .both, \\"awx\\", @progbits\\n.byte 0\\n.text\\n");
#endif
int csystem_copy(const char *source, int count) {
  char own[64];
  strcpy(own, source);
  return own[count];
}
BARE_IN_C int csystem_copy_more(const char *source, int count) {
  char own[128];
  strcpy(own, source);
  return own[count];
}
int csystem_add(int first, int second) { return first + second; }
BARE_IN_SWIFT int $s15MigrationSystem4lendyyF(const char *source, int count) {
  char own[64];
  strcpy(own, source);
  return own[count];
}
#ifdef MANY
#define ONE(name) int csystem_##name(int first) { return first; }
ONE(a) ONE(b) ONE(c) ONE(d)
#endif
int main(int count, char **words) {
  return csystem_copy(words[0], count) + csystem_copy_more(words[0], count) + csystem_add(count, 1)
      + $s15MigrationSystem4lendyyF(words[0], count);
}
"""

LACKING = {
    "it is not position-independent": ["-fno-PIE", "-no-pie"],
    "its tables of functions stay writable: they are not filled at the start": ["-Wl,-z,lazy"],
    "its relocated data stays writable": ["-Wl,-z,norelro"],
    "its stack is executable": ["-Wl,-z,execstack"],
    "it has memory that is writable and executable": ["-DBOTH"],
    "it looks for libraries in a folder of its own": ["-Wl,-rpath,$ORIGIN"],
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
        found = [finding for finding in found if "posture_sources.py" not in finding]
        equal(len(found), count, f"findings: {found}")
        require(found[0].startswith("Sources/MigrationWire/Part/File.swift:2: "), found[0])


def unsafe_flags_are_found(folder):
    os.makedirs(f"{folder}/Sources")
    for line, numbers in (("  .unsafeFlags([])", [2]), ("  // .unsafeFlags([])", []), ('  "unsafeFlags"', [])):
        with open(f"{folder}/Package.swift", "w", encoding="utf-8") as file:
            file.write(f"let product = [.strictMemorySafety()]\n{line}\n")
        found = [finding for finding in posture_sources.unchecked_modules(folder) if "unsafe flags" in finding]
        equal(found, [f"Package.swift:{number}: unsafe flags; no package could depend on this one" for number in numbers], line)


def marks_in_headers_are_those_of_the_table(folder):
    (place, name), = posture_sources.HEADERS
    listed, safe = f"const char *{name}(void);", '__attribute__((swift_attr("@safe")))'
    os.makedirs(f"{folder}/Sources/{os.path.dirname(place)}")
    os.makedirs(f"{folder}/Sources/CSystem")
    for text, other, count in [
            (f"{safe} {listed}", "", 0),
            (f"// {safe}\n/* {safe} */ {safe} {listed}", f"// {safe} int x(void);", 0),
            (listed, "", 1),
            (f"{safe} {listed}\n{safe} {listed}", "", 1),
            (f"{safe} {listed}\n{safe} int other(void);", "", 1),
            (f"{safe} {listed}", f"{safe} {listed}", 1),
            (f"{safe} {listed}", '__attribute__((swift_attr("unsafe"))) int other(int first, int second);', 1),
            (f"{safe} {listed}", f"struct {safe} other {{ int x; }};", 1),
            (f"{safe} {listed}", f"#define SAFE {safe}", 1),
    ]:
        for path, content in ((place, text), ("CSystem/CSystem.h", other)):
            with open(f"{folder}/Sources/{path}", "w", encoding="utf-8") as file:
                file.write(content + "\n")
        found = posture_sources.header_findings(folder)
        equal(len(found), count, f"{text} {other}: findings: {found}")
    with open(f"{folder}/Sources/CSystem/CSystem.apinotes", "w", encoding="utf-8") as file:
        file.write("---\n")
    equal(len(posture_sources.header_findings(folder)), 2, "findings with notes for the compiler")


def the_modules_here_are_found(_):
    found = posture_sources.modules(ROOT)
    require({"MigrationWire", "MigrationSystem", "peer"} <= set(found), f"modules: {found}")
    return f"{len(found)} modules"


def compiled(folder, *options):
    """The program, built from a source that is in the place of this project's C."""
    source = f"{folder}/Sources/CSystem/program.c"
    os.makedirs(os.path.dirname(source), exist_ok=True)
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run(["gcc", "-w", *HARDENED, *options, source, "-o", f"{folder}/program"], check=True, capture_output=True)
    return f"{folder}/program"


def a_protected_program_passes(folder):
    equal(posture_program.findings(compiled(folder)), [], "findings")
    equal(posture_frames.findings(compiled(folder), folder), [], "findings about frames")


def each_missing_protection_is_found(folder):
    for sentence, options in LACKING.items():
        found = posture_program.findings(compiled(folder, *options))
        require(sentence in found, f"{options}: {found}")
    return f"{len(LACKING)} programs"


def functions_that_do_not_look_at_their_frame_are_found(folder):
    array = "csystem_copy_more has an array, and does not look whether its frame is intact"
    share = "CSystem: 2 of 7 functions look whether their frame is intact, at least 40 of a hundred should"
    swift = "MigrationSystem: 0 of 1 functions look whether their frame is intact, at least 1 of a hundred should"
    for options, expected in ((["-DBARE_C"], [array]), (["-DMANY"], [share]), (["-DBARE_SWIFT"], [swift])):
        # Inlined, the functions would be parts of main.
        found = posture_frames.findings(compiled(folder, "-fno-inline", *options), folder)
        require(expected[0] in found, f"{options}: {found}")
    equal(len(posture_frames.findings(compiled(folder, "-fno-inline", "-fno-stack-protector"), folder)), 4, "findings without any protection")


def a_program_without_names_is_not_judged(folder):
    try:
        found = posture_frames.findings(compiled(folder, "-s"), folder)
    except Skip:
        return
    raise Failure(f"a stripped program has findings, or none: {found}")


def a_program_without_our_c_fails(folder):
    """Its names have changed, or it is another program."""
    with open(f"{folder}/other.c", "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    subprocess.run(["gcc", *HARDENED, f"{folder}/other.c", "-o", f"{folder}/other"], check=True)
    equal(posture_frames.findings(f"{folder}/other", folder), ["it has no function of CSystem"], "findings")


def the_functions_with_arrays_here_are_found(_):
    found = posture_frames.with_arrays(ROOT)
    require({"csystem_receive_datagrams", "csystem_list_attributes_at", "csystem_start"} <= found and len(found) >= 15, sorted(found))
    return f"{len(found)} functions"


if __name__ == "__main__":
    sys.exit(run([
        unsafe_code_is_found, comments_and_texts_are_not_code, lines_keep_their_numbers, a_file_in_the_wrong_module_fails,
        unsafe_flags_are_found, marks_in_headers_are_those_of_the_table, the_modules_here_are_found, a_protected_program_passes, each_missing_protection_is_found,
        functions_that_do_not_look_at_their_frame_are_found, a_program_without_names_is_not_judged, a_program_without_our_c_fails,
        the_functions_with_arrays_here_are_found,
    ], "peer-posture-"))
