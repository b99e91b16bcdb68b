#!/usr/bin/env bash
# `deploy/quickstart.sh --slurm` as it is, with programs that are built already.
# Needs root and Slurm's packages; says so and passes without root.
set -uo pipefail
. tests/slurm/slurm.sh
slurm_own_network "$0" "$@"
. tests/slurm/quickstart_repo.sh

fail() {
  echo "FAILED: $*"
  exit 1
}
why=$(slurm_obstacle)
if [ -n "$why" ]; then
  echo "no Slurm is to be had here: $why"
  case $why in *"not installed"*) exit 1 ;; *) exit 0 ;; esac
fi

repo=$TEST_TMPDIR/repo
quickstart_repo "$repo"

# A path that a socket's name has room for.
TMPDIR=$(mktemp -d /tmp/clusterd-slurm.XXXXXX)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
chmod 0755 "$TMPDIR"

# A hook that gives up after the seconds of its default lets the job through: a
# loaded machine takes longer.
export slurm_hook_wait=${slurm_patience}s
status=0
said=$("$repo/deploy/quickstart.sh" --slurm 2>&1 </dev/null) || status=$?
echo "$said"
[ "$status" -eq 0 ] || fail "status: expected 0, found $status"
for expected in "0: server0: HCCL_IF_IP=192.168.7.22 MASTER_ADDR=192.168.7.22" \
  "clusterd: link: device 3" "1: server2: HCCL_IF_IP=192.168.7.24" "server1 idle none" \
  "server1: HCCL_IF_IP=192.168.7.23 MASTER_ADDR=192.168.7.23"; do
  grep -qF -- "$expected" <<<"$said" || fail "it does not say \"$expected\""
done
[ -z "$(ls -A "$TMPDIR")" ] || fail "it left $(ls -A "$TMPDIR")"
slurm_dir=$TMPDIR
slurm_await "the end of all processes" slurm_gone || fail "processes are left behind: $(slurm_processes)"

# Impossible requests are refused before anything is started.
for wrong in "--servers 2" "--fix" "--fault server0:3:link=DOWN"; do
  status=0
  # shellcheck disable=SC2086  # words
  "$repo/deploy/quickstart.sh" --slurm $wrong >/dev/null 2>&1 || status=$?
  [ "$status" -eq 3 ] || fail "--slurm $wrong: expected status 3, found $status"
done
echo "quickstart --slurm: all well"
