"""Builds the finder of places, the module with all changes inside, its tests, and the world."""

import os
import re
import shutil
import subprocess

from mutants_source import Source, Sources, write, write_folder
from outside import ROOT, Failure, require

PLACE = f"{ROOT}/.build/mutants"
MODULES = {"Engine": "world", "Transfer": "world", "Wire": "", "Archive": "", "Relay": ""}
"""The modules that can be changed, and the program that judges whole transfers with each."""

CHANGES = [(r"^let isWhole = .*$", "let isWhole = true"), (r" \+ \(isStrict \? \[.treatAllWarnings\(as: .error\)\] : \[\]\)$", "")]
"""The parts of this package's own manifest that differ there."""

MANIFEST = """

var wanted: Set<String> = []
var found = WANTED
while let name = found.popLast() {
  guard wanted.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
  found += target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
}
package.targets.removeAll { !wanted.contains($0.name) }
package.products = []
"""
"""The text that follows this package's own manifest: only what is needed is built."""


def shell(text):
    """The output of commands of the shell that know setup.sh."""
    return subprocess.run(
        ["bash", "-c", f'set -euo pipefail; . "{ROOT}/Scripts/lib/setup.sh"; {text}'],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode(errors="replace")


def own_manifest():
    """This package's manifest for a changed copy: neither the whole project, whose warnings are
    errors, nor the part for authors of apps."""
    with open(f"{ROOT}/Package.swift", encoding="utf-8") as file:
        manifest = file.read()
    for pattern, text in CHANGES:
        manifest, count = re.subn(pattern, text, manifest, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"Package.swift has {count} places of the form {pattern}")
    return manifest


def build_finder():
    """Builds the program that finds places, with the parser of every toolchain; returns its path."""
    sources = [f"{ROOT}/Scripts/lib/mutants_{name}.swift" for name in ("places", "syntax")]
    host = f"{os.path.dirname(os.path.dirname(os.path.realpath(shutil.which('swiftc'))))}/lib/swift/host"
    program = f"{PLACE}/places"
    os.makedirs(PLACE, exist_ok=True)
    said = subprocess.run(
        ["swiftc", "-parse-as-library", "-swift-version", "6", "-Onone", "-I", host, "-L", host, "-lSwiftSyntax", "-lSwiftParser",
         "-lSwiftOperators", "-Xlinker", "-rpath", "-Xlinker", host, "-module-cache-path", f"{PLACE}/modules",
         *sources, "-o", program],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    require(said.returncode == 0, f"the finder of places cannot be built: {said.stdout.decode(errors='replace')[:2000]}")
    return program


class Build:
    """A package with links to this one's sources, except the module's, which is a changed copy."""

    def __init__(self, module):
        self.package = f"{PLACE}/{module}"
        self.wrapped = f"{self.package}/Sources/Transfer/Migration{module}"
        self.source = Sources(f"{ROOT}/Sources/Transfer/Migration{module}", build_finder())
        wanted = [name for name in (f"Migration{module}Tests", MODULES[module]) if name]
        products = f"{PLACE}/build/debug"
        self.tests = f"{products}/peerPackageTests.xctest"
        self.world = f"{products}/{MODULES[module]}" if MODULES[module] else None
        for kind in ("Sources/Transfer", "Sources", "Tests"):
            os.makedirs(f"{self.package}/{kind}", exist_ok=True)
            for name in os.listdir(f"{ROOT}/{kind}"):
                link = f"{self.package}/{kind}/{name}"
                if link != self.wrapped and not os.path.lexists(link):
                    os.symlink(f"{ROOT}/{kind}/{name}", link)
        manifest = MANIFEST.replace("WANTED", str(wanted).replace("'", '"'))
        write(f"{self.package}/Package.swift", (own_manifest() + manifest).encode())

    def make(self, chosen):
        """Builds all, with these changes and without those that do not compile."""
        places = {id(mutant.place) for mutant in chosen}
        for mutant in self.source.mutants:
            mutant.place.is_tried = id(mutant.place) in places
        for _ in range(20):
            write_folder(self.wrapped, self.source.wrapped())
            said = shell(f'package={self.package} debug_scratch={PLACE}/build PEER_WHOLE_MODULES=1 build --build-tests && echo all is built')
            if said.rstrip().endswith("all is built"):
                return
            require(self.source.leave_out(self.wrapped, said), f"the changed module cannot be built:\n{said[-4000:]}")
        raise Failure("the changed module cannot be built")
