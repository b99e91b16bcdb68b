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

# Eight devices set at once: no change is lost.
for id in 0 1 2 3 4 5 6 7; do
  "$hccn_tool" -i "$id" -netdetect -s "address" "10.1.1.$id" >/dev/null &
done
wait
for id in 0 1 2 3 4 5 6 7; do
  grep -qx "netdetect_$id=10.1.1.$id" "$root/etc/hccn.conf" || fail "device $id lost its key"
  expect "device $id" "netdetect addr: 10.1.1.$id" "$("$hccn_tool" -i "$id" -netdetect -g)"
done

# A product of the other command line gets the other tool automatically.
other=$TEST_TMPDIR/server950
"$simhost" create --root "$other" --spec "$PWD/config/examples/ascend-950.yaml" --host a5-01 --fault 3:link=DOWN
other_tool=$other/usr/local/Ascend/driver/tools/hccn_tool
expect "link of device 3" "link status: DOWN" "$("$other_tool" -g -link -i 3 -u 0 -p 4)"
expect "link of device 4" "link status: UP" "$("$other_tool" -g -link -i 4 -u 0 -p 4)"
status=0
"$other_tool" -i 3 -link -g 2>"$TEST_TMPDIR/err" || status=$?
expect "status of the classic line" 2 "$status"
expect "its text" "Please specify a valid mode." "$(head -n 1 "$TEST_TMPDIR/err")"

# A fault without an effect is refused with its reason, and nothing is done.
refused() {
  local why=$1 status=0
  shift
  "$simhost" "$@" 2>"$TEST_TMPDIR/err" || status=$?
  expect "status of $*" 3 "$status"
  grep -qF "$why" "$TEST_TMPDIR/err" || fail "$*: $(cat "$TEST_TMPDIR/err")"
}
refused "cannot act on an Ascend 950: " set --root "$other" 4:link=DOWN 3:health=Alarm
expect "link of device 4" "link status: UP" "$("$other_tool" -g -link -i 4 -u 0 -p 4)"
refused 'no device "99", expected one of ' set --root "$root" host:device=absent-99
refused 'no interface "eth7", expected one of ' set --root "$root" host:somaxconn=7 host:interface_down=eth7
[ "$(cat "$root/proc/sys/net/core/somaxconn")" != 7 ] || fail "a part of a refused line was applied"
refused "cannot act side by side: no rule reads it" set --root "$root" host:machine_id=0
refused "cannot act on a server outside an Atlas A3 super pod: " set --root "$root" 3:sdid=7
refused "cannot act in namespaces: " create --namespaces --root "$TEST_TMPDIR/never" --spec "$spec" \
  --host server0 --fault host:uda=5b0c7e21d9f4
[ ! -e "$TEST_TMPDIR/never" ] || fail "a refused server was made"

# The firewall's state is the result of its commands.
"$simhost" set --root "$root" host:ufw=active
ufw=$root/usr/sbin/ufw
expect "ufw with the fault" "Status: active" "$("$ufw" status verbose | head -n 1)"
expect "ufw disable" "Firewall stopped and disabled on system startup" "$("$ufw" disable)"
expect "disabled ufw" "Status: inactive" "$("$ufw" status verbose)"
expect "ufw at boot" ENABLED=no "$(head -n 1 "$root/etc/ufw/ufw.conf")"
"$ufw" --force enable >"$TEST_TMPDIR/out"
expect "enabled ufw" "Status: active" "$("$ufw" status | head -n 1)"
status=0
"$ufw" allow 60000/tcp 2>"$TEST_TMPDIR/err" || status=$?
expect "status of a rule" 1 "$status"
"$simhost" set --root "$root" host:ufw=inactive
expect "ufw without the fault" "Status: inactive" "$("$ufw" status)"

# A process uses a device until the server's folder is gone.
"$simhost" set --root "$root" 3:process=python3
user=$(find /proc/[0-9]*/fd -lname "$(realpath "$root")/dev/davinci3" 2>/dev/null | cut -d/ -f3)
expect "name of the process that uses device 3" python3 "$(cat "/proc/$user/comm")"
rm -r "$root"
for _ in $(seq 2400); do
  grep -qs '^State:.*[^Z] (' "/proc/$user/status" || break
  sleep 0.05
done
! grep -s '^State:.*[^Z] (' "/proc/$user/status" || fail "process $user of a removed server is left"

grep -q "  net_health=" <("$simhost" fault-keys) || fail "fault-keys does not list net_health"
diff "$PWD/tests/sim/fault/faults.md" <("$simhost" fault-page) ||
  fail "faults.md is old: tests/sim/simhost fault-page >tests/sim/fault/faults.md"
