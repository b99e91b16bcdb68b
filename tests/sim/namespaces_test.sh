#!/usr/bin/env bash
# Two servers and a controller in namespaces, and a clean end. Needs root and CAP_SYS_ADMIN; says so
# and passes without them.
set -euo pipefail
namespaces=$PWD/tests/sim/namespaces.sh
simhost=$PWD/tests/sim/simhost
tool=$PWD/tests/sim/hccn_tool
spec=$PWD/config/examples/two-servers.yaml
dir=$TEST_TMPDIR/net

fail() {
  echo "$*"
  exit 1
}
expect() {
  local what=$1 expected=$2 actual=$3
  [ "$actual" = "$expected" ] || fail "$what: expected \"$expected\", found \"$actual\""
}

# A table is checked before anything starts, and every mistake is reported.
printf 'server0 192.168.7.22\nb/d x -\nserver1 192.168.7.23/24 /nonexistent\n' >"$TEST_TMPDIR/bad"
status=0
"$namespaces" up "$dir" "$TEST_TMPDIR/bad" 2>"$TEST_TMPDIR/err" || status=$?
expect "status of a bad table" 3 "$status"
expect "mistakes named" 4 "$(grep -c "bad:[123]: " "$TEST_TMPDIR/err")"
[ ! -e "$dir" ] || fail "$dir was made"

# A server made for side by side lacks the parts for faults in namespaces.
"$simhost" create --root "$TEST_TMPDIR/folder" --spec "$spec" --host server0 --tool "$tool"
echo "server0 192.168.7.22/24 $TEST_TMPDIR/folder" >"$TEST_TMPDIR/bad"
status=0
"$namespaces" up "$dir" "$TEST_TMPDIR/bad" 2>"$TEST_TMPDIR/err" || status=$?
expect "status of a server for side by side" 3 "$status"
grep -q "simhost create --namespaces" "$TEST_TMPDIR/err" || fail "the reason is not given"

if ! why=$("$namespaces" available); then
  echo "namespaces are not to be had here: ${why#no: }"
  [ "$(id -u)" -ne 0 ] || [ -n "$why" ] || fail "no reason given"
  exit 0
fi

printf 'controller 192.168.7.1/24 -\n' >"$TEST_TMPDIR/table"
for i in 0 1; do
  "$simhost" create --namespaces --root "$TEST_TMPDIR/server$i" --spec "$spec" --host "server$i" --tool "$tool" \
    --fault "host:somaxconn=$((1000 + i))" --fault host:listen=60003
  echo "server$i 192.168.7.$((22 + i))/24 $TEST_TMPDIR/server$i" >>"$TEST_TMPDIR/table"
done
# Mounts of this test: those that name its folder, and those over the places that a
# server gets its own of. Other tests mount elsewhere meanwhile.
mounts() {
  awk -v dir="$TEST_TMPDIR" '
    index($0, dir) || $5 ~ "^/(dev|etc|run|sys|sys/bus/pci/devices|usr/local|var/lib|var/log)$" ||
      $5 ~ "/boot_id$" { print $4, $5 }' /proc/self/mountinfo
}
trap '"$namespaces" down "$dir"' EXIT
somaxconn_before=$(cat /proc/sys/net/core/somaxconn)
mounts_before=$(mounts)
"$namespaces" up "$dir" "$TEST_TMPDIR/table"
[ "$(mounts)" != "$mounts_before" ] || fail "mounts of the servers are not seen"

in_server() { "$namespaces" exec "$dir" "server$1" "${@:2}"; }
hccn_tool=/usr/local/Ascend/driver/tools/hccn_tool
for i in 0 1; do
  expect "host name" "server$i" "$(in_server $i /bin/cat /proc/sys/kernel/hostname)"
  expect "somaxconn" "$((1000 + i))" "$(in_server $i /bin/cat /proc/sys/net/core/somaxconn)"
  expect "number of eth0 in /sys" "$(in_server $i /sbin/ip -o link show eth0 | cut -d: -f1)" \
    "$(in_server $i /bin/cat /sys/class/net/eth0/ifindex)"
  expect "listeners on port 60003" 1 "$(in_server $i /bin/grep -c ':EA63 00000000:0000 0A' /proc/net/tcp)"
  expect "davinci nodes" 8 "$(in_server $i /bin/sh -c 'ls /dev/davinci[0-9]* | wc -l')"
  expect "boot id" "$(cat "$TEST_TMPDIR/server$i/proc/sys/kernel/random/boot_id")" \
    "$(in_server $i /bin/cat /proc/sys/kernel/random/boot_id)"
  in_server $i /bin/grep -q namespaces /etc/clusterd/simulation
  expect "address of server1's name" 192.168.7.23 \
    "$(in_server $i /usr/bin/getent ahostsv4 server1 | sed -n '1s/ .*//p')"
done

# A change of one server stays its own.
in_server 0 $hccn_tool -i 3 -netdetect -s address 10.9.9.9 >/dev/null
expect "device of server0" "netdetect addr: 10.9.9.9" "$(in_server 0 $hccn_tool -i 3 -netdetect -g)"
if in_server 1 /bin/grep -q 10.9.9.9 /etc/hccn.conf; then fail "server1 has server0's address"; fi
in_server 1 "$simhost" set --root / host:syn_backlog=77 3:link=DOWN
status=0
in_server 1 "$simhost" set --root / 3:link=UP host:uda=5b0c7e21d9f4 2>"$TEST_TMPDIR/err" || status=$?
expect "status of a fault that cannot act" 3 "$status"
grep -q "host:uda=.*cannot act in namespaces: " "$TEST_TMPDIR/err" || fail "no reason: $(cat "$TEST_TMPDIR/err")"
expect "changed kernel value" 77 "$(in_server 1 /bin/cat /proc/sys/net/ipv4/tcp_max_syn_backlog)"
expect "changed device" "link status: DOWN" "$(in_server 1 $hccn_tool -i 3 -link -g)"
expect "the machine's own value" "$somaxconn_before" "$(cat /proc/sys/net/core/somaxconn)"

# The controller reaches a server, also one whose link has a fault: a refusal is
# an answer, a time-out is not.
in_server 1 "$simhost" set --root / host:interface_down=eth0
# The kernel reports a new link a moment later.
for _ in $(seq 2400); do
  link=$(in_server 1 /bin/cat /sys/class/net/eth0/operstate)
  [ "$link" != dormant ] || break
  sleep 0.05
done
expect "link of eth0" dormant "$link"
answer=$("$namespaces" exec "$dir" controller /bin/bash -c 'echo >/dev/tcp/192.168.7.23/1' 2>&1 || true)
case $answer in *refused*) ;; *) fail "controller to server1: $answer" ;; esac

# `exec` is the command itself.
"$namespaces" exec "$dir" server0 /bin/sleep 1000 &
sleeper=$!
# The longest wait of a test.
for _ in $(seq 2400); do
  [ "$(cat "/proc/$sleeper/comm" 2>/dev/null)" != sleep ] || break
  sleep 0.05
done
expect "command of $sleeper" sleep "$(cat "/proc/$sleeper/comm")"

status=0
"$namespaces" exec "$dir" server9 /bin/true 2>/dev/null || status=$?
expect "status of an unknown server" 3 "$status"

"$namespaces" down "$dir"
trap - EXIT
status=0
wait "$sleeper" || status=$?
[ "$status" -gt 128 ] || fail "the sleeper ended with $status"
[ ! -e "$dir" ] || fail "$dir is left"
expect "mounts" "$mounts_before" "$(mounts)"
"$namespaces" down "$dir"

# A server that cannot be made takes the others with it.
rm -r "$TEST_TMPDIR/server1/sys"
status=0
"$namespaces" up "$dir" "$TEST_TMPDIR/table" 2>/dev/null || status=$?
[ "$status" -ne 0 ] || fail "up with a broken server"
[ ! -e "$dir" ] || fail "$dir is left after a failure"
expect "mounts after a failure" "$mounts_before" "$(mounts)"
echo "namespaces: all well"
