#!/usr/bin/env bash
# deploy/ansible as its README has it: a controller and a server, each a machine of
# its own with a systemd. The first run installs all, the second changes nothing,
# and a newer package and another setting reach the server. Only ssh is a stand-in,
# which reaches into these machines. Needs root and CAP_SYS_ADMIN; says so and passes
# where they are not to be had.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
machines=(controller node01)
SOURCE_DATE_EPOCH=1735689600
export SOURCE_DATE_EPOCH

fail() {
  echo "FAILED: $*"
  for name in "${machines[@]}"; do
    on "$name" /usr/bin/journalctl --no-pager -n 20 -u clusterd -u clusterd-controller || true
  done
  exit 1
}
on() { "$machine" exec "$TEST_TMPDIR/$1" "${@:2}"; }

if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # What tests/run.sh installs is no excuse.
  case $why in *"not installed"* | *"no root folder"*) exit 1 ;; esac
  exit 0
fi
down() {
  local name
  for name in "${machines[@]}"; do
    [ ! -d "$TEST_TMPDIR/$name" ] || "$machine" down "$TEST_TMPDIR/$name" || true
  done
}
trap down EXIT
for name in "${machines[@]}"; do "$machine" up "$TEST_TMPDIR/$name"; done
nsenter --net="$TEST_TMPDIR/controller/net" ip link add eth0 type veth peer name eth0 netns "$TEST_TMPDIR/node01/net"
address=([0]=10.0.0.5 [1]=10.0.0.11)
for at in 0 1; do
  nsenter --net="$TEST_TMPDIR/${machines[at]}/net" ip address add "${address[at]}/24" dev eth0
  nsenter --net="$TEST_TMPDIR/${machines[at]}/net" ip link set eth0 up
done

# --- What the README of the role wants. ----------------------------------------

work=$TEST_TMPDIR/work
mkdir -p "$work" "$TEST_TMPDIR/programs"
cp -L daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl "$TEST_TMPDIR/programs/"
package() { deploy/package.sh --programs "$TEST_TMPDIR/programs" --format deb --out "$work/packages" "$@" >/dev/null; }
package
cp config/examples/two-servers.yaml "$work/cluster.yaml"
cluster=$(sed -n 's/^name: //p' "$work/cluster.yaml")
deploy/certificates.sh init "$work/tls" "$cluster"
deploy/certificates.sh controller "$work/tls" "$cluster"
deploy/certificates.sh host "$work/tls" "$cluster" node01
cat >"$work/ssh" <<EOT
#!/bin/bash
# The last words are HOST and COMMAND.
case \${@: -2:1} in 10.0.0.5) name=controller ;; *) name=node01 ;; esac
exec "$machine" exec "$TEST_TMPDIR/\$name" /bin/sh -c "\${@: -1}"
EOT
chmod +x "$work/ssh"
sed '/node02/d' deploy/ansible/inventory.yaml >"$work/inventory.yaml"
play() {
  ANSIBLE_HOST_KEY_CHECKING=false ANSIBLE_SSH_ARGS='' ANSIBLE_NOCOLOR=1 ANSIBLE_LOCAL_TEMP=$TEST_TMPDIR/ansible \
    ANSIBLE_HOME=$TEST_TMPDIR/ansible ANSIBLE_PIPELINING=true LC_ALL=C.UTF-8 \
    ansible-playbook -i "$work/inventory.yaml" deploy/ansible/site.yaml \
    -e ansible_ssh_executable="$work/ssh" -e ansible_ssh_transfer_method=piped \
    -e ansible_python_interpreter=/usr/bin/python3 -e clusterd_packages="$work/packages" "$@" >"$TEST_TMPDIR/out" 2>&1 ||
    { cat "$TEST_TMPDIR/out" && fail "ansible-playbook $*"; }
  grep -A 5 '^PLAY RECAP' "$TEST_TMPDIR/out"
}
attached() { on controller /usr/bin/journalctl --no-pager -u clusterd-controller | grep -q 'node01: attached from'; }

play
for _ in $(seq 100); do
  ! attached || break
  sleep 0.1
done
attached || fail "node01 did not attach"
[ "$(on node01 /usr/bin/systemctl is-enabled clusterd)" = enabled ] || fail "clusterd does not start at boot"
[ "$(on node01 /usr/bin/stat -c %a /etc/clusterd/host.key)" = 600 ] || fail "others may read the key"

ran=$(on node01 /usr/bin/systemctl show -p MainPID --value clusterd)
play
grep -A 5 '^PLAY RECAP' "$TEST_TMPDIR/out" | grep -q 'changed=0.*failed=0' || fail "nothing was told"
! grep -A 5 '^PLAY RECAP' "$TEST_TMPDIR/out" | grep -q 'changed=[1-9]' || { cat "$TEST_TMPDIR/out" && fail "the second run changed something"; }
[ "$(on node01 /usr/bin/systemctl show -p MainPID --value clusterd)" = "$ran" ] || fail "the second run restarted clusterd"

package --release 2
play -e clusterd_version="*-2" -e '{"clusterd_agent": {"allow": ["observe", "sysctl"]}}'
# shellcheck disable=SC2016  # dpkg-query expands it
[[ $(on node01 /usr/bin/dpkg-query -W -f '${Version}' clusterd) = *-2 ]] || fail "no newer package"
on node01 /bin/grep -q sysctl /etc/clusterd/agent.yaml || fail "no other setting"
[ "$(on node01 /usr/bin/systemctl is-active clusterd)" = active ] || fail "clusterd does not run with it"
echo "ansible: all well"
