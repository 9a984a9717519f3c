# shellcheck shell=bash
# Sourced by Scripts/demo: a clip is used, and its app replaces it and continues with the clip's
# data.

app=org.example.notes
clip=$app.clip
user=001234.robin
home=$work/homes/receiver

# Fails unless the device's last command wrote this.
said() { grep -qF -- "$1" "$work/receiver.log" || fail "It did not say \"$1\"."; }

# Runs a command whose output counts.
fresh() {
  : >"$work/receiver.log"
  on receiver "$@"
}

say "Building the example app and its clip ..."
"$root/Examples/Notes/bundle" --clip "$work/NotesClip"
"$root/Examples/Notes/bundle" "$work/Notes"

on receiver app install NotesClip
on receiver app run "$clip" draft "Dear all,"
# The secret comes by standard input: every user can read a command line.
show_command receiver app run "$clip" sign-in "$user"
PEER_HOME=$home timeout 60 "$peer" app run "$clip" sign-in "$user" <<<"a secret of the service"
on receiver account authorize "$user" --app "$clip"
cp -R "$home/groups/group.$app" "$work/group"

on receiver app install Notes
[ ! -e "$home/containers/$clip" ] || fail "The clip's container is still there."
diff -r "$work/group" "$home/groups/group.$app" >&2 || fail "The group is not what it was."

fresh app run "$clip" account
said "signed in  $user"
fresh app run "$app" list
said "draft      Dear all,"
on receiver credentials list
on receiver account revoke "$user" --app "$app"
fresh app run "$app" account
said "signed in  no"
if grep -rqF "a secret of the service" "$home"; then fail "The secret lies open in PEER_HOME."; fi
echo "The app has the clip's draft, its user and its secret; after the account was revoked it asks for a sign-in."
