#!/usr/bin/env bash
# The installation as daemon/docs/install.md has it, word by word: a controller and two servers that
# join it, booted machines on one network. Then upgrade, removal and purge of the packages.
# Stand-ins replace ssh and scp, which reach into these machines, and the workstation's dpkg. Needs
# root and CAP_SYS_ADMIN; says so and passes without them.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
. tests/systemd/await.sh
machines=(controller node01 node02)

# Two releases of the same programs; the test is also run without git.
SOURCE_DATE_EPOCH=1735689600
export SOURCE_DATE_EPOCH

fail() {
  echo "FAILED: $*"
  for name in "${machines[@]}"; do
    "$machine" exec "$TEST_TMPDIR/$name" /usr/bin/journalctl --no-pager -n 20 -u clusterd -u clusterd-controller || true
  done
  exit 1
}

if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # A missing package of tests/run.sh is a failure.
  case $why in *"not installed"* | *"no root folder"*) exit 1 ;; esac
  exit 0
fi

# --- What an administrator finds: three machines, and this folder. ----------

down() {
  local name
  for name in "${machines[@]}"; do
    [ ! -d "$TEST_TMPDIR/$name" ] || "$machine" down "$TEST_TMPDIR/$name" || true
  done
}
trap down EXIT
for name in "${machines[@]}"; do
  "$machine" up "$TEST_TMPDIR/$name"
  "$machine" exec "$TEST_TMPDIR/$name" /bin/hostname "$name"
done
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

work=$TEST_TMPDIR/clusterd
stand_ins=$TEST_TMPDIR/bin
mkdir -p "$work/.cache" "$stand_ins" "$TEST_TMPDIR/home" "$TEST_TMPDIR/programs"
ln -s "$here/deploy" "$work/deploy"
cp -L daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl "$TEST_TMPDIR/programs/"
package() { deploy/package.sh --programs "$TEST_TMPDIR/programs" --format deb "$@" >/dev/null; }
package --out "$work/.cache/packages" || fail "no packages"
cat >"$stand_ins/ssh" <<EOT
#!/bin/bash
case \$1 in root@10.0.0.5) name=controller ;; *) name=\${1#root@} ;; esac
exec "$machine" exec "$TEST_TMPDIR/\$name" /bin/sh -c "\$2"
EOT
cat >"$stand_ins/scp" <<EOT
#!/bin/bash
# The last word is MACHINE:PATH.
to=\${!#}
case \$to in root@10.0.0.5:*) name=controller ;; *) name=\${to%%:*} name=\${name#root@} ;; esac
for file in "\${@:1:\$#-1}"; do
  path=\${to#*:}
  case \$path in */) path+=\${file##*/} ;; esac
  "$machine" push "$TEST_TMPDIR/\$name" "\$file" "\$path" || exit
done
EOT
cat >"$stand_ins/dpkg" <<EOT
#!/bin/bash
[ "\$1" = -i ] && exec dpkg-deb -x "\$2" "$TEST_TMPDIR/workstation"
EOT
chmod +x "$stand_ins/ssh" "$stand_ins/scp" "$stand_ins/dpkg"

# files MACHINE: every file and folder that a package could have left there,
# without the records of dpkg and systemd about their own work.
files() {
  on "$1" /bin/sh -c 'find /etc /usr /lib /opt /root /srv /var /run/systemd/system /run/clusterd* 2>/dev/null |
    grep -vE "^/(etc/(passwd|group|shadow|gshadow|subuid|subgid)-|var/(lib/(dpkg|systemd)|log|cache|tmp)/|run/systemd/system)" | sort -u'
}
on() { "$machine" exec "$TEST_TMPDIR/$1" "${@:2}"; }
for name in controller node01; do files "$name" >"$TEST_TMPDIR/$name.before"; done

# --- What the page says. ------------------------------------------------------

# block NUMBER: the lines of that fenced block of the section.
block() {
  awk -v number="$1" '
    /^## / { inside = $0 == "## Install" }
    inside && /^ *```/ {
      if (!fenced && $1 == "```sh") { taken = ++count == number } else { taken = 0 }
      fenced = !fenced
      next
    }
    inside && taken' daemon/docs/install.md
}
if [ -z "$(block 6)" ] || [ -n "$(block 7)" ]; then fail "install.md: expected six blocks of commands"; fi
grep -q 'clusterctl token create' <(block 5) || fail "install.md: the fifth block does not join"

# typed COMMAND...: runs it there, as an administrator would type it.
typed() {
  (cd "$work" && HOME=$TEST_TMPDIR/home PATH=$stand_ins:$TEST_TMPDIR/workstation/usr/bin:$PATH LC_ALL=C.UTF-8 \
    nsenter --net="$TEST_TMPDIR/controller/net" "$@")
}
# run_blocks FLAG NUMBER...: as typed into one shell in that folder.
run_blocks() {
  local flag=$1 number
  shift
  for number in "$@"; do block "$number"; done >"$TEST_TMPDIR/block"
  typed bash "$flag" "$TEST_TMPDIR/block"
}
run_blocks -e 1 2 3 4 5 || fail "a command of the blocks 1 to 5 ended with $?"

# A server attaches when it has come up: retry an early query.
both_attached() {
  status=0
  run_blocks +e 6 >"$TEST_TMPDIR/out" 2>&1 || status=$?
  grep -qE '^attached +node\[01-02\] ' "$TEST_TMPDIR/out"
}
await_both() {
  await "the attachment of both servers" both_attached
  cat "$TEST_TMPDIR/out"
}
await_both
grep -q "Cluster mycluster, atlas-a2, 2 hosts: node\[01-02\]" "$TEST_TMPDIR/out" || fail "no check of both servers"
! grep -qE "not attached|no facts from|no answer" "$TEST_TMPDIR/out" || fail "a server did not answer"
# These machines have no devices, and Debian's default kernel parameters.
[ "$status" -eq 1 ] || fail "status of the check: expected 1, found $status"

# Running it again changes nothing.
run_blocks -e 1 2 || fail "certificates are not made a second time"
# No key came from elsewhere: each server has made its own.
for name in node01 node02; do
  [ ! -e "$work/tls/$name.key" ] || fail "a key of $name was made beside it"
  on "$name" /usr/bin/test -f /etc/clusterd/identity/current/host.key || fail "$name has not joined"
done
typed clusterctl certificates >"$TEST_TMPDIR/out" || fail "clusterctl certificates"
grep -qx 'mycluster: 2 enrolled' "$TEST_TMPDIR/out" || { cat "$TEST_TMPDIR/out" && fail "not both are on record"; }

# --- What a package promises besides. ---------------------------------------------

expect() {
  local what=$1 expected=$2 actual=$3
  [ "$actual" = "$expected" ] || fail "$what: expected \"$expected\", found \"$actual\""
}
state() { on "$1" /usr/bin/systemctl is-active "$2" || true; }
pid() { on "$1" /usr/bin/systemctl show -p MainPID --value "$2"; }
kept() { on "$1" /bin/sh -c 'cd /etc/clusterd && ls -lnR && find . -type f -exec sha256sum {} +'; }

# An upgrade only restarts running services; files in /etc stay.
package --release 2 --out "$TEST_TMPDIR/newer" || fail "no newer packages"
on node02 /usr/bin/systemctl stop clusterd
before=$(kept node01)$(kept controller)
ran=$(pid node01 clusterd)
upgrade() {
  "$machine" push "$TEST_TMPDIR/$1" "$TEST_TMPDIR/newer/$2"_*-2_*.deb /tmp/newer.deb
  on "$1" /usr/bin/dpkg -i /tmp/newer.deb || fail "the upgrade of $2 on $1"
}
upgrade node01 clusterd
upgrade node02 clusterd
upgrade controller clusterd-controller
expect "the stopped clusterd" inactive "$(state node02 clusterd)"
expect "the upgraded clusterd" active "$(state node01 clusterd)"
[ "$(pid node01 clusterd)" != "$ran" ] || fail "the upgrade did not restart clusterd"
expect "what is in /etc/clusterd" "$before" "$(kept node01)$(kept controller)"
on node02 /usr/bin/systemctl start clusterd
await_both

# systemd ends a clusterd that hangs, and starts it again. No clusterd on a loaded
# machine hangs for so long by chance.
on node02 /bin/sh -c 'mkdir -p /run/systemd/system/clusterd.service.d &&
  printf "[Service]\nWatchdogSec=30\nRestartSec=0\n" >/run/systemd/system/clusterd.service.d/watchdog.conf &&
  systemctl daemon-reload && systemctl restart clusterd'
ran=$(pid node02 clusterd)
on node02 /bin/kill -STOP "$ran"
restarted() { [ "$(state node02 clusterd)" = active ] && [ "$(pid node02 clusterd)" != "$ran" ]; }
await "the restart of a clusterd that hangs" restarted
# The journal takes a line when it gets to it.
for_its_watchdog() { grep -q "Watchdog timeout" <(on node02 /usr/bin/journalctl --no-pager -u clusterd); }
await "the watchdog in the journal" for_its_watchdog

# A wrong agent.yaml is reported once, not repeatedly.
on node02 /bin/sh -c 'echo "contoller: x" >>/etc/clusterd/agent.yaml; systemctl restart clusterd' || true
expect "a clusterd with a wrong agent.yaml" "failed" "$(state node02 clusterd)"
expect "its restarts" 0 "$(on node02 /usr/bin/systemctl show -p NRestarts --value clusterd)"

# Removal keeps the administrator's files, the server's identity, and its record of changes; purge
# removes all.
left() { files "$1" | comm -13 "$TEST_TMPDIR/$1.before" - | grep -v -e '^/tmp/' || true; }
on node01 /usr/bin/dpkg -r clusterd || fail "the removal of clusterd"
expect "clusterd after its removal" inactive "$(state node01 clusterd)"
expect "what clusterd's removal leaves" \
  "$(printf '%s\n' /etc/clusterd/{,agent.yaml,ca.crt,host.crt,host.key,identity} /var/lib/clusterd{,/apply,/audit.jsonl} | sed 's,/$,,' | sort)" \
  "$(left node01 | grep -v -e '^/var/lib/clusterd/.*/' -e '^/etc/clusterd/identity/')"
on node01 /usr/bin/dpkg -P clusterd || fail "the purge of clusterd"

# A server that has joined on the controller's machine takes its identity with it. The controller's
# CA was a link into that identity, and stays.
typed clusterctl certificates reset node01 || fail "node01's key is not forgotten"
join=$(typed clusterctl token create --hosts node01 -o short)
"$machine" push "$TEST_TMPDIR/controller" "$TEST_TMPDIR/newer"/clusterd_*-2_*.deb /tmp/clusterd.deb
on controller /bin/sh -c "dpkg -i /tmp/clusterd.deb && $join --name node01" || fail "the join on the controller's machine"
expect "its ca.crt" identity/current/ca.crt "$(on controller /usr/bin/readlink /etc/clusterd/ca.crt)"
ca=$(on controller /usr/bin/sha256sum /etc/clusterd/ca.crt)
on controller /bin/sh -c 'umask 077 && dpkg -P clusterd' || fail "the purge of clusterd beside a controller"
expect "the CA after the purge" "regular file 644 $ca" \
  "$(on controller /usr/bin/stat -c '%F %a' /etc/clusterd/ca.crt) $(on controller /usr/bin/sha256sum /etc/clusterd/ca.crt)"
on controller /usr/bin/systemctl restart clusterd-controller || fail "the controller does not start after it"
expect "the controller after it" active "$(state controller clusterd-controller)"
on controller /usr/bin/dpkg -P clusterd-controller || fail "the purge of clusterd-controller"
expect "the controller after its purge" inactive "$(state controller clusterd-controller)"
for name in node01 controller; do expect "what a purge leaves on $name" "" "$(left "$name")"; done
! on controller /usr/bin/getent passwd clusterd || fail "the purge leaves the user clusterd"
# A service without a certificate was not started.
on controller /bin/sh -c 'dpkg -i /tmp/clusterd-controller_*.deb' || fail "the installation after a purge"
expect "a new controller" "inactive disabled" \
  "$(state controller clusterd-controller) $(on controller /usr/bin/systemctl is-enabled clusterd-controller || true)"
on controller /usr/bin/systemctl start clusterd-controller || fail "the start without a certificate"
expect "a controller without a certificate" inactive "$(state controller clusterd-controller)"
echo "readme: all well"
