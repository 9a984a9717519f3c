# shellcheck shell=bash
# Sourced by the scripts beside it: their requirements on a fresh Debian or Ubuntu machine, and
# builds with time bounds.
#
#   usage            prints the comment at the top of the script that was started
#   set_up           finds a Swift toolchain that starts, and installs its and the build's missing parts
#   set_up_pytest    the same for the checks with pytest
#   set_up_leaks     the same for finding leaks; the library that finds them is then $leak_checker
#   set_up_for ...   the same for checks of disks, networks, interop, arm, shells, packaging, as far as
#                    possible
#   need ...         notes a missing Debian package; install_missing installs the noted packages
#   build ...        swift build, for debugging, bounded in time, started again if the driver hangs
#   build_release .. the same of a release with the Swift runtime inside; it needs no toolchain
#   build_program .. the same of a program by its name, of the examples' packages as well
#   build_fuzz       builds the fuzzing programs with libFuzzer, in .build/fuzz/build/release
#   built NAME       where build_release leaves a program
#   run_tests NAME   runs the tests of a package
#
# All builds of one kind share one scratch path, for any package, so that nothing is compiled twice:
# those of $package, or of this package.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
debug_scratch=$root/.build
release_scratch=$root/.build/release-static

# How long one build may take, in seconds.
build_seconds=${PEER_BUILD_SECONDS:-1800}

say() { printf '%s\n' "$*" >&2; }

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; }

fail() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "hint: $line"; done
  exit 1
}

# Debian packages

missing=()

# Whether a Debian package is installed; on other systems, whether one of the files it would bring
# exists.
is_installed() {
  local package=$1
  shift
  if command -v dpkg-query >/dev/null; then
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] && return
  fi
  local path
  for path in "$@"; do
    if [ -e "$path" ]; then return; fi
  done
  return 1
}

# need PACKAGE COMMAND, or need PACKAGE FILE...: notes the package if neither it nor the command or
# file is there.
need() {
  case $2 in
  /*) is_installed "$@" || missing+=("$1") ;;
  *) command -v "$2" >/dev/null || missing+=("$1") ;;
  esac
}

install_missing() {
  if [ "${#missing[@]}" -gt 0 ]; then install_packages "${missing[@]}"; fi
  missing=()
}

install_packages() {
  command -v apt-get >/dev/null ||
    fail "Missing here: $*." "Install what corresponds to these Debian packages, then run this again."
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "Missing here: $*." "As root: apt-get install $*"
    as_root=(sudo)
  fi
  say "Installing with apt-get, since it is missing here: $*"
  local log
  log=$(mktemp "${TMPDIR:-/tmp}/peer-apt.XXXXXX")
  "${as_root[@]}" timeout 300 apt-get update -qq >"$log" 2>&1 </dev/null || say "apt-get update failed; going on with the lists that are there."
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive timeout 900 \
    apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: $*." "Install them by hand, then run this again."
  fi
  rm -f "$log"
}

# The toolchain

# The shared libraries that a toolchain's programs need and do not find, one a line.
missing_libraries() {
  local programs
  programs=$(dirname "$(readlink -f "$1")")
  local program
  for program in swift-frontend swift-driver swift-package clang ld.lld; do
    if [ -x "$programs/$program" ]; then ldd "$programs/$program" 2>/dev/null || true; fi
  done | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u
}

# The Debian package of a shared library to which toolchains are linked.
package_of() {
  case $1 in
  libncurses.so.6 | libform.so.6 | libpanel.so.6) echo libncurses6 ;;
  libtinfo.so.6) echo libtinfo6 ;;
  libcurl.so.4) echo libcurl4 ;;
  libxml2.so.2) echo libxml2 ;;
  libedit.so.2) echo libedit2 ;;
  libsqlite3.so.0) echo libsqlite3-0 ;;
  libuuid.so.1) echo libuuid1 ;;
  libz.so.1) echo zlib1g ;;
  libzstd.so.1) echo libzstd1 ;;
  libstdc++.so.6) echo libstdc++6 ;;
  libgcc_s.so.1) echo libgcc-s1 ;;
  esac
}

# Installs the shared libraries without which a toolchain cannot start; fails if their package is
# unknown.
install_libraries() {
  local library package unknown=()
  for library in $(missing_libraries "$1"); do
    package=$(package_of "$library")
    if [ -n "$package" ]; then missing+=("$package"); else unknown+=("$library"); fi
  done
  if [ "${#unknown[@]}" -gt 0 ]; then
    fail "The Swift toolchain in $(dirname "$1") cannot start: ${unknown[*]} is missing here." \
      "Install what brings it, or take the toolchain made for this system: https://www.swift.org/install/linux/"
  fi
  install_missing
}

# The version that a swift command reports: "6 3"; empty if it cannot start.
version_of() {
  { "$1" --version 2>/dev/null </dev/null || true; } | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1
}

# Whether a version, such as "6 3", is 6.2 or later.
is_recent() {
  local major=${1% *} minor=${1#* }
  [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 2 ]; }
}

# Puts a recent toolchain first in PATH: the present one, or one at a usual place.
find_swift() {
  local candidate version old='' broken=''
  for candidate in "$(command -v swift || true)" "${SWIFTLY_BIN_DIR:-}/swift" \
    "${HOME:-/root}"/.local/share/swiftly/bin/swift "${HOME:-/root}"/.swiftly/bin/swift /opt/swift*/usr/bin/swift \
    /usr/local/swift*/usr/bin/swift /usr/share/swift*/usr/bin/swift /usr/libexec/swift*/bin/swift; do
    if [ -z "$candidate" ] || [ ! -x "$candidate" ]; then continue; fi
    version=$(version_of "$candidate")
    if [ -z "$version" ] && [ -n "$(missing_libraries "$candidate")" ]; then
      install_libraries "$candidate"
      version=$(version_of "$candidate")
    fi
    if [ -z "$version" ]; then
      broken=$candidate
    elif is_recent "$version"; then
      PATH="$(dirname "$candidate"):$PATH"
      export PATH
      # A toolchain that starts may still be unable to build.
      if [ -n "$(missing_libraries "$candidate")" ]; then install_libraries "$candidate"; fi
      return
    else
      old="$candidate (${version/ /.})"
    fi
  done
  if [ -n "$broken" ]; then
    fail "The Swift toolchain in $(dirname "$broken") does not start: $("$broken" --version 2>&1 </dev/null | tail -n 1)" \
      "The toolchain must be made for this system: https://www.swift.org/install/linux/"
  fi
  if [ -n "$old" ]; then
    fail "The Swift toolchain here is older than 6.2: $old." "A newer one: https://www.swift.org/install/linux/"
  fi
  fail "No Swift toolchain was found; 6.2 or later is needed." "How to get one: https://www.swift.org/install/linux/"
}

set_up() {
  find_swift
  # The compiler takes headers and start-up files of the C library and of gcc's C++ from the system.
  need g++ /usr/include/c++
  need libc6-dev /usr/include/stdio.h
  need git git
  need libssl-dev /usr/include/openssl/ssl.h
  need python3 python3
  install_missing
}

# Prints the first interpreter that has pytest, and the modules named.
find_pytest() {
  local found
  for found in "$(command -v python3 || true)" /usr/bin/python3; do
    if [ -x "$found" ] && "$found" -c "import pytest${1:+, $1}" 2>/dev/null; then
      printf '%s\n' "$found"
      return
    fi
  done
  return 1
}

# The requirements of the acceptance tests, with workers if the word is xdist; its interpreter is
# then $python.
set_up_pytest() {
  find_pytest "$@" >/dev/null || missing+=(python3 python3-pytest ${1:+"python3-pytest-$1"})
  install_missing
  python=$(find_pytest "$@") || fail "There is no python3 with pytest${1:+ and $1}." "In a virtual environment: pip install pytest${1:+ pytest-$1}"
}

# The library that looks for leaks in any program that loads it first.
set_up_leaks() {
  leak_checker=/usr/lib/$(uname -m)-linux-gnu/liblsan.so.0
  need liblsan0 "$leak_checker"
  install_missing
}

# set_up_for PART...: as root, installs what checks of these parts need; without root, only what is
# there is used, and the rest is skipped.
set_up_for() {
  local part
  if [ "$(id -u)" -ne 0 ]; then return; fi
  for part in "$@"; do
    if ! ("need_$part"; install_missing); then say "Without these, checks of $part are skipped."; fi
  done
}

# Networks in namespaces, and another speaker of multicast DNS for them.
need_networks() {
  need iproute2 ip
  need util-linux nsenter
  need dbus-daemon dbus-daemon
  need avahi-daemon avahi-daemon
  need avahi-utils avahi-browse
  need dconf-cli dconf
  need nftables nft
  need chromium-driver chromedriver
  need firefox-esr firefox-esr
}

# The Python packages that the second implementation (Tests/Interop) imports.
need_interop() {
  need python3-openssl /usr/lib/python3/dist-packages/OpenSSL
  need python3-cryptography /usr/lib/python3/dist-packages/cryptography
  need python3-zstandard /usr/lib/python3/dist-packages/zstandard
}

# The compiler and the emulator for 64-bit ARM.
need_arm() {
  need gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
  need libc6-dev-arm64-cross /usr/aarch64-linux-gnu/lib/libc.a
  need qemu-user qemu-aarch64
}

# The shells with completions, and the tools that show manual pages.
need_shells() {
  need man-db man
  need groff-base groff
  need mandoc mandoc
  need zsh zsh
  need fish fish
  need bash-completion /usr/share/bash-completion/bash_completion
}

# Real file systems.
need_disks() {
  need xfsprogs /usr/sbin/mkfs.xfs
  need btrfs-progs /usr/sbin/mkfs.btrfs
  need ntfs-3g /usr/bin/lowntfs-3g
  need exfat-fuse /usr/sbin/mount.exfat-fuse
  need exfatprogs /usr/sbin/mkfs.exfat
  need bindfs bindfs
  need sshfs sshfs
  need openssh-sftp-server /usr/lib/openssh/sftp-server
}

# The tools that make Debian packages, and those that check and sign releases.
need_packaging() {
  need dpkg-dev dpkg-shlibdeps
  need lintian lintian
  need minisign minisign
}

# Builds

# A command with a time bound, ended and started again if the Swift driver hangs.
bounded() {
  local seconds=$1
  shift
  local code=0
  python3 "$root/Scripts/lib/bounded" --seconds "$seconds" --attempts 3 -- "$@" || code=$?
  return "$code"
}

# Each module in one go, each of its files in an object of its own, as SwiftPM expects.
whole_modules=(-Xswiftc -wmo -Xswiftc -disable-batch-mode -Xswiftc -num-threads -Xswiftc 2)

# Debian's toolchain lacks the library that others link into each test of Testing and Foundation.
without_overlays=(-Xswiftc -Xfrontend -Xswiftc -disable-cross-import-overlays)

# Packages share a scratch path: with a cached manifest, swift build may take the one of the package
# before, and build nothing. An index, a fifth of the time, would serve only the search for tests of
# XCTest, which an XCTMain.swift makes needless; a package with an index would compile each module
# again. Debug information beyond the lines would serve only a debugger. With
# PEER_WHOLE_MODULES a build from nothing takes a third less: it has no lines, and each later change
# compiles whole modules again.
build() {
  local words=(-Xswiftc -gline-tables-only)
  if [ -n "${PEER_WHOLE_MODULES:-}" ]; then words=("${whole_modules[@]}" -Xswiftc -gnone); fi
  bounded "$build_seconds" swift build --package-path "${package:-$root}" --scratch-path "$debug_scratch" \
    --disable-build-manifest-caching --disable-index-store "${words[@]}" "${without_overlays[@]}" "$@"
}

# Without debug information, which would be most of a program; the names of its functions stay, for
# profiles. Without a build ID too, which would differ in another folder. Scripts/posture checks the
# protections: the data that the loader relocates is read-only afterwards, no library is looked for
# beside the program, and C checks its frames and the sizes of the memory that it fills. All but the
# last are not in Package.swift, which would keep other packages from depending on this one.
build_release() {
  local words=() flag
  for flag in --build-id=none -z relro -z now -z noexecstack; do words+=(-Xlinker "$flag"); done
  for flag in -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero; do
    words+=(-Xcc "$flag")
  done
  bounded "$build_seconds" swift build --package-path "${package:-$root}" --scratch-path "$release_scratch" \
    --disable-build-manifest-caching -c release --static-swift-stdlib --disable-local-rpath -Xswiftc -gnone "${words[@]}" "$@"
}

# A release of a program that checks run from outside, of any package.
build_program() {
  case $1 in
  carry) package=$root/Examples/Carry build_release --product carry ;;
  *) build_release --product "$1" ;;
  esac
}

# The programs of Lab/fuzz: every module counts the branches that it takes, for libFuzzer. The
# option for this goes to the compiler alone, and the linker gets the library: the driver would add
# libFuzzer's main function to the programs' own.
build_fuzz() {
  local library
  # libFuzzer without a main function.
  library=$(runtime_library fuzzer_no_main)
  PEER_FUZZ=libFuzzer PEER_TARGETS="fuzz fuzz-wire" \
    bounded "$build_seconds" swift build --package-path "$root" --scratch-path "$root/.build/fuzz/build" -c release \
    -Xswiftc -enable-testing -Xswiftc -gnone -Xswiftc -DLIBFUZZER -Xswiftc -sanitize=address \
    -Xswiftc -Xfrontend -Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=fuzzer-no-link,address \
    -Xlinker "$library" -Xlinker -lstdc++
}

# One of the compiler's runtime libraries, such as a sanitizer's, by its name.
runtime_library() {
  local resources library
  resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
  library=$resources/clang/lib/linux/libclang_rt.$1-$(uname -m).a
  [ -f "$library" ] || fail "This Swift toolchain has no $1: there is no $library." "Take the one that .swift-version names."
  printf '%s\n' "$library"
}

built() { printf '%s/release/%s\n' "$release_scratch" "$1"; }

# Runs the built tests of a package, by its name; their events are also written to the file in
# PEER_TEST_EVENTS, and the library in PEER_TEST_PRELOAD is loaded first, if these are set.
run_tests() {
  local name=$1
  shift
  bounded "$build_seconds" ${PEER_TEST_PRELOAD:+env LD_PRELOAD="$PEER_TEST_PRELOAD"} \
    "$debug_scratch/debug/${name}PackageTests.xctest" --testing-library swift-testing \
    ${PEER_TEST_EVENTS:+--event-stream-output-path "$PEER_TEST_EVENTS"} "$@"
}

# Runs the stages of Scripts/test or Scripts/check.
run_stages() {
  local word
  for word in "$@"; do
    if [ "$word" = -h ] || [ "$word" = --help ]; then usage; return; fi
  done
  set_up
  # Here, so that the messages of the installation appear at once and not in a log.
  if [ "$1" = test ]; then
    set_up_pytest
  else
    set_up_pytest xdist
    set_up_leaks
    set_up_for disks networks interop arm shells packaging
  fi
  exec python3 "$root/Scripts/lib/stages.py" "$@"
}
