"""The functions of a built program that look whether their frame is intact before they return."""

import glob
import re
import subprocess

from outside import Skip, require

PARTS = {"CSystem": "csystem_", "MigrationSystem": "$s15MigrationSystem", "MigrationTLS": "$s12MigrationTLS"}
"""This project's C, and its Swift modules that lend memory to C: the beginning of their functions'
names."""

LEAST = {"CSystem": 0.4, "MigrationSystem": 0.01, "MigrationTLS": 0.01}
"""The least share of guarded functions. The compilers guard a function that has an array, or gives
the address of a variable away: 36 of CSystem's 73, 66 of MigrationSystem's 1,738, and 11 of
MigrationTLS's 386. Without the protection there are none, and with a weaker one a few of C."""

HEADING = re.compile(r"[0-9a-f]+ <([^>]+)>:$")
"""The line of objdump above a function."""

DEFINITION = re.compile(r"^\w[\w *]*?(\w+)\([^;{}]*\) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)

ARRAY = re.compile(r"^ +(?!return\b|static\b)(?:(?:const|unsigned|struct|union) )*\w+ \*?\w+\[[^\]]*\](?: =|;|,)", re.MULTILINE)
"""A variable of a function that is an array."""


def with_arrays(root):
    """The functions of this project's C that have an array in their frame."""
    found = set()
    for path in sorted(glob.glob(f"{root}/Sources/C*/*.c")):
        with open(path, encoding="utf-8") as file:
            found |= {match[1] for match in DEFINITION.finditer(file.read()) if ARRAY.search(match[2])}
    return found


def guarded(program):
    """Whether each function of a program looks whether its frame is intact."""
    found, function = {}, None
    run = subprocess.Popen(["objdump", "--disassemble", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True)
    with run:
        for line in run.stdout:
            heading = HEADING.match(line)
            if heading:
                function = heading[1]
                found.setdefault(function, False)
            elif "<__stack_chk_fail" in line and function:
                found[function] = True
    require(run.returncode == 0, f"objdump cannot read {program}")
    return found


def is_stripped(program):
    run = subprocess.run(["readelf", "--wide", "--sections", program], capture_output=True, text=True, check=True)
    return ".symtab" not in run.stdout


def findings(program, root):
    """A sentence for each part of which too few functions look, and for each function of C that has
    an array and does not."""
    if is_stripped(program):
        raise Skip("the names of its functions are stripped")
    found, sentences = guarded(program), []
    for part, beginning in PARTS.items():
        own = [function for function in found if function.startswith(beginning)]
        count = sum(found[function] for function in own)
        if own and count < LEAST[part] * len(own):
            sentences.append(f"{part}: {count} of {len(own)} functions look whether their frame is intact, at least {100 * LEAST[part]:g} of a hundred should")
    if not any(function.startswith(PARTS["CSystem"]) for function in found):
        sentences.append("it has no function of CSystem")
    # The compiler puts some into their callers.
    for function in sorted(with_arrays(root) & found.keys()):
        if not found[function]:
            sentences.append(f"{function} has an array, and does not look whether its frame is intact")
    return sentences
