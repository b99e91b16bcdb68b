#!/usr/bin/env bash
# simhost and the simulated hccn_tool as programs.
set -euo pipefail
simhost=$PWD/tests/sim/simhost
tool=$PWD/tests/sim/hccn_tool
spec=$PWD/config/examples/two-servers.yaml
root=$TEST_TMPDIR/server0

fail() {
  echo "$*"
  exit 1
}
expect() {
  local what=$1 expected=$2 actual=$3
  [ "$actual" = "$expected" ] || fail "$what: expected \"$expected\", found \"$actual\""
}

# Every mistake is named, and nothing is written.
status=0
"$simhost" create --root "$root" --spec "$spec" --host server0 --tool "$tool" \
  --fault 3:lnk=DOWN --fault 99:link=UP 2>"$TEST_TMPDIR/err" || status=$?
expect "status of a bad fault" 3 "$status"
expect "mistakes named" 2 "$(grep -c '^fault ' "$TEST_TMPDIR/err")"
[ ! -e "$root" ] || fail "$root was written"

"$simhost" create --root "$root" --spec "$spec" --host server0 --tool "$tool" --fault 3:link=DOWN
hccn_tool=$root/usr/local/Ascend/driver/tools/hccn_tool
expect "link of device 3" "link status: DOWN" "$("$hccn_tool" -i 3 -link -g)"
expect "link of device 4" "link status: UP" "$("$hccn_tool" -i 4 -link -g)"

"$simhost" set --root "$root" 3:link=UP 4:busy=1
expect "link of device 3" "link status: UP" "$("$hccn_tool" -i 3 -link -g)"
expect "device 4" "hccn_tool is busy, please try again." "$("$hccn_tool" -i 4 -link -g || true)"

# The tool finds its server by environment, too, and refuses to guess.
expect "by environment" "link status: UP" "$(HCCN_SIM_ROOT=$root "$tool" -i 3 -link -g)"
status=0
"$tool" -i 3 -link -g >/dev/null 2>&1 || status=$?
expect "status without a server" 127 "$status"

# Eight devices set at once: nothing is lost.
for id in 0 1 2 3 4 5 6 7; do
  "$hccn_tool" -i "$id" -netdetect -s "address" "10.1.1.$id" >/dev/null &
done
wait
for id in 0 1 2 3 4 5 6 7; do
  grep -qx "netdetect_$id=10.1.1.$id" "$root/etc/hccn.conf" || fail "device $id lost its key"
  expect "device $id" "netdetect addr: 10.1.1.$id" "$("$hccn_tool" -i "$id" -netdetect -g)"
done

# A product of the other command line gets the other tool by itself.
other=$TEST_TMPDIR/server950
"$simhost" create --root "$other" --spec "$PWD/config/examples/ascend-950.yaml" --host a5-01 --fault 3:link=DOWN
other_tool=$other/usr/local/Ascend/driver/tools/hccn_tool
expect "link of device 3" "link status: DOWN" "$("$other_tool" -g -link -i 3 -u 0 -p 4)"
expect "link of device 4" "link status: UP" "$("$other_tool" -g -link -i 4 -u 0 -p 4)"
status=0
"$other_tool" -i 3 -link -g 2>"$TEST_TMPDIR/err" || status=$?
expect "status of the classic line" 2 "$status"
expect "its text" "Please specify a valid mode." "$(head -n 1 "$TEST_TMPDIR/err")"

grep -q "  net_health=" <("$simhost" fault-keys) || fail "fault-keys does not list net_health"
