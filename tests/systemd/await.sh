# shellcheck shell=bash
# Waiting in tests of this folder; sourced by tests that have a function `fail`.
#   await WHAT COMMAND...  until the command succeeds, or `fail`

# The longest time of any awaited event, in seconds: it only ends what hangs.
patience=120

await() {
  local what=$1 until=$((SECONDS + patience))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || fail "$what did not happen within $patience s"
    sleep 0.1
  done
}

# server_files FOLDER: those of a simulated server, as tar has them. Other tests
# give the one simulated tool further names meanwhile, and tar, which sees that as
# a change, ends with 1 then.
server_files() {
  local status=0
  tar -C "$1" -ch dev etc sys usr var || status=$?
  [ "$status" -le 1 ]
}
