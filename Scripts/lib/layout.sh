# shellcheck shell=bash
# Sourced by Scripts/install and Scripts/package, after setup.sh: the installed files and their
# places, for any prefix.
#
#   is_clone               whether the project is a git clone, and not an unpacked archive
#   changed_files          prints the differences from the last commit, in a clone
#   find_release           sets $peer and $version: the release, built unless PEER_BINARY names one
#   lay_out STAGE PREFIX   puts all files for PREFIX into the folder STAGE; STAGE/bin/peer becomes
#                          PREFIX/bin/peer

# The subjects that have a manual page of their own, beside peer(1).
manual_pages=(send receive relay app)

# The folder of zsh below a prefix; Debian's packages use another.
zsh_functions=share/zsh/site-functions

find_release() {
  peer=${PEER_BINARY:-}
  if [ -z "$peer" ]; then
    say "Building peer, which takes some minutes the first time ..."
    build_release --product peer >&2
    peer=$(built peer)
  fi
  version=$("$peer" --version | sed -n 's/^peer \([0-9][0-9.]*\)$/\1/p') || true
  [ -n "$version" ] || fail "$peer does not say its version."
}

lay_out() {
  local stage=$1 prefix=$2 old_umask
  old_umask=$(umask)
  umask 022
  lay_out_program "$stage"
  lay_out_package "$stage/share/peer/package"
  copy Sources/Computer/MigrationApps/Descriptions "$stage/share/peer/known-apps"
  copy Sources/Computer/MigrationPage/Page "$stage/share/peer/page"
  copy Scripts/lib/peer.desktop "$stage/share/applications/peer.desktop"
  name_program "$stage/share/applications/peer.desktop" "$prefix/bin/peer"
  copy Sources/Computer/MigrationPage/Page/icon.svg "$stage/share/icons/hicolor/scalable/apps/peer.svg"
  lay_out_documents "$stage/share/doc/peer" "$prefix"
  umask "$old_umask"
}

# Writes the program's path into a menu's entry, in the quotes of desktop entries: a desktop may have
# another PATH than a shell.
name_program() {
  local entry=$1 path=$2 text
  text=$(cat "$entry" && printf .)
  path=${path//\\/\\\\\\\\}
  path=${path//\"/\\\\\"}
  path=${path//\`/\\\\\`}
  path=${path//\$/\\\\\$}
  path=${path//%/%%}
  text=${text//Exec=peer /"Exec=\"$path\" "}
  printf %s "${text%.}" >"$entry"
}

# The program and its own output: its manual and the completions.
lay_out_program() {
  local stage=$1 page
  mkdir -p "$stage/bin"
  strip_program "$peer" "$stage/bin/peer"
  printed "$stage/share/man/man1/peer.1" help --man
  for page in "${manual_pages[@]}"; do printed "$stage/share/man/man1/peer-$page.1" help --man "$page"; done
  gzip -9n "$stage"/share/man/man1/*
  printed "$stage/share/bash-completion/completions/peer" completion bash
  printed "$stage/$zsh_functions/_peer" completion zsh
  printed "$stage/share/fish/vendor_completions.d/peer.fish" completion fish
}

# A program without debug information, and without data that depends on its build folder: the
# digests of its parts, which tell the compiler what to compile again and are never read when it
# runs.
strip_program() {
  local source=$1 target=$2 digests=.swift_modhash part sections
  strip --strip-all --remove-section=.comment -o "$target" "$source"
  # Not a pipe: a grep that has found it ends before readelf does, and that counts as a failure.
  sections=$(readelf --section-headers --wide "$target")
  if [[ $sections == *" $digests "* ]]; then
    part=$target.part
    objcopy --dump-section "$digests=$part" "$target" "$part.whole"
    head -c "$(stat -c %s "$part")" /dev/zero >"$part.zero"
    objcopy --update-section "$digests=$part.zero" "$target"
    rm "$part" "$part.whole" "$part.zero"
  fi
  chmod 755 "$target"
}

# printed FILE ARGUMENT...: the program's output, as a file.
printed() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  if ! "$peer" "$@" >"$file" </dev/null || [ ! -s "$file" ]; then
    fail "$peer does not print what is to be installed: peer $*" \
      "It is of another version than these scripts: let it be built again, without PEER_BINARY."
  fi
}

# The package with which an author of an app builds it: this project's manifest, and the sources of
# the targets that it then names. Without the rest, the manifest only describes AppMigrationKit,
# Security and AuthenticationServices.
lay_out_package() {
  local package=$1 target
  mkdir -p "$package"
  cp "$root/Package.swift" "$package/"
  local targets
  # Temporary files of swift are removed too.
  mkdir -p "$package.scratch/tmp"
  targets=$(cd "$package" && TMPDIR=$package.scratch/tmp swift package --scratch-path "$package.scratch" dump-package |
    python3 -c 'import json, sys; print("\n".join(target["path"] for target in json.load(sys.stdin)["targets"]))')
  rm -rf "$package.scratch"
  for target in $targets; do copy "$target" "$package/$target"; done
  # What 'peer app new' copies.
  copy Examples/NewApp "$package/Examples/NewApp"
}

# The documents and the examples; their links lead to the installed places, or are removed if the
# target is not installed.
lay_out_documents() {
  local documents=$1 prefix=$2 name
  mkdir -p "$documents"
  for name in README CHANGELOG CONTRIBUTING SECURITY Protocol; do copy "$name.md" "$documents/$name.md"; done
  copy LICENSE "$documents/LICENSE"
  copy docs "$documents/docs"
  copy Examples/peer-receive.service "$documents/examples/peer-receive.service"
  copy Examples/peer-relay.service "$documents/examples/peer-relay.service"
  copy Examples/peer-receive-system.service "$documents/examples/peer-receive-system.service"
  copy Examples/Notes "$documents/examples/Notes"
  copy Examples/Carry "$documents/examples/Carry"
  python3 "$root/Scripts/lib/documents.py" links "$documents" Examples/=examples/ Sources/= Scripts/= Tests/=
  python3 "$root/Scripts/lib/documents.py" package "$documents/examples/Notes/Package.swift" "$prefix/share/peer/package"
  # The requirements of this example are not installed: it is to be copied beside a clone of the
  # whole project.
  python3 "$root/Scripts/lib/documents.py" package "$documents/examples/Carry/Package.swift" ../peer
}

# copy PATH TARGET: a file of the project, or a folder with only the files that git knows.
copy() {
  local source=$1 target=$2 path mode
  while IFS= read -r -d '' path; do
    [ -f "$root/$path" ] || continue
    mode=644
    if [ -x "$root/$path" ]; then mode=755; fi
    install -D -m "$mode" "$root/$path" "$target${path#"$source"}"
  done < <(project_files "$source")
  [ -e "$target" ] || fail "$source is missing in $root."
}

# git in the project, even if it belongs to another user: its scripts run here already.
project_git() { git -c safe.directory="$root" -C "$root" "$@"; }

is_clone() { [ "$(project_git rev-parse --show-toplevel 2>/dev/null || true)" = "$(realpath "$root")" ]; }

# The differences of this tree from the last commit, one a line. Files that are not in git are not
# installed: of those, only sources matter, because the compiler finds them.
changed_files() {
  is_clone || return 0
  project_git diff --name-only HEAD
  project_git ls-files --others --exclude-standard -- Sources
}

project_files() {
  if is_clone; then
    project_git ls-files -z --cached -- "$1"
  else
    (cd "$root" && find "$1" -name .build -prune -o -type f -print0)
  fi
}
