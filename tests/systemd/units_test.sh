#!/usr/bin/env bash
# The systemd units as they are shipped, on a booted machine: a controller and a clusterd with a
# firewall to stop, from check over plan and apply to rollback. A clusterd is killed in the middle
# of an apply, and one apply stays unconfirmed. Needs root and CAP_SYS_ADMIN; says so and passes
# without them.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
. tests/systemd/await.sh
dir=$TEST_TMPDIR/machine
tls=$TEST_TMPDIR/tls
spec=$TEST_TMPDIR/cluster.yaml

fail() {
  echo "FAILED: $*"
  in_machine /usr/bin/journalctl --no-pager -n 40 -u clusterd -u clusterd-controller || true
  exit 1
}
expect() {
  local what=$1 expected=$2 actual=$3
  [ "$actual" = "$expected" ] || fail "$what: expected \"$expected\", found \"$actual\""
}

if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # A missing package of tests/run.sh is a failure.
  case $why in *"not installed"* | *"no root folder"*) exit 1 ;; esac
  exit 0
fi

trap '"$machine" down "$dir"' EXIT
"$machine" up "$dir"
in_machine() { "$machine" exec "$dir" "$@"; }
push() { "$machine" push "$dir" "$1" "$2"; }
in_machine /usr/sbin/ip link add eth0 type veth peer name wire
in_machine /usr/sbin/ip address add 10.99.0.1/24 dev eth0
in_machine /usr/sbin/ip link set wire up
in_machine /usr/sbin/ip link set eth0 up
in_machine /usr/bin/hostname server0
in_machine /bin/sh -c 'echo "10.99.0.1 server0" >>/etc/hosts'

cat >"$spec" <<'EOT'
version: 1
name: units
product: atlas-a2
servers:
  - {hosts: server0, address: 10.99.0.1}
devices:
  netmask: 255.255.0.0
  rails:
    - {device: 0-7, subnet: 10.20.0.0/16, host: 256*n + 256 + d + 1}
  detect_address: 10.20.0.1
hccl: {base_port: 60000, port_count: auto}
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
# Long enough for a loaded machine, and for a tool that this test delays.
deadlines: {command: 2m, host: 10m, run: 20m}
EOT

# --- Install, as an administrator would. ------------------------------------

deploy/certificates.sh init "$tls" units
deploy/certificates.sh controller "$tls" units
deploy/certificates.sh host "$tls" units server0
deploy/certificates.sh user "$tls" units alice operator
deploy/certificates.sh user "$tls" units bob admin
for file in ca.crt controller.crt controller.key user-alice.crt user-alice.key user-bob.crt user-bob.key; do
  push "$tls/$file" "/etc/clusterd/$file"
done
push "$tls/server0.crt" /etc/clusterd/host.crt
push "$tls/server0.key" /etc/clusterd/host.key
push "$spec" /etc/clusterd/cluster.yaml
push daemon/agent/clusterd /usr/sbin/clusterd
push daemon/controller/clusterd-controller /usr/sbin/clusterd-controller
push client/clusterctl /usr/bin/clusterctl
push deploy/systemd/clusterd.service /etc/systemd/system/clusterd.service
push deploy/systemd/clusterd-controller.service /etc/systemd/system/clusterd-controller.service
echo 'OPTIONS=--listen 127.0.0.1:7443' >"$TEST_TMPDIR/controller.env"
push "$TEST_TMPDIR/controller.env" /etc/clusterd/controller.env
cat >"$TEST_TMPDIR/agent.yaml" <<'EOT'
controller: 127.0.0.1:7443
allow: [observe]
EOT
push "$TEST_TMPDIR/agent.yaml" /etc/clusterd/agent.yaml
in_machine /usr/sbin/useradd --system clusterd
in_machine /bin/chown clusterd /etc/clusterd/controller.key

# The simulated devices, where a server has its own.
tests/sim/simhost create --root "$TEST_TMPDIR/server0" --spec "$spec" --host server0 \
  --tool "$here/tests/sim/hccn_tool" \
  --fault 3:netmask=255.255.255.0 --fault 5:detect=none --fault host:persistent=none
server_files "$TEST_TMPDIR/server0" | in_machine /bin/sh -c 'mkdir -p /srv/sim && tar -C /srv/sim -x'
in_machine /bin/sh -c '
  cd /srv/sim && cp -a etc/hccn.conf /etc/ && cp -a usr/local/. /usr/local/ && cp -a dev/. /dev/ &&
  mkdir -p /var/lib /var/log && cp -a var/. /var/ 2>/dev/null
  mount --bind /srv/sim/sys/bus/pci/devices /sys/bus/pci/devices'
# The simulated tool keeps the hardware's state in this folder.
printf '[Service]\nReadWritePaths=/var/lib/hccn_sim\n' >"$TEST_TMPDIR/simulation.conf"
push "$TEST_TMPDIR/simulation.conf" /etc/systemd/system/clusterd.service.d/simulation.conf
in_machine /usr/bin/systemctl daemon-reload
in_machine /usr/bin/systemctl start clusterd-controller clusterd
expect "clusterd" active "$(in_machine /usr/bin/systemctl is-active clusterd)"
# A user's program has a control group below the unit's, which clusterd may make, and our memory
# never goes to a disk.
pid=$(in_machine /usr/bin/systemctl show -p MainPID --value clusterd)
own=$(in_machine /bin/sed -n 's/^0:://p' "/proc/$pid/cgroup")
# shellcheck disable=SC2016  # the inner shell expands it
in_machine /usr/bin/nsenter -t "$pid" -m /bin/sh -c '
  for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ ! -e "$root$1/cgroup.controllers" ] || exec mkdir "$root$1/program-test"
  done
  exit 1' sh "$own" || fail "clusterd may make no control group below $own"
# clusterd cannot make control groups in another slice; it logs so once at its start.
without_group() { in_machine /usr/bin/journalctl --no-pager -o cat -u clusterd | grep -c "have no control group of their own: .*survive" || true; }
warned_once() { [ "$(without_group)" -eq 1 ]; }
printf '[Service]\nSlice=other.slice\n' >"$TEST_TMPDIR/slice.conf"
push "$TEST_TMPDIR/slice.conf" /etc/systemd/system/clusterd.service.d/slice.conf
in_machine /usr/bin/systemctl daemon-reload
in_machine /usr/bin/systemctl restart clusterd
await "the line that programs have no control group" warned_once
in_machine /bin/rm /etc/systemd/system/clusterd.service.d/slice.conf
in_machine /usr/bin/systemctl daemon-reload
in_machine /usr/bin/systemctl restart clusterd
for unit in clusterd clusterd-controller; do
  pid=$(in_machine /usr/bin/systemctl show -p MainPID --value "$unit")
  in_machine /bin/grep -qE '^Max core file size +0 +0 ' "/proc/$pid/limits" || fail "$unit leaves cores"
done
expect "what the end of memory does" continue "$(in_machine /usr/bin/systemctl show -p OOMPolicy --value clusterd)"
expect "controller" active "$(in_machine /usr/bin/systemctl is-active clusterd-controller)"

clusterctl_as() {
  local user=$1
  shift
  in_machine /usr/bin/env CLUSTERD_CONTROLLER=127.0.0.1:7443 CLUSTERD_CLUSTER=units \
    CLUSTERD_CA=/etc/clusterd/ca.crt "CLUSTERD_CERT=/etc/clusterd/user-$user.crt" \
    "CLUSTERD_KEY=/etc/clusterd/user-$user.key" /usr/bin/clusterctl "$@"
}
clusterctl() { clusterctl_as alice "$@"; }
# Read through <(): a writer into a pipe that grep has left fails with it.
attached() { grep -q '"attached": *true' <(clusterctl hosts -o json); }
await "attaching" attached
# It dials, and listens on a unix socket alone; the controller, with its ports,
# proves that ss works.
listeners() { in_machine /usr/bin/ss -Hltnup | grep -c "pid=$(in_machine /usr/bin/systemctl show --value -p MainPID "$1")," || true; }
expect "ports of the controller" 2 "$(listeners clusterd-controller)"
expect "ports of clusterd" 0 "$(listeners clusterd)"
# As an editor or configuration management saves: another inode by the same name, which the running
# clusterd must still be able to change. It has no TLS switch of device 5, as if that was never set.
in_machine /bin/sh -c 'cp -a /etc/hccn.conf /etc/hccn.conf.new && sed -i /^tls_enable_5=/d /etc/hccn.conf.new && mv /etc/hccn.conf.new /etc/hccn.conf'

# All settings that an apply may change here, and its undo has to restore.
settings() {
  in_machine /bin/sh -c '
    cd /proc/sys/net && cat core/somaxconn ipv4/tcp_max_syn_backlog ipv4/ip_local_reserved_ports
    cat /etc/hccn.conf; ls -l /etc/hccn.conf | cut -c1-30; ls -1 /etc/sysctl.d; cat /etc/sysctl.d/*clusterd* 2>/dev/null
    systemctl is-active firewalld; systemctl is-enabled firewalld; firewall-cmd --list-all
    ufw status verbose; cat /etc/ufw/ufw.conf' 2>&1 || true
}
status_of() {
  status=0
  "$@" >"$TEST_TMPDIR/out" 2>&1 || status=$?
  cat "$TEST_TMPDIR/out"
}

# This order matters: firewalld flushes the rules of ufw when it starts, and leaves ufw's policy,
# which then drops everything.
in_machine /usr/bin/systemctl enable --now firewalld
await "the start of firewalld" in_machine /usr/bin/firewall-cmd --quiet --state
in_machine /usr/sbin/ufw --force enable
before=$(settings)

# --- A host that allows nothing is not changed. -----------------------------

status_of clusterctl check
expect "status of the first check" 1 "$status"
grep -q firewalld "$TEST_TMPDIR/out" || fail "the check does not name firewalld"
# The unit allows queries of hccn_tool over a copy of hccn.conf.
if grep -q "TLS switch not known" "$TEST_TMPDIR/out"; then fail "the TLS switch of device 5 could not be asked for"; fi
status_of clusterctl plan --out /tmp/plan.json
expect "status of a plan that the host does not allow" 2 "$status"
grep -q "agent.yaml" "$TEST_TMPDIR/out" || fail "the plan does not name agent.yaml"
status_of clusterctl apply /tmp/plan.json --yes --confirm units
expect "status of an apply of a plan without steps" 2 "$status"
expect "settings after the plan" "$before" "$(settings)"

# --- A host that allows it no more when the plan comes refuses it. -----------

# allow KINDS: as its administrator would write it.
allow() {
  sed -i "s/^allow:.*/allow: [$1]/" "$TEST_TMPDIR/agent.yaml"
  push "$TEST_TMPDIR/agent.yaml" /etc/clusterd/agent.yaml
}
everything="observe, sysctl, device-address, firewall, tls, hccn-conf"
allow "$everything"
status_of clusterctl plan --out /tmp/plan.json
expect "status of plan" 0 "$status"
allow observe
status_of clusterctl apply /tmp/plan.json --yes --confirm units
expect "status of an apply that the host does not allow" 1 "$status"
grep -q "agent.yaml" "$TEST_TMPDIR/out" || fail "the refusal does not name agent.yaml"
expect "settings after the refusal" "$before" "$(settings)"

# --- Allowed: applied, verified, nothing left to do, rolled back. -----------

allow "$everything"
# This machine has a pid namespace: its clusterd cannot see which processes hold a device open, and
# says so. An admin may continue nevertheless, an operator not.
status_of clusterctl apply /tmp/plan.json --yes --confirm units
expect "status of an apply that cannot tell who uses devices" 1 "$status"
grep -q "whether a process uses its devices is not known" "$TEST_TMPDIR/out" || fail "another refusal"
status_of clusterctl apply /tmp/plan.json --yes --confirm units --force
expect "status of an operator's --force" 2 "$status"
expect "settings after the refusals" "$before" "$(settings)"
began=$SECONDS
status_of clusterctl_as bob apply /tmp/plan.json --yes --confirm units --force --no-confirm --report /tmp/apply.json
took=$((SECONDS - began))
expect "status of apply" 0 "$status"
expect "firewalld" inactive "$(in_machine /usr/bin/systemctl is-active firewalld || true)"
expect "firewalld at boot" disabled "$(in_machine /usr/bin/systemctl is-enabled firewalld || true)"
expect "ufw" "Status: inactive" "$(in_machine /usr/sbin/ufw status)"
expect "somaxconn" 65535 "$(in_machine /bin/cat /proc/sys/net/core/somaxconn)"
status_of clusterctl check
expect "status of the check after the apply" 0 "$status"
status_of clusterctl plan
expect "status of the second plan" 0 "$status"
grep -qi "nothing to do" "$TEST_TMPDIR/out" || fail "the second plan still has something to do"

id=$(in_machine /bin/sed -n 's/^ *"apply_id": *"\([0-9a-f]*\)".*/\1/p' /tmp/apply.json | head -n 1)
status_of clusterctl_as bob rollback "$id" --yes --force
expect "status of rollback" 0 "$status"
expect "settings after the rollback" "$before" "$(settings)"

# --- Killed in the middle: systemd starts it again, and it takes all back. ---

status_of clusterctl plan --out /tmp/plan2.json
expect "status of the third plan" 0 "$status"
# The middle lasts: device 3 is set, and then the tool hangs that sets device 5.
"$machine" push "$dir" tests/sim/simhost /usr/local/bin/simhost
in_machine /usr/local/bin/simhost set --root / 5:state=hang.set=1
conf_before=$(in_machine /usr/bin/sha256sum /etc/hccn.conf | cut -c1-64)
changed() { [ "$(in_machine /usr/bin/sha256sum /etc/hccn.conf | cut -c1-64)" != "$conf_before" ]; }
pid=$(in_machine /usr/bin/systemctl show -p MainPID --value clusterd)
clusterctl_as bob apply /tmp/plan2.json --yes --confirm units --force --no-confirm >"$TEST_TMPDIR/killed" 2>&1 &
apply=$!
await "the first change" changed
# Stopped first: the next clusterd, which comes after 5 s, must find a tool that works.
in_machine /bin/kill -STOP "$pid"
in_machine /usr/local/bin/simhost set --root / 5:state=hang.set=0
in_machine /bin/kill -KILL "$pid"
status=0
wait "$apply" || status=$?
cat "$TEST_TMPDIR/killed"
[ "$status" -eq 1 ] || [ "$status" -eq 2 ] || fail "apply says $status although its clusterd was killed"
restarted() {
  local now
  now=$(in_machine /usr/bin/systemctl show -p MainPID --value clusterd)
  [ "$now" -ne 0 ] && [ "$now" -ne "$pid" ] && [ "$(in_machine /usr/bin/systemctl is-active clusterd)" = active ]
}
await "the restart" restarted
await "attaching again" attached
expect "settings after the kill" "$before" "$(settings)"
status_of clusterctl history
grep -q rollback "$TEST_TMPDIR/out" || fail "the history does not name the rollback"

# --- Restarted in the middle, as an upgrade does: the apply ends first. -------

status_of clusterctl plan --out /tmp/plan3.json
expect "status of the fourth plan" 0 "$status"
# Slow devices, so that the middle lasts.
for device in 3 5; do in_machine /usr/local/bin/simhost set --root / "$device:delay=400"; done
pid=$(in_machine /usr/bin/systemctl show -p MainPID --value clusterd)
clusterctl_as bob apply /tmp/plan3.json --yes --confirm units --force --no-confirm --report /tmp/apply3.json >"$TEST_TMPDIR/upgraded" 2>&1 &
apply=$!
await "the first change of the last apply" changed
in_machine /usr/bin/systemctl try-restart clusterd
status=0
wait "$apply" || status=$?
cat "$TEST_TMPDIR/upgraded"
expect "status of an apply during which clusterd is restarted" 0 "$status"
restarted || fail "clusterd was not restarted"
for device in 3 5; do in_machine /usr/local/bin/simhost set --root / "$device:delay=0"; done
await "attaching after the restart" attached
status_of clusterctl check
expect "status of the check after the restart" 0 "$status"
id=$(in_machine /bin/sed -n 's/^ *"apply_id": *"\([0-9a-f]*\)".*/\1/p' /tmp/apply3.json | head -n 1)
status_of clusterctl_as bob rollback "$id" --yes --force
expect "status of the last rollback" 0 "$status"
expect "settings after the last rollback" "$before" "$(settings)"

# --- Without a confirmation both firewalls are back after the deadline. -------

status_of clusterctl plan --out /tmp/plan4.json
expect "status of the last plan" 0 "$status"
# A minute, and more where an apply alone takes that long: its time to be confirmed begins with it.
within=$((4 * took > 60 ? 4 * took : 60))
began=$SECONDS
status_of clusterctl_as bob apply /tmp/plan4.json --yes --confirm units --force --confirm-within "${within}s"
expect "status of an apply that waits" 0 "$status"
grep -q "to keep it, run: clusterctl confirm" "$TEST_TMPDIR/out" || fail "the apply does not say that it rolls back"
firewalls="$(in_machine /usr/bin/systemctl is-active firewalld || true) $(in_machine /usr/sbin/ufw status)"
# A machine so slow that the time has passed by now shows the later state.
[ $((SECONDS - began)) -ge $((within - 1)) ] || expect "firewalld and ufw while it waits" "inactive Status: inactive" "$firewalls"
rolled_back() { grep -q "1 rolled back; not confirmed\"" <(clusterctl history -o json); }
patience=$((within + patience)) await "going back at the deadline" rolled_back
expect "settings in the end" "$before" "$(settings)"
echo "units: all well"
