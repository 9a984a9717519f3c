# shellcheck shell=bash
# Sourced by the scripts beside it: what they need on a fresh Debian or Ubuntu machine, and a build that ends.
#
#   set_up       finds a Swift toolchain, installs libssl-dev, openssl and python3 where they are missing
#   build ...    swift build, bounded in time, started again where the driver hangs
#   run_tests .. swift test, bounded likewise
# Both are for the package at $package, or for this one.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# How long one build, and one run of the tests, may take, in seconds.
build_seconds=${PEER_BUILD_SECONDS:-900}
test_seconds=${PEER_TEST_SECONDS:-600}

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "error: $1"
  shift
  local line
  for line in "$@"; do say "hint: $line"; done
  exit 1
}

# Whether a swift command is of version 6.2 or later.
swift_is_recent() {
  local version major minor
  version=$("$1" --version 2>/dev/null </dev/null | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
  [ -n "$version" ] || return 1
  read -r major minor <<<"$version"
  [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 2 ]; }
}

# Puts a recent toolchain first in PATH: the one that is there already, or one at a usual place.
find_swift() {
  local found candidate
  found=$(command -v swift || true)
  for candidate in "$found" "${SWIFTLY_BIN_DIR:-}/swift" "${HOME:-/root}"/.local/share/swiftly/bin/swift \
    "${HOME:-/root}"/.swiftly/bin/swift /opt/swift*/usr/bin/swift /usr/local/swift*/usr/bin/swift \
    /usr/share/swift*/usr/bin/swift /usr/libexec/swift*/bin/swift; do
    if [ -n "$candidate" ] && [ -x "$candidate" ] && swift_is_recent "$candidate"; then
      PATH="$(dirname "$candidate"):$PATH"
      export PATH
      return
    fi
  done
  if [ -n "$found" ]; then
    fail "The Swift toolchain here is older than 6.2." "A newer one: https://www.swift.org/install/linux/"
  fi
  fail "No Swift toolchain was found; 6.2 or later is needed." "How to get one: https://www.swift.org/install/linux/"
}

# Whether a Debian package is there; elsewhere, whether one of the files it would bring is.
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

install_packages() {
  command -v apt-get >/dev/null ||
    fail "Missing here: $*." "Install what corresponds to these Debian packages, then run this again."
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "Missing here: $*." "As root: apt-get install $*"
    as_root=(sudo)
  fi
  say "Installing with apt-get, since it is missing here: $*"
  "${as_root[@]}" timeout 300 apt-get update -qq >&2 </dev/null || say "apt-get update failed; going on with the lists that are there."
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y -qq --no-install-recommends "$@" >&2 </dev/null ||
    fail "apt-get could not install: $*." "Install them by hand, then run this again."
}

set_up() {
  local missing=()
  is_installed libssl-dev /usr/include/openssl/ssl.h || missing+=(libssl-dev)
  command -v openssl >/dev/null || missing+=(openssl)
  command -v python3 >/dev/null || missing+=(python3)
  find_swift
  if [ "${#missing[@]}" -gt 0 ]; then install_packages "${missing[@]}"; fi
}

# A command with a time bound, ended and started again where the Swift driver hangs.
bounded() {
  local seconds=$1
  shift
  local code=0
  python3 "$root/Scripts/lib/bounded" --seconds "$seconds" --attempts 3 -- "$@" || code=$?
  return "$code"
}

build() { bounded "$build_seconds" swift build --package-path "${package:-$root}" "$@"; }

# The tests, built before.
run_tests() { bounded "$test_seconds" swift test --package-path "${package:-$root}" --skip-build "$@"; }
