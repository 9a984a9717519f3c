# shellcheck shell=bash
# Sourced by Scripts/demo: moves a folder, and compares both.

mkdir "$work/old" "$work/new"
if [ -z "$tree" ]; then
  python3 "$root/Scripts/lib/make-tree" "$work/old/tree"
  tree=$work/old/tree
fi
name=$(basename "$tree")

transfer "$work" new -- "$(dirname "$tree")" -- "$name"

if [ "$(find "$work/new" -mindepth 1 -maxdepth 1 -printf x)" != x ]; then
  fail "The destination does not hold exactly one folder."
fi
python3 "$root/Scripts/lib/check-trees" "$tree" "$work/new/$name" ||
  fail "The two trees differ."
echo "Both trees are equal: names, kinds, contents, modes, times to the nanosecond, and links."
