#!/usr/bin/env bash
# Every recorded run of the vendor's tool, against the simulated one.
set -euo pipefail
replay=$PWD/tests/sim/replay
tool=$PWD/tests/sim/hccn_tool
folder=$PWD/tests/testdata/hccn_tool
captures=$folder/captures.jsonl

fail() {
  echo "$*"
  exit 1
}

# These records lack the devices' state afterwards: the stub device did not note
# the setting, or nothing noted its state. A gateway of A1 belongs to its whole
# group, which the stub device does not know.
unnoted=" shaping-set pfc-set dscp-set link-stat-clear y-udp-multi-qp-1 rename-while-tool-waits in-place-write x-A1-gateway-other-live "

for file in "$captures" "$folder"/captures_[23].jsonl; do
  "$replay" --tool "$tool" --devices "$file" >"$TEST_TMPDIR/devices" || true
  sed -n 's/^  different //p' "$TEST_TMPDIR/devices" >"$TEST_TMPDIR/different"
  while read -r name; do
    [[ $unnoted == *" $name "* ]] || {
      cat "$TEST_TMPDIR/devices"
      fail "the devices hold something else after $name"
    }
  done <"$TEST_TMPDIR/different"
  read -r _ _ different _ < <(tail -n 1 "$TEST_TMPDIR/devices")
  [ "$different" -eq "$(wc -l <"$TEST_TMPDIR/different")" ] || fail "$(cat "$TEST_TMPDIR/devices")"
  "$replay" --tool "$tool" "$file" >"$TEST_TMPDIR/report" || {
    cat "$TEST_TMPDIR/report"
    fail "the simulated hccn_tool differs"
  }
  tail -n 1 "$TEST_TMPDIR/report"
  records=$(grep -c . "$file")
  read -r matched _ different _ skipped _ < <(tail -n 1 "$TEST_TMPDIR/report")
  [ "$((matched + different + skipped))" -eq "$records" ] || fail "$records records, not all counted"
  # Without root the records about other users cannot be arranged.
  [ "$skipped" -le 30 ] || fail "only $matched records could be compared"
  if [ "$(id -u)" -eq 0 ] && [ "$skipped" -ne 0 ] && unshare --mount true 2>/dev/null; then
    cat "$TEST_TMPDIR/report"
    fail "$skipped records skipped although this is root"
  fi
done

# A tool that is wrong must not pass.
printf '#!/bin/sh\necho nonsense\n' >"$TEST_TMPDIR/wrong"
chmod 755 "$TEST_TMPDIR/wrong"
head -n 5 "$captures" >"$TEST_TMPDIR/few"
status=0
"$replay" --tool "$TEST_TMPDIR/wrong" "$TEST_TMPDIR/few" >"$TEST_TMPDIR/report" || status=$?
[ "$status" -eq 1 ] || fail "status $status for a wrong tool"
[ "$(tail -n 1 "$TEST_TMPDIR/report")" = "0 matched, 5 different, 0 skipped" ] ||
  fail "$(tail -n 1 "$TEST_TMPDIR/report")"

# A file that holds no records is a mistake, not a success.
echo '{"name": 1}' >"$TEST_TMPDIR/bad"
status=0
"$replay" --tool "$tool" "$TEST_TMPDIR/bad" 2>"$TEST_TMPDIR/err" || status=$?
[ "$status" -eq 3 ] || fail "status $status for a file without records"
grep -q 'bad:1: field "name"' "$TEST_TMPDIR/err" || fail "$(cat "$TEST_TMPDIR/err")"
