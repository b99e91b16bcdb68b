#!/usr/bin/env bash
# Clusters that were set up by hand to the letter of the vendor's documents, with only their
# commands, and a minimal cluster.yaml. A check must not find a failure or an unknown, and warns of
# settings that the documents leave temporary or open. Two servers and a controller are booted
# machines; the devices are simulated, the rest is real. Needs root and CAP_SYS_ADMIN; says so and
# passes without them.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
. tests/systemd/await.sh
tls=$TEST_TMPDIR/tls
out=$TEST_TMPDIR/out

fail() {
  echo "FAILED: cluster $cluster: $*"
  on controller /usr/bin/journalctl --no-pager -n 20 -u clusterd-controller || true
  on server0 /usr/bin/journalctl --no-pager -n 20 -u clusterd || true
  exit 1
}
cluster=none
if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # A missing package of tests/run.sh is a failure.
  case $why in *"not installed"* | *"no root folder"*) exit 1 ;; esac
  exit 0
fi

on() { "$machine" exec "$TEST_TMPDIR/$1" "${@:2}"; }
push() { "$machine" push "$TEST_TMPDIR/$1" "$2" "$3"; }
in_network() { nsenter --net="$TEST_TMPDIR/$1/net" "${@:2}"; }
down() {
  local name
  for name in "$@"; do
    [ ! -d "$TEST_TMPDIR/$name" ] || "$machine" down "$TEST_TMPDIR/$name" || true
  done
}
trap 'down server0 server1 controller' EXIT

# --- A controller, for all clusters. ----------------------------------------

"$machine" up "$TEST_TMPDIR/controller"
in_network controller ip link add bridge type bridge
in_network controller ip address add 192.168.7.1/24 dev bridge
in_network controller ip link set bridge up
deploy/certificates.sh init "$tls" documents
deploy/certificates.sh controller "$tls" documents
deploy/certificates.sh host "$tls" documents server0
deploy/certificates.sh host "$tls" documents server1
deploy/certificates.sh user "$tls" documents bob admin
for file in ca.crt controller.crt controller.key user-bob.crt user-bob.key; do
  push controller "$tls/$file" "/etc/clusterd/$file"
done
push controller daemon/controller/clusterd-controller /usr/sbin/clusterd-controller
push controller client/clusterctl /usr/bin/clusterctl
push controller deploy/systemd/clusterd-controller.service /etc/systemd/system/clusterd-controller.service
echo 'OPTIONS=--listen 192.168.7.1:7443' >"$TEST_TMPDIR/controller.env"
push controller "$TEST_TMPDIR/controller.env" /etc/clusterd/controller.env
on controller /usr/sbin/useradd --system clusterd
on controller /bin/chown clusterd /etc/clusterd/controller.key

clusterctl() {
  on controller /usr/bin/env CLUSTERD_CONTROLLER=192.168.7.1:7443 CLUSTERD_CLUSTER=documents \
    CLUSTERD_CA=/etc/clusterd/ca.crt CLUSTERD_CERT=/etc/clusterd/user-bob.crt \
    CLUSTERD_KEY=/etc/clusterd/user-bob.key /usr/bin/clusterctl "$@"
}
# Read through <(): a writer into a pipe that grep has left fails with it.
both_attached() { grep -qE '^attached +server\[0-1\]' <(clusterctl hosts 2>/dev/null); }

# --- Two servers as they are delivered: a driver, and nothing set. -----------

# delivered NUMBER FAULT...: the faults describe the cabling.
delivered() {
  local number=$1 name=server$1 folder
  shift
  "$machine" up "$TEST_TMPDIR/$name"
  # The kernel takes the network of an ended server apart at its leisure.
  in_network controller ip link delete "s$number" 2>/dev/null || true
  in_network controller ip link add "s$number" type veth peer name eth0 netns "$TEST_TMPDIR/$name/net"
  in_network controller ip link set "s$number" master bridge up
  in_network "$name" ip address add "192.168.7.$((22 + number))/24" dev eth0
  in_network "$name" ip link set eth0 up
  on "$name" /usr/bin/hostname "$name"

  folder=$TEST_TMPDIR/files-$cluster-$name
  # CANN is in the containers.
  tests/sim/simhost create --root "$folder" --spec "$TEST_TMPDIR/cluster.yaml" --host "$name" \
    --tool "$here/tests/sim/hccn_tool" --fault host:cann=absent "$@"
  sed -i -E '/^(ip|mask|gateway|netdetect)\./d' "$folder/var/lib/hccn_sim/state"
  : >"$folder/etc/hccn.conf"
  server_files "$folder" | on "$name" /bin/sh -c 'mkdir -p /srv/sim && tar -C /srv/sim -x'
  on "$name" /bin/sh -c '
    cd /srv/sim && cp -a etc/hccn.conf etc/ascend_install.info /etc/ && cp -a usr/local/. /usr/local/ &&
    cp -a dev/. /dev/ && mkdir -p /var/lib /var/log && cp -a var/. /var/ 2>/dev/null
    ln -s /usr/local/Ascend/driver/tools/hccn_tool /usr/bin/hccn_tool
    mount --bind /srv/sim/sys/bus/pci/devices /sys/bus/pci/devices
    # systemd-nspawn makes it read-only; the parameters of the network are its own.
    mount -o remount,bind,rw /proc/sys'
}

# install NUMBER KINDS: clusterd, which may change those kinds.
install() {
  local name=server$1
  push "$name" "$tls/ca.crt" /etc/clusterd/ca.crt
  push "$name" "$tls/$name.crt" /etc/clusterd/host.crt
  push "$name" "$tls/$name.key" /etc/clusterd/host.key
  push "$name" daemon/agent/clusterd /usr/sbin/clusterd
  push "$name" deploy/systemd/clusterd.service /etc/systemd/system/clusterd.service
  printf 'controller: 192.168.7.1:7443\nallow: [%s]\n' "$2" >"$TEST_TMPDIR/agent.yaml"
  push "$name" "$TEST_TMPDIR/agent.yaml" /etc/clusterd/agent.yaml
  # The simulated tool keeps the hardware's state in this folder.
  printf '[Service]\nReadWritePaths=/var/lib/hccn_sim\n' >"$TEST_TMPDIR/simulation.conf"
  push "$name" "$TEST_TMPDIR/simulation.conf" /etc/systemd/system/clusterd.service.d/simulation.conf
  on "$name" /usr/bin/systemctl daemon-reload
  on "$name" /usr/bin/systemctl start clusterd
}

# begin NAME FAULT...: standard input is the cluster.yaml.
begin() {
  cluster=$1
  shift
  {
    cat
    # Deadlines that a loaded machine keeps.
    echo "deadlines: {command: 1m, host: 10m, run: 20m}"
  } >"$TEST_TMPDIR/cluster.yaml"
  down server0 server1
  delivered 0 "$@"
  delivered 1 "$@"
  push controller "$TEST_TMPDIR/cluster.yaml" /etc/clusterd/cluster.yaml
  on controller /usr/bin/systemctl daemon-reload
  on controller /usr/bin/systemctl restart clusterd-controller
}

# Checks the setup so far. Each rule that warns must be in $warnings, each of these must warn, and
# one must print each of "${says[@]}".
warnings=""
says=()
check() {
  local status=0 warned expected sentence
  clusterctl check >"$out" 2>&1 || status=$?
  cat "$out"
  [ "$status" -eq 0 ] || fail "status of the check: expected 0, found $status"
  clusterctl check -o json >"$out.json" || true
  warned=$(tr -d ' \n' <"$out.json" | grep -oE '"rule":"[a-z-]+","state":"[A-Z]+"' |
    sed -nE 's/.*"rule":"([a-z-]+)","state":"(WARN|FAIL|UNKNOWN)"/\1/p' | sort -u | tr '\n' ' ')
  expected=$(tr ' ' '\n' <<<"$warnings" | sort -u | sed '/^$/d' | tr '\n' ' ')
  [ "$warned" = "$expected" ] || fail "warnings: expected \"$expected\", found \"$warned\""
  for sentence in "${says[@]}"; do
    grep -qF -- "$sentence" "$out.json" || fail "no warning says: $sentence"
  done
}

# --- Two Atlas training servers, fibre from port to port. ---------------------

two_training_servers() {
  cat <<'EOF'
version: 1
name: documents
product: atlas-training
servers:
  - {hosts: "server[0-1]", address: "192.168.7.[22-23]"}
devices:
  netmask: 255.255.255.0
  rails:
    - {device: 0-3, subnet: "192.168.[100-103].0/24", host: 101 + 10*n}
    - {device: 4-7, subnet: "192.168.[100-103].0/24", host: 100 + 10*n}
EOF
}
fibre=()
for device in 0 1 2 3 4 5 6 7; do fibre+=(--fault "$device:lldp=npu"); done

begin a "${fibre[@]}" < <(two_training_servers)
for number in 0 1; do
  on "server$number" /usr/bin/systemctl enable --now firewalld
  on "server$number" /bin/bash -e -c "
    hccn_tool -i 0 -ip -s address 192.168.100.1${number}1 netmask 255.255.255.0
    hccn_tool -i 1 -ip -s address 192.168.101.1${number}1 netmask 255.255.255.0
    hccn_tool -i 2 -ip -s address 192.168.102.1${number}1 netmask 255.255.255.0
    hccn_tool -i 3 -ip -s address 192.168.103.1${number}1 netmask 255.255.255.0
    hccn_tool -i 4 -ip -s address 192.168.100.1${number}0 netmask 255.255.255.0
    hccn_tool -i 5 -ip -s address 192.168.101.1${number}0 netmask 255.255.255.0
    hccn_tool -i 6 -ip -s address 192.168.102.1${number}0 netmask 255.255.255.0
    hccn_tool -i 7 -ip -s address 192.168.103.1${number}0 netmask 255.255.255.0
    sysctl -w net.ipv4.ip_local_reserved_ports=60000-60015
    systemctl stop firewalld"
  install "$number" observe
done
await "attaching" both_attached
# The firewall starts again at boot, the ports are gone then; it is unknown if CANN takes 32; and
# nothing watches over the network.
warnings="firewall ports-reserved sysctl-persistent net-health detect-address host-name"
says=("firewalld is stopped but starts at boot" "reserved ports: 60000-60015; not reserved: 60016-60031"
  "no file sets net.ipv4.ip_local_reserved_ports at boot" "Init (code 6): no detect address is configured"
  "no detect address is set" "resolves to")
check

# The same servers over a switch: their devices see other neighbours.
for number in 0 1; do
  folder=$TEST_TMPDIR/switch-server$number
  tests/sim/simhost create --root "$folder" --spec "$TEST_TMPDIR/cluster.yaml" --host "server$number" \
    --tool "$here/tests/sim/hccn_tool"
  grep '^lldp\.' "$folder/var/lib/hccn_sim/state" |
    on "server$number" /bin/sh -c 'cd /var/lib/hccn_sim && sed -i "/^lldp\./d" state && cat >>state'
done
check

# --- The same by clusterctl, on servers that were not set up. ------------------

begin b "${fibre[@]}" < <(two_training_servers)
for number in 0 1; do
  on "server$number" /usr/bin/systemctl enable --now firewalld
  install "$number" "observe, sysctl, device-address, firewall, hccn-conf"
done
await "attaching" both_attached
clusterctl plan --out /tmp/plan.json || fail "no plan"
# These machines have a pid namespace, so the users of a device are unknown.
clusterctl apply /tmp/plan.json --yes --confirm documents --force --no-confirm || fail "the apply did not end well"
warnings="sysctl-persistent net-health detect-address host-name"
says=("no file sets net.ipv4.ip_local_reserved_ports at boot" "Init (code 6): no detect address is configured"
  "no detect address is set" "resolves to")
check
clusterctl plan | tee "$out"
grep -q "^PLAN: no step, " "$out" || fail "the second plan still has something to do"

# --- Two A2 servers in one subnet, behind a switch. ---------------------------

two_a2_servers() {
  cat <<'EOF'
version: 1
name: documents
product: atlas-a2
servers:
  - {hosts: "server[0-1]", address: "192.168.7.[22-23]"}
devices:
  netmask: 255.255.255.0
  rails:
    - {device: 0-7, subnet: 10.20.0.0/24, host: 2 + 8*n + d}
  detect_address: 10.20.0.1
EOF
}
# a2_by_hand NUMBER: as the document for Debian and its like has it.
a2_by_hand() {
  on "server$1" /usr/sbin/ufw --force enable
  on "server$1" /bin/bash -e -c "
    echo net.ipv4.ip_local_reserved_ports=60000-60015 >>/etc/sysctl.conf
    sysctl -p
    for i in {0..7}; do hccn_tool -i \$i -ip -s address 10.20.0.\$((2 + 8 * $1 + i)) netmask 255.255.255.0; done
    for i in {0..7}; do hccn_tool -i \$i -netdetect -s address 10.20.0.1; done
    ufw disable"
}

begin c < <(two_a2_servers)
for number in 0 1; do
  a2_by_hand "$number"
  on "server$number" /bin/bash -e -c "
    sysctl -w net.core.somaxconn=65535
    sysctl -w net.ipv4.tcp_max_syn_backlog=65535"
  ! on "server$number" /bin/grep -q tls_enable /etc/hccn.conf || fail "somebody wrote the TLS switch"
  install "$number" observe
done
await "attaching" both_attached
# The file has the documents' ports, not those that a newer CANN takes.
warnings="ports-reserved sysctl-persistent host-name"
says=("reserved ports: 60000-60015; not reserved: 60016-60031" "sysctl.conf:" "resolves to")
check
! on server0 /bin/grep -q tls_enable /etc/hccn.conf || fail "the check wrote the TLS switch"

begin d < <(two_a2_servers)
for number in 0 1; do
  a2_by_hand "$number"
  install "$number" observe
done
await "attaching" both_attached
warnings="ports-reserved sysctl-persistent host-name"
check
echo "documents: all well"
