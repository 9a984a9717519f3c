# shellcheck shell=bash
# Sourced by Scripts/demo: two devices on this machine, called sender and receiver, and a transfer
# between them. It uses $peer, $keep and $transfer_seconds.
#
#   make_devices       makes the folder $work for both, which is removed at the end
#   on DEVICE WORD...  runs a command of peer on a device, and shows both
#   transfer ...       lets one device receive and the other one send

receiver=
sender=

make_devices() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/peer-demo.XXXXXX")
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir -p "$work/homes/sender" "$work/homes/receiver"
}

# Ends the processes that still run here, and removes the folders.
finish() {
  local code=$?
  trap - EXIT
  local process
  for process in $receiver $sender; do kill "$process" 2>/dev/null || true; done
  wait
  if [ -n "$keep" ]; then
    say "Kept: $work"
  else
    chmod -R u+rwX "$work" 2>/dev/null || true
    rm -rf "$work"
  fi
  exit "$code"
}

# Shows a stream line by line after the name of its side, and keeps it in a file.
show() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" >>"$2"
    printf '%-8s │ %s\n' "$1" "$line"
  done
}

# Shows the command that a device is about to run.
show_command() {
  local device=$1
  shift
  printf '%-8s │ $ peer%s\n' "$device" "$(printf ' %q' "$@")"
}

on() {
  local device=$1
  shift
  show_command "$device" "$@"
  (cd "$work" && PEER_HOME="$work/homes/$device" timeout 60 "$peer" "$@") 2>&1 </dev/null | show "$device" "$work/$device.log"
}

# Waits until a process of this script has ended; after the bound, ends it.
await() {
  local process=$1 code=0 tries=$((transfer_seconds * 10))
  while kill -0 "$process" 2>/dev/null; do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then
      kill "$process" 2>/dev/null || true
      say "Still running after $transfer_seconds seconds; ended."
      break
    fi
    sleep 0.1
  done
  wait "$process" || code=$?
  return "$code"
}

# Waits until the receiver shows its code and its port.
await_code() {
  code=
  port=
  local _
  for _ in $(seq 150); do
    code=$(sed -n 's/^Code: \([0-9]\{4\}-[0-9]\{4\}\).*/\1/p' "$work/receiver.log" | head -n 1)
    port=$(sed -n 's/.*--to 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/receiver.log" | head -n 1)
    if [ -n "$code" ] && [ -n "$port" ]; then return; fi
    kill -0 "$receiver" 2>/dev/null || break
    sleep 0.1
  done
  fail "The receiver showed no address and code."
}

# transfer DIRECTORY WORD... -- DIRECTORY WORD...: where and with which words to run `peer receive`,
# and `peer send`.
transfer() {
  local into=$1 from receive=() send
  shift
  while [ "$1" != -- ]; do
    receive+=("$1")
    shift
  done
  from=$2
  shift 2
  send=("$@")
  : >"$work/receiver.log"
  mkfifo "$work/receiver.pipe" "$work/sender.pipe"

  show receiver "$work/receiver.log" <"$work/receiver.pipe" &
  receive+=(--listen 127.0.0.1:0)
  show_command receiver receive "${receive[@]}"
  (cd "$into" && PEER_HOME="$work/homes/receiver" exec "$peer" receive "${receive[@]}") \
    >"$work/receiver.pipe" 2>&1 </dev/null &
  receiver=$!
  local code port
  await_code

  show sender "$work/sender.log" <"$work/sender.pipe" &
  send=(--to "127.0.0.1:$port" --code-file - "${send[@]}")
  echo "$(show_command sender send "${send[@]}")    # and the code $code"
  (cd "$from" && PEER_HOME="$work/homes/sender" exec "$peer" send "${send[@]}") \
    >"$work/sender.pipe" 2>&1 <<<"$code" &
  sender=$!

  local sender_code=0 receiver_code=0
  await "$sender" || sender_code=$?
  sender=
  await "$receiver" || receiver_code=$?
  receiver=
  wait
  if [ "$sender_code" -ne 0 ] || [ "$receiver_code" -ne 0 ]; then
    fail "The transfer failed: exit code $sender_code at the sender, $receiver_code at the receiver."
  fi
}
