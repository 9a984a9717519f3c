# shellcheck shell=bash
# Sourced by Scripts/demo: moves an app's data from one device to a newer edition of the app on
# another, and compares the two.

app=org.example.notes
data=containers/$app
group=groups/group.$app

# The app's output on a device.
list_of() { PEER_HOME="$work/homes/$1" timeout 60 "$peer" app run "$app" list </dev/null; }

# Fails unless a file or a directory is the same on both devices.
same() { diff -r "$work/homes/sender/$1" "$work/homes/receiver/$1" >&2 || fail "$2 differ."; }

say "Building the example app ..."
"$root/Examples/Notes/bundle" --edition 1 "$work/Notes-1"
"$root/Examples/Notes/bundle" --edition 2 "$work/Notes-2"
on sender app install Notes-1
on receiver app install Notes-2

head -c 3000000 /dev/urandom >"$work/view from the hill.jpg"
on sender app run "$app" add "buy milk #shopping"
on sender app run "$app" add "ask Robin for the 100% rye bread"
on sender app run "$app" attach "view from the hill.jpg"
on sender app run "$app" draft "Dear all,"
on sender app run "$app" set sort newest
on sender app run "$app" set signature "Kim"
on sender app run "$app" list
list_of sender >"$work/old.list"

transfer "$work" --app "$app" -- "$work" --app "$app"

on receiver app status "$app"
on receiver app run "$app" list
grep -q '^Welcome back!' "$work/receiver.log" || fail "At its first launch, the app did not learn that its data has come."
list_of receiver >"$work/new.list"
diff "$work/old.list" "$work/new.list" >&2 || fail "The two apps do not show the same."
same "$data/Documents/Media" "The media"
same "$group/Drafts" "The group's drafts"
for device_format in sender:1 receiver:2; do
  head -n 1 "$work/homes/${device_format%:*}/$data/Library/Application Support/notes.db" |
    grep -qx "{\"format\":\"${device_format#*:}\"}" || fail "The notes at the ${device_format%:*} are in the wrong format."
done
echo "Both apps have the same: notes, upgraded from format 1 to format 2, settings, media, and what the group shares."
