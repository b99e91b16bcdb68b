#!/usr/bin/env bash
# FirewallChanger against the real ufw and firewalld, in a machine of its own.
# Needs root and CAP_SYS_ADMIN; says so and passes without them.
set -euo pipefail
machine=$PWD/tests/systemd/machine.sh
program=$PWD/daemon/host/change/firewall_changer_machine_test
dir=$TEST_TMPDIR/machine

if ! why=$("$machine" available); then
  echo "no machine of its own is to be had here: ${why#no: }"
  # A missing package of tests/run.sh is a failure.
  case $why in *"not installed"* | *"no root folder"*) exit 1 ;; esac
  exit 0
fi
trap '"$machine" down "$dir"' EXIT
"$machine" up "$dir"
"$machine" push "$dir" "$program" /usr/local/bin/firewall_test
"$machine" exec "$dir" /usr/local/bin/firewall_test

name=$(cat "$dir/name")
trap - EXIT
"$machine" down "$dir"
[ ! -e "$dir" ] || { echo "$dir is left" && exit 1; }
[ -z "$(find /sys/fs/cgroup -maxdepth 3 -name "$name")" ] || { echo "control groups are left" && exit 1; }
if grep -F "$dir" /proc/mounts; then echo "mounts are left" && exit 1; fi
