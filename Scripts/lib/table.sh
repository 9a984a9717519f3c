# shellcheck shell=bash
# Sourced by scripts that print a table of checks: check | ok or FAILED | figure. They set $work, a
# folder for the log.
#
#   check NAME COMMAND...  runs a check; its last line of output is its figure
#   $failures              how many failed

failures=0

# The check fails if any of its commands fails, like a separate script: it is part of no condition
# here, which would switch errexit off in it.
check() {
  local name=$1 outcome=ok code
  shift
  set +e
  (
    set -e
    "$@"
  ) >"$work/log" 2>&1 </dev/null
  code=$?
  set -e
  if [ "$code" -ne 0 ]; then
    outcome=FAILED
    failures=$((failures + 1))
    tail -n 20 "$work/log"
  fi
  printf '%-60s | %-7s | %s\n' "$name" "$outcome" "$(tail -n 1 "$work/log")"
}
