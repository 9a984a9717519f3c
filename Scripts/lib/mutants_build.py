"""Builds the finder of places, the engine with all changes inside, its tests, and the simulator."""

import hashlib
import json
import os
import re
import shutil
import subprocess

from mutants_compile import leave_out_least, leave_out_what_fails
from mutants_source import Engine, files_below, find_places, is_engine, write, write_folder
from outside import ROOT, Failure, require, say

PLACE = f"{ROOT}/.build/mutants"
MODULES = {"Engine": ["MigrationWire"], "Wire": [], "Archive": ["MigrationSystem", "MigrationWire"], "Relay": ["MigrationSystem", "MigrationWire"]}
"""The modules that can be changed, with those that they import."""

CHANGES = [(r"^let isWhole = .*$", "let isWhole = true"), (r" \+ \(isStrict \? \[.treatAllWarnings\(as: .error\)\] : \[\]\)$", "")]
"""The parts of this package's own manifest that differ there."""

MANIFEST = """

// Only what is needed: for the engine's tests, or for the simulator.
let isForSimulator = Context.environment["MUTANTS_SIMULATOR"] != nil
for target in package.targets {
  if target.name == "TestSupport", !isForSimulator, "MODULE" == "Engine" {
    // What is pure of it, so that nothing is built that touches the world.
    target.path = "Tests/EngineTestSupport"
    target.dependencies = ["MigrationWire"]
  }
  // Their tables take minutes to optimise, and no time to run.
  if target.name == "MigrationMODULETests" { target.swiftSettings = common + [.unsafeFlags(["-Onone"])] }
}
var wanted: Set<String> = []
var found = [isForSimulator ? "simulate" : "MigrationMODULETests"]
while let name = found.popLast() {
  guard wanted.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
  found += target.dependencies.compactMap { if case .byNameItem(let name, _) = $0 { name } else { nil } }
}
package.targets.removeAll { !wanted.contains($0.name) }
package.products = []
"""
"""The text that follows this package's own manifest."""


def shell(text, *words, **environment):
    """The output of commands of the shell that know setup.sh."""
    return subprocess.run(
        ["bash", "-c", f'set -euo pipefail; . "{ROOT}/Scripts/lib/setup.sh"; {text}', "bash", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        env={**os.environ, **environment}).stdout.decode(errors="replace")


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


def digest_of_files(paths, *words):
    digest = hashlib.sha256("\0".join(words).encode())
    for path in paths:
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def toolchain():
    return os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("swiftc"))))


def build_finder():
    """Builds the program that finds places, with the parser of every toolchain; returns its
    path."""
    sources = [f"{ROOT}/Scripts/lib/mutants_{name}.swift" for name in ("places", "syntax")]
    host = f"{toolchain()}/lib/swift/host"
    program = f"{PLACE}/places-{digest_of_files(sources, f'{host} {os.path.getmtime(host)}')[:12]}"
    if not os.path.exists(program):
        os.makedirs(PLACE, exist_ok=True)
        said = subprocess.run(
            ["swiftc", "-parse-as-library", "-swift-version", "6", "-Onone", "-I", host, "-L", host, "-lSwiftSyntax", "-lSwiftParser",
             "-lSwiftOperators", "-Xlinker", "-rpath", "-Xlinker", host, "-module-cache-path", f"{PLACE}/modules",
             *sources, "-o", program],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        require(said.returncode == 0, f"what finds the places cannot be built: {said.stdout.decode(errors='replace')[:2000]}")
    return program


class Build:
    """A package with the wrapped module, and its builds, for release or debugging."""

    def __init__(self, configuration, module):
        self.configuration, self.module = configuration, module
        self.place = PLACE if module == "Engine" else f"{PLACE}/{module}"
        self.package = f"{self.place}/{configuration}/package"
        self.wrapped = f"{self.package}/Sources/Migration{module}"
        self.products = f"{self.place}/build/{configuration}"

    def prepare(self):
        """A package with links to this one's sources, except the module's."""
        for kind in ("Sources", "Tests"):
            os.makedirs(f"{self.package}/{kind}", exist_ok=True)
            for name in os.listdir(f"{ROOT}/{kind}"):
                link = f"{self.package}/{kind}/{name}"
                if name != f"Migration{self.module}" and not os.path.islink(link):
                    os.symlink(f"{ROOT}/{kind}/{name}", link)
        pure = {}
        for name in files_below(f"{ROOT}/Tests/TestSupport"):
            with open(f"{ROOT}/Tests/TestSupport/{name}", "rb") as file:
                pure[name] = file.read()
        needs = re.compile(rb"^(package |public )?import (?!MigrationWire\b|Synchronization\b|Foundation\b)", re.M)
        write_folder(f"{self.package}/Tests/EngineTestSupport", {name: text for name, text in pure.items() if not needs.search(text)})
        write(f"{self.package}/Package.swift", (own_manifest() + MANIFEST.replace("MODULE", self.module)).encode())

    def run(self, *words, is_whole=False):
        """The output, and whether the command succeeded."""
        said = shell(
            f'package="{self.package}"; build_mutants "{self.place}/build" -c {self.configuration} "$@" && echo all is built', *words,
            **({"MUTANTS_SIMULATOR": "1"} if is_whole else {}))
        return said, said.rstrip().endswith("all is built")

    def typecheck(self, engine):
        """The compiler's messages about the wrapped engine."""
        engine.write(self.wrapped)
        with open(f"{self.package}/Package.swift", encoding="utf-8") as file:
            features = re.findall(r'enableUpcomingFeature\("(\w+)"\)', file.read())
        options = [word for name in features for word in ("-enable-upcoming-feature", name)]
        maps = f"{self.products}/CSystem.build/module.modulemap"
        if os.path.exists(maps):
            options += ["-Xcc", f"-fmodule-map-file={maps}"]
        names = [f"{self.wrapped}/{name}" for name in [*engine.sources, "Mutant.swift"]]
        # With whole modules, so that the compiler reports all errors at once.
        return subprocess.run(
            ["swiftc", "-typecheck", "-wmo", "-swift-version", "6", "-module-name", f"Migration{self.module}",
             "-package-name", os.path.basename(self.package), "-I", f"{self.products}/Modules", *options, *names],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode(errors="replace")

    def tests(self, engine, digest):
        """Builds the tests of the wrapped engine, without changes that do not compile; returns the
        program."""
        notes = f"{self.place}/left-out-{self.configuration}.json"
        try:
            with open(notes, encoding="utf-8") as file:
                known = json.load(file)
        except (FileNotFoundError, ValueError):
            known = {}
        if known.get("digest") == digest:
            left_out = set(known["left_out"])
            for mutant in engine.mutants:
                mutant.place.is_tried = mutant.place.number not in left_out
        else:
            engine.write(self.wrapped)
            for imported in MODULES[self.module]:
                said, is_good = self.run("--target", imported)
                require(is_good, said[-4000:])
            leave_out_least(engine, self.wrapped, lambda: self.typecheck(engine))
        for _ in range(10):
            engine.write(self.wrapped)
            said, is_good = self.run("--build-tests")
            if is_good:
                with open(notes, "w", encoding="utf-8") as file:
                    left_out = sorted({mutant.place.number for mutant in engine.mutants if not mutant.place.is_tried})
                    json.dump({"digest": digest, "left_out": left_out}, file)
                return f"{self.products}/peerPackageTests.xctest"
            require(leave_out_what_fails(engine, self.wrapped, said), f"the tests of the changed engine cannot be built:\n{said[-4000:]}")
        raise Failure("the wrapped engine cannot be built")

    def simulator(self):
        say("mutants: building the simulator")
        said, is_good = self.run("--product", "simulate", is_whole=True)
        require(is_good, f"the simulator of the changed engine cannot be built:\n{said[-4000:]}")
        return f"{self.products}/simulate"


def find_engine(module):
    program = build_finder()
    engine_folder = f"{ROOT}/Sources/Migration{module}"
    names = files_below(engine_folder)
    found = find_places(program, engine_folder, [name for name in names if is_engine(name)])
    return Engine(engine_folder, {name: found.get(name, []) for name in names})


def digest_of(engine):
    """A digest that changes with the tried changes, and with the ways of wrapping and omitting
    them."""
    tools = ("mutants_build.py", "mutants_compile.py", "mutants_source.py", "mutants_places.swift", "mutants_syntax.swift")
    words = [repr([mutant.number for mutant in engine.tried()])]
    words += [f"{name}\0{source.text.decode()}" for name, source in engine.sources.items()]
    return digest_of_files([f"{ROOT}/Scripts/lib/{name}" for name in tools], *words)
