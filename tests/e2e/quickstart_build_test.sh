#!/usr/bin/env bash
# deploy/quickstart.sh shows its progress while it builds: in a log as lines, on
# a terminal in place. A stand-in for bazel prints one step, and continues only when this test has
# seen it.
set -uo pipefail

fail() {
  echo "FAILED: $*"
  exit 1
}

repo=$TEST_TMPDIR/repo
mkdir -p "$repo/deploy" "$TEST_TMPDIR/bin"
cp deploy/quickstart.sh deploy/simulation.sh "$repo/deploy/"
printf '#!/bin/sh\n' >"$repo/deploy/install-deps.sh"
mkfifo "$TEST_TMPDIR/seen" "$TEST_TMPDIR/log"
cat >"$TEST_TMPDIR/bin/bazel" <<EOT2
#!/bin/bash
echo "bazel \$*" >&2
echo "[1 / 2] Compiling a.cc" >&2
read -r _ <"$TEST_TMPDIR/seen"
echo "ERROR: a.cc: no such header" >&2
exit 1
EOT2
chmod +x "$TEST_TMPDIR/bin/bazel" "$repo/deploy/install-deps.sh"
export PATH=$TEST_TMPDIR/bin:$PATH

# build COMMAND...: runs it, answers the first step that it shows, and leaves its output in $said
# and its status in $status.
build() {
  local line
  said=
  timeout 120 "$@" >"$TEST_TMPDIR/log" 2>&1 </dev/null &
  while IFS= read -r line; do
    said+=${line%$'\r'}$'\n'
    case $line in "[1 / 2] "*) echo >"$TEST_TMPDIR/seen" ;; esac
  done <"$TEST_TMPDIR/log"
  wait $!
  status=$?
}
expect() {
  grep -qF -- "$1" <<<"$said" || fail "expected \"$1\" in:
$said"
}

build "$repo/deploy/quickstart.sh"
[ "$status" -eq 2 ] || fail "status in a log: expected 2, found $status: $said"
expect "building 6 programs; the first time that takes minutes"
expect "[1 / 2] Compiling a.cc"
expect "--curses=no"
expect "--show_progress_rate_limit=10"
expect "ERROR: a.cc: no such header"

build script -qec "$repo/deploy/quickstart.sh" /dev/null
[ "$status" -eq 2 ] || fail "status on a terminal: expected 2, found $status: $said"
expect "[1 / 2] Compiling a.cc"
expect "ERROR: a.cc: no such header"
! grep -qF -- "--curses=no" <<<"$said" || fail "no progress in place on a terminal: $said"
echo "quickstart's build: all well"
