#!/usr/bin/env bash
# deploy/ansible as its README has it: a controller, a server that joins and one that gets its pair,
# each a booted machine with systemd. The first run installs all, the second changes nothing, and a
# newer package and another setting reach a server. Only ssh is a stand-in, which reaches into these
# machines. Needs root and CAP_SYS_ADMIN; says so and passes without them.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
. tests/systemd/await.sh
machines=(controller node01 node02)
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
  # A missing package of tests/run.sh is a failure.
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
in_network() { nsenter --net="$TEST_TMPDIR/$1/net" "${@:2}"; }
in_network controller ip link add bridge type bridge
in_network controller ip address add 10.0.0.5/24 dev bridge
in_network controller ip link set bridge up
for number in 1 2; do
  in_network controller ip link add "s$number" type veth \
    peer name eth0 netns "$TEST_TMPDIR/node0$number/net"
  in_network controller ip link set "s$number" master bridge up
  in_network "node0$number" ip address add "10.0.0.1$number/24" dev eth0
  in_network "node0$number" ip link set eth0 up
done

# --- What the README of the role wants. ----------------------------------------

work=$TEST_TMPDIR/work
mkdir -p "$work" "$TEST_TMPDIR/programs"
cp -L daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl "$TEST_TMPDIR/programs/"
package() { deploy/package.sh --programs "$TEST_TMPDIR/programs" --format deb --out "$work/packages" "$@" >/dev/null; }
package
sed -e 's/^name: .*/name: mycluster/' -e 's/server\[0-1\]/node[01-02]/' -e 's/server0/node01/' -e 's/server1/node02/' \
  config/examples/two-servers.yaml >"$work/cluster.yaml"
deploy/certificates.sh init "$work/tls" mycluster
deploy/certificates.sh controller "$work/tls" mycluster
deploy/certificates.sh ca-dir "$work/tls" mycluster "$work/ca"
deploy/certificates.sh user "$work/tls" mycluster alice admin
deploy/certificates.sh host "$work/tls" mycluster node02
cat >"$work/ssh" <<EOT
#!/bin/bash
# The last words are HOST and COMMAND.
case \${@: -2:1} in 10.0.0.5) name=controller ;; 10.0.0.11) name=node01 ;; *) name=node02 ;; esac
exec "$machine" exec "$TEST_TMPDIR/\$name" /bin/sh -c "\${@: -1}"
EOT
# alice's clusterctl, in that network; where there are counted tokens, too.
mkdir "$work/bin"
cat >"$work/bin/clusterctl" <<EOT
#!/bin/bash
[ "\$1 \$2" != "token create" ] || echo token >>"$work/tokens"
CLUSTERD_CONTROLLER=10.0.0.5:7443 CLUSTERD_CA="$work/tls/ca.crt" CLUSTERD_CERT="$work/tls/user-alice.crt" \
  CLUSTERD_KEY="$work/tls/user-alice.key" exec nsenter --net="$TEST_TMPDIR/controller/net" "$TEST_TMPDIR/programs/clusterctl" "\$@"
EOT
chmod +x "$work/ssh" "$work/bin/clusterctl"
sed 's|{ansible_host: 10.0.0.12}|{ansible_host: 10.0.0.12, clusterd_admin: "", clusterd_certificates: "{{ inventory_dir }}/tls"}|' \
  deploy/ansible/inventory.yaml >"$work/inventory.yaml"
play() {
  ANSIBLE_HOST_KEY_CHECKING=false ANSIBLE_SSH_ARGS='' ANSIBLE_NOCOLOR=1 ANSIBLE_LOCAL_TEMP=$TEST_TMPDIR/ansible \
    ANSIBLE_HOME=$TEST_TMPDIR/ansible ANSIBLE_PIPELINING=true LC_ALL=C.UTF-8 PATH=$work/bin:$PATH \
    ansible-playbook -i "$work/inventory.yaml" deploy/ansible/site.yaml \
    -e ansible_ssh_executable="$work/ssh" -e ansible_ssh_transfer_method=piped \
    -e ansible_python_interpreter=/usr/bin/python3 -e clusterd_packages="$work/packages" "$@" >"$TEST_TMPDIR/out" 2>&1 ||
    { cat "$TEST_TMPDIR/out" && fail "ansible-playbook $*"; }
  grep -A 5 '^PLAY RECAP' "$TEST_TMPDIR/out"
}
# Read through <(): a writer into a pipe that grep has left fails with it.
attached() { grep -qE '^attached +node\[01-02\] ' <("$work/bin/clusterctl" hosts 2>/dev/null); }
# identity HOST: a link where it has joined.
identity() { on "$1" /usr/bin/readlink /etc/clusterd/host.crt || true; }
tokens() { wc -l <"$work/tokens"; }

play
await "the attachment of both servers" attached
[ "$(identity node01)" = identity/current/host.crt ] || fail "node01 has not joined"
[ -z "$(identity node02)" ] || fail "node02 has joined, and was given a pair"
[ "$(tokens)" -eq 1 ] || fail "tokens: expected 1, found $(tokens)"
! on node01 /usr/bin/test -e /run/clusterd-join.token || fail "the token stays on node01"
[ "$(on node01 /usr/bin/systemctl is-enabled clusterd)" = enabled ] || fail "clusterd does not start at boot"
for name in node01 node02; do
  [ "$(on "$name" /usr/bin/stat -Lc %a /etc/clusterd/host.key)" = 600 ] || fail "others may read the key of $name"
done

ran=$(on node01 /usr/bin/systemctl show -p MainPID --value clusterd)
play
recap() { grep -A 5 '^PLAY RECAP' "$TEST_TMPDIR/out"; }
grep -q 'changed=0.*failed=0' <(recap) || fail "the playbook did not report its changes"
! grep -q 'changed=[1-9]' <(recap) || { cat "$TEST_TMPDIR/out" && fail "the second run changed something"; }
[ "$(on node01 /usr/bin/systemctl show -p MainPID --value clusterd)" = "$ran" ] || fail "the second run restarted clusterd"
[ "$(tokens)" -eq 1 ] || fail "the second run made a token that nobody needs"

package --release 2
play -e clusterd_version="*-2" -e '{"clusterd_agent": {"allow": ["observe", "sysctl"]}}'
# shellcheck disable=SC2016  # dpkg-query expands it
[[ $(on node01 /usr/bin/dpkg-query -W -f '${Version}' clusterd) = *-2 ]] || fail "no newer package"
on node01 /bin/grep -q sysctl /etc/clusterd/agent.yaml || fail "no other setting"
[ "$(on node01 /usr/bin/systemctl is-active clusterd)" = active ] || fail "clusterd does not run with it"

# A reinstalled server, with a token from an administrator.
on node01 /bin/sh -c 'rm -rf /etc/clusterd/identity /etc/clusterd/host.* /etc/clusterd/ca.crt; systemctl stop clusterd'
"$work/bin/clusterctl" certificates reset node01 || fail "node01's key is not forgotten"
line=$("$work/bin/clusterctl" token create --hosts node01 -o short)
[[ $line =~ --ca-hash\ (sha256:[0-9a-f]+).*--token\ ([^ ]+) ]] || fail "no token in \"$line\""
play --limit node01 -e clusterd_version="*-2" -e clusterd_admin= -e clusterd_ca_hash="${BASH_REMATCH[1]}" -e clusterd_token="${BASH_REMATCH[2]}"
await "the attachment of both servers" attached
[ "$(tokens)" -eq 2 ] || fail "the run made a token although it was given one"
! grep -qF "${BASH_REMATCH[2]}" "$TEST_TMPDIR/out" || fail "the token is in what Ansible prints"
echo "ansible: all well"
