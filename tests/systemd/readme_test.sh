#!/usr/bin/env bash
# The installation by hand as README.md has it, word by word: a controller and
# two servers, each a machine of its own with a systemd, on one network. Only
# ssh and scp are stand-ins, which reach into these machines. Needs root and
# CAP_SYS_ADMIN; says so and passes where they are not to be had.
set -euo pipefail
here=$PWD
machine=$here/tests/systemd/machine.sh
machines=(controller node01 node02)

fail() {
  echo "FAILED: $*"
  for name in "${machines[@]}"; do
    "$machine" exec "$TEST_TMPDIR/$name" /usr/bin/journalctl --no-pager -n 20 -u clusterd -u clusterd-controller || true
  done
  exit 1
}

if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # What tests/run.sh installs is no excuse.
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

work=$TEST_TMPDIR/clusterd
stand_ins=$TEST_TMPDIR/bin
mkdir -p "$work/.cache/quickstart/bin" "$stand_ins" "$TEST_TMPDIR/home"
ln -s "$here/deploy" "$work/deploy"
for program in daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl; do
  ln -s "$here/$program" "$work/.cache/quickstart/bin/"
done
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
chmod +x "$stand_ins/ssh" "$stand_ins/scp"

# --- What the README says. ---------------------------------------------------

# block NUMBER: the lines of that fenced block of the section.
block() {
  awk -v number="$1" '
    /^## / { inside = $0 == "## Try it on real servers" }
    inside && /^ *```/ {
      if (!fenced && $1 == "```sh") { taken = ++count == number } else { taken = 0 }
      fenced = !fenced
      next
    }
    inside && taken { sub(/^   /, ""); print }' README.md
}
if [ -z "$(block 5)" ] || [ -n "$(block 6)" ]; then fail "README.md: expected five blocks of commands"; fi

# run_blocks FLAG NUMBER...: as typed into one shell in that folder.
run_blocks() {
  local flag=$1 number
  shift
  for number in "$@"; do block "$number"; done >"$TEST_TMPDIR/block"
  (cd "$work" && HOME=$TEST_TMPDIR/home PATH=$stand_ins:$PATH LC_ALL=C.UTF-8 \
    nsenter --net="$TEST_TMPDIR/controller/net" bash "$flag" "$TEST_TMPDIR/block")
}
run_blocks -e 1 2 3 4 || fail "a command of the blocks 1 to 4 ended with $?"

# A server attaches when it has come up; whoever looks earlier looks again. Block
# 1 is run again, too, for the path that it sets.
both_attached() {
  status=0
  run_blocks +e 1 5 >"$TEST_TMPDIR/out" 2>&1 || status=$?
  grep -qE '^attached +node\[01-02\] ' "$TEST_TMPDIR/out"
}
attached=false
for _ in $(seq 100); do
  if both_attached; then
    attached=true
    break
  fi
  sleep 0.1
done
cat "$TEST_TMPDIR/out"
$attached || fail "the servers did not attach"
grep -q "Cluster mycluster, atlas-a2, 2 hosts: node\[01-02\]" "$TEST_TMPDIR/out" || fail "no check of both servers"
! grep -qE "not attached|no facts from|no answer" "$TEST_TMPDIR/out" || fail "a server did not answer"
# These machines have no devices, and their kernel is as Debian leaves it.
[ "$status" -eq 1 ] || fail "status of the check: expected 1, found $status"

# What is written there again changes nothing.
run_blocks -e 1 2 || fail "certificates are not made a second time"
echo "readme: all well"
