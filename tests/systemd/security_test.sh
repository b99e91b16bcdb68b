#!/usr/bin/env bash
# The privileges that our units leave to a service under an attacker's control, as systemd judges
# them. Each unit has a bound, and each capability that is left a reason.
set -euo pipefail

if ! command -v systemd-analyze >/dev/null; then
  echo "FAILED: systemd-analyze is not installed (package systemd)"
  exit 1
fi

# holds UNIT TENTHS: the exposure may be at most that many tenths.
holds() {
  local unit=deploy/systemd/$1.service status=0
  systemd-analyze security --no-pager --offline=true --threshold="$2" "$unit" >"$TEST_TMPDIR/judged" 2>&1 || status=$?
  grep '✗' "$TEST_TMPDIR/judged" || true
  grep -F "Overall exposure level for $1.service" "$TEST_TMPDIR/judged" || {
    cat "$TEST_TMPDIR/judged"
    echo "FAILED: $1 was not judged"
    exit 1
  }
  if [ "$status" -ne 0 ]; then
    echo "FAILED: $1 is exposed by more than $2 tenths"
    exit 1
  fi
}
holds clusterd-controller 15
holds clusterd 40

# A threshold that cannot be passed proves that the tool heeds it.
if systemd-analyze security --no-pager --offline=true --threshold=1 deploy/systemd/clusterd.service >/dev/null 2>&1; then
  echo "FAILED: systemd-analyze knows no threshold"
  exit 1
fi

# has UNIT LINE: settings that the score does not show: bounds, order, and the end of one that could
# never start.
has() {
  grep -qxF -- "$2" "deploy/systemd/$1.service" || {
    echo "FAILED: $1 has no line $2"
    exit 1
  }
}
has clusterd OOMPolicy=continue
has clusterd Delegate=yes
for unit in clusterd clusterd-controller; do
  has "$unit" LimitCORE=0
  has "$unit" RestartPreventExitStatus=3
  has "$unit" Restart=on-failure
  for bound in 'MemoryMax=[0-9]+G' 'TasksMax=[0-9]+' 'WatchdogSec=[0-9]+min'; do
    grep -qxE -- "$bound" "deploy/systemd/$unit.service" || {
      echo "FAILED: $unit has no $bound"
      exit 1
    }
  done
done
has clusterd 'Before=slurmd.service kubelet.service'
# A journal is found also without the identity and agent.yaml; files that every run of clusterd
# leaves are not journals.
has clusterd 'ConditionPathExistsGlob=|/var/lib/clusterd/apply/*.journal'
has clusterd 'ConditionPathExists=|/var/lib/clusterd/state-folders'
if grep -E '^Condition' deploy/systemd/clusterd.service | grep -vE '=\|(/etc/clusterd/(agent.yaml|host.crt)|/var/lib/clusterd/(state-folders|apply/\*\.journal))$'; then
  echo "FAILED: that starts a clusterd which has nothing to do"
  exit 1
fi

bare=$(awk '/^CapabilityBoundingSet=./ && before !~ /^#/ { print } { before = $0 }' deploy/systemd/*.service)
if [ -n "$bare" ]; then
  echo "FAILED: without a reason in front: $bare"
  exit 1
fi
# A new capability must be reviewed.
known=" CAP_CHOWN CAP_FOWNER CAP_FSETID CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_SETUID CAP_SETGID CAP_KILL
  CAP_SYS_PTRACE CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_ADMIN "
while read -r capability; do
  case $known in
    *"$capability"*) ;;
    *)
      echo "FAILED: clusterd has $capability"
      exit 1
      ;;
  esac
done < <(sed -n 's/^CapabilityBoundingSet=//p' deploy/systemd/clusterd.service | tr ' ' '\n')
echo "security: all well"
