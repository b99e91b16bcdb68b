#!/usr/bin/env bash
# The real deploy/rehearse.sh with built programs: the examples of each product, mistakes in files
# and faults, a plan that does not lead to a pass. Faults are named, fixed, stop the apply, or are
# not faults.
set -uo pipefail

fail() {
  echo "FAILED: $*"
  exit 1
}

bin=$TEST_TMPDIR/bin
mkdir "$bin"
for program in daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl \
  tests/sim/hccn_tool tests/sim/ascend950/hccn_tool_950 tests/sim/simhost \
  tests/sim/fleet/fleet tests/sim/fleet/rehearsal; do
  ln -s "$PWD/$program" "$bin/"
done
# A path short enough for a socket's name.
TMPDIR=$(mktemp -d /tmp/clusterd-rehearsals.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
chmod 0755 "$TMPDIR"

# rehearse STATUS FILE OPTIONS...: leaves its output in $said.
rehearse() {
  local expected=$1 status=0
  shift
  said=$(deploy/rehearse.sh --programs "$bin" "$@" 2>&1 </dev/null) || status=$?
  echo "--- $*"
  echo "$said"
  [ "$status" -eq "$expected" ] || fail "$*: expected status $expected, found $status"
  [ -z "$(ls -A "$TMPDIR")" ] || fail "$*: it left $(ls -A "$TMPDIR")"
  ! pgrep -f "$TMPDIR/clusterd-rehearse" >/dev/null || fail "$*: programs are left running"
}
expect() {
  grep -qE -- "$1" <<<"$said" || fail "it does not say \"$1\""
}

# patient EXAMPLE SED: the changed example with deadlines for a loaded machine.
patient() {
  sed -E "/^deadlines:/d; $2" "config/examples/$1" >"$TEST_TMPDIR/$1"
  echo "deadlines: {command: 1m, host: 10m, run: 20m}" >>"$TEST_TMPDIR/$1"
}
two=$TEST_TMPDIR/two-servers.yaml
patient two-servers.yaml ''
# few EXAMPLE SED: the changed example with fewer servers, to save time.
few() {
  ! cmp -s <(sed -E "$2" "config/examples/$1") "config/examples/$1" || fail "$1 is not as this test knows it"
  patient "$1" "$2"
}
few atlas-a2.yaml 's/\[01-16\]/[01-03]/; s/\[11-26\]/[11-13]/'
few atlas-a3.yaml 's/n\[01-12\]/n01/'
few ascend-950.yaml 's/\[01-08\]/[01-02]/; s/\[11-18\]/[11-12]/'

for example in "$two" "$TEST_TMPDIR"/atlas-a{2,3}.yaml "$TEST_TMPDIR/ascend-950.yaml"; do
  rehearse 0 "$example" --namespaces 0
  expect '^check, at first +[0-9.]+  fail: '
  expect '^plan +[0-9.]+  [0-9,]+ steps on [0-9]+ hosts'
  expect '^apply +[0-9.]+  ([0-9]+) of \1 hosts succeeded in 2 waves$'
  expect '^check, after the apply +[0-9.]+  (pass|warn): '
  expect '^rollback +[0-9.]+  ([0-9]+) of \1 hosts rolled back '
  expect '^check, after the rollback +[0-9.]+  fail: '
done
# As many as fit in namespaces: none, if other programs use the memory.
rehearse 0 "$two"
if tests/sim/namespaces.sh available; then
  expect '^2 servers of atlas-training, (0 in memory, 2|1 in memory, 1|2 in memory, 0) with a clusterd each, in namespaces '
else
  expect '^2 servers of atlas-training, 2 in memory, 0 with a clusterd each, on loopback$'
fi

rehearse 3 tests/testdata/spec/ten-mistakes.yaml
[ "$(grep -c 'ten-mistakes.yaml:[0-9]' <<<"$said")" -ge 10 ] || fail "not every mistake is named"
rehearse 3 "$two" --fault 3:lnk=DOWN --fault server7:3:link=DOWN
expect 'unknown key "lnk".*link'
expect 'no server "server7"'
rehearse 3 "$two" --namespaces 0 --fault host:machine_id=51a0 --fault 3:sdid=7
expect 'host:machine_id=51a0": cannot act side by side: no rule reads it'
expect '3:sdid=7": cannot act on a server outside an Atlas A3 super pod'
rehearse 3 "$two" --wave many

# Two devices of a server in one subnet, which the product forbids.
bad=$TEST_TMPDIR/bad.yaml
sed 's/192.168.101.1\([01]1\)/192.168.100.2\1/' "$two" >"$bad"
rehearse 1 "$bad" --namespaces 0
expect '^Failures:'
expect 'after the apply: fail '

if [ "$(id -u)" -ne 0 ]; then
  rehearse 2 "$two" --fault 3:link=DOWN
  expect 'needs root'
  echo "rehearsals: all well, but for faults, which need root"
  exit 0
fi
# Servers in memory and servers with a clusterd agree.
rehearse 0 "$TEST_TMPDIR/atlas-a2.yaml" --namespaces 0 --fault a2-02:3:address=192.168.9.9
expect '^3 servers of atlas-a2, 2 in memory, 1 with a clusterd each'
expect 'a2-02: fixed by the apply'

rehearse 0 "$two" --namespaces 0 --fault server1:3:link=DOWN --fault 5:netmask=255.255.255.128
expect 'server1: the check says: fail link, device 3: '
expect 'server1: after the apply: fail link, device 3: '
rehearse 0 "$two" --namespaces 0 --fault 3:address=192.168.9.9
expect 'server1: fixed by the apply'
# Faults that act on real resources in namespaces.
if tests/sim/namespaces.sh available; then
  rehearse 3 "$two" --fault host:uda=5b0c7e21d9f4
  expect 'cannot act in namespaces: '
  rehearse 0 "$two" --fault host:listen=60003
  expect 'in namespaces that have no way out'
  expect 'server1: the check says: warn ports-free'
fi
rehearse 0 "$two" --namespaces 0 --fault server0:3:lies=1
expect 'server0: apply: undone: '
expect '^apply +[0-9.]+  0 of 2 hosts succeeded in 2 waves, 1 not started'
rehearse 1 "$two" --namespaces 0 --fault 3:link=UP
expect 'server1: nothing noticed its faults'
echo "rehearsals: all well"
