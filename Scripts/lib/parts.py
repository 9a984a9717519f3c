"""Prints the list of a release's parts, in the format SPDX 2.3.

Usage: parts.py NAME VERSION DATE SWIFT FILE...
  NAME     of the release, such as peer-1.0.0-linux-x86_64
  DATE     of the release, such as 2026-11-28T00:00:00Z
  SWIFT    the version of the runtime inside
  FILE     what the release consists of; the list has their digests
Standard input is what `readelf --dynamic` prints about the program.
"""

import hashlib
import json
import os
import re
import sys

LIBRARIES = {
    "libssl.so.3": ("OpenSSL", "Apache-2.0"), "libcrypto.so.3": ("OpenSSL", "Apache-2.0"),
    "libc.so.6": ("glibc", "LGPL-2.1-or-later"), "libm.so.6": ("glibc", "LGPL-2.1-or-later"),
    "ld-linux-x86-64.so.2": ("glibc", "LGPL-2.1-or-later"), "ld-linux-aarch64.so.1": ("glibc", "LGPL-2.1-or-later"),
    "libstdc++.so.6": ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1"),
    "libgcc_s.so.1": ("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1"),
}
"""The libraries of the system to which a program may be linked."""


def package(name, version, licence, **others):
    identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name)
    return {
        "SPDXID": identifier, "name": name, **({"versionInfo": version} if version else {}), "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **others}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main(name, version, date, swift, *files):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", sys.stdin.read())
    unknown = [library for library in needed if library not in LIBRARIES]
    if unknown or not needed or not swift:
        sys.exit(f"error: the parts of the program are not known: {', '.join(unknown) or 'neither libraries nor runtime'}")
    peer = package("peer", version, "Apache-2.0", supplier="NOASSERTION", primaryPackagePurpose="APPLICATION")
    runtime = package("Swift runtime", swift, "Apache-2.0 WITH Swift-exception", comment="The standard library, FoundationEssentials and libdispatch.")
    system = [package(*part) for part in sorted({(LIBRARIES[one][0], None, LIBRARIES[one][1]) for one in needed})]
    zstd = package("libzstd", None, "BSD-3-Clause", comment="Looked for when the program runs; without it nothing is compressed.")
    released = [
        package(os.path.basename(path), version, "Apache-2.0", packageFileName=os.path.basename(path),
                checksums=[{"algorithm": "SHA256", "checksumValue": digest(path)}]) for path in files]

    def related(one, kind, other):
        return {"spdxElementId": one["SPDXID"], "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]}

    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        # A name that no other list has: it follows from what the list is about.
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest(files[0])[:32]}",
        "creationInfo": {"created": date, "creators": ["Tool: peer-package"]},
        "packages": [peer, runtime, *system, zstd, *released],
        "relationships": [
            *({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": one["SPDXID"]} for one in released),
            *(related(one, "CONTAINS", peer) for one in released),
            related(peer, "STATIC_LINK", runtime), *(related(peer, "DYNAMIC_LINK", one) for one in system),
            related(zstd, "OPTIONAL_DEPENDENCY_OF", peer)],
    }, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
