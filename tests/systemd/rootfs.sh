#!/usr/bin/env bash
# The root folder of a machine with a systemd, a D-Bus, a ufw and a firewalld of
# its own, which machine.sh boots. This machine never gets a second firewall.
#   rootfs.sh path      where it is, or will be
#   rootfs.sh prepare   makes it if it is not there: some 100 s, 350 MB, needs
#                       root, debootstrap and the archive that apt uses
# Exit status: 0 done, 1 could not be done, 3 wrong usage.
set -euo pipefail

packages=(
  systemd systemd-sysv libpam-systemd dbus iproute2 procps
  ufw iptables nftables firewalld
  # Libraries of this machine with which the programs are linked.
  libgrpc++1.51 libprotobuf32 libabsl20220623 libyaml-cpp0.7 libpugixml1v5 libsqlite3-0 libssl3 zlib1g openssl
  libutf8proc2 libctemplate3 libevent-2.1-7 libevent-extra-2.1-7 libevent-openssl-2.1-7 libevent-pthreads-2.1-7
)

say() { echo "rootfs.sh: $*" >&2; }

codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
list=$(printf '%s\n' "$codename" "${packages[@]}" | sha256sum | cut -c1-12)
folder=/var/cache/clusterd-tests/rootfs-$list

prepare() {
  local site new log include try
  [ ! -e "$folder/.complete" ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "needs root, this is uid $(id -u)"
    return 1
  fi
  # shellcheck disable=SC2016  # apt expands these
  site=$(apt-get indextargets --format '$(SITE) $(ORIGIN) $(CODENAME)' "Created-By: Packages" |
    sed -n "s/ Debian $codename\$//p" | sed -n 1p)
  if [ -z "$site" ]; then
    say "apt knows no Debian archive of \"$codename\", nothing to take packages from"
    return 1
  fi
  mkdir -p "${folder%/*}"
  # Two at once would take the same packages twice; the second finds it done.
  exec 9>"$folder.lock"
  flock 9
  [ ! -e "$folder/.complete" ] || return 0
  new=$folder.new
  rm -rf --one-file-system "$new"
  log=$folder.log
  include=$(IFS=, && echo "${packages[*]}")
  # An archive may fail to answer once among some two hundred files.
  for try in 1 2 3; do
    if debootstrap --variant=minbase "--include=$include" "$codename" "$new" "$site" >"$log" 2>&1; then
      break
    fi
    if [ "$try" -eq 3 ]; then
      tail -n 20 "$log" >&2
      say "debootstrap failed, all of its words are in $log"
      return 1
    fi
    rm -rf --one-file-system "$new"
  done
  rm -rf "$new"/var/cache/apt/archives/*.deb "$new"/var/lib/apt/lists/*
  # Nothing of this machine, and no firewall until a test starts one.
  rm -f "$new/etc/resolv.conf" "$new/usr/sbin/policy-rc.d"
  chroot "$new" systemctl --quiet disable firewalld.service ufw.service
  rm -rf --one-file-system "$folder"
  touch "$new/.complete"
  mv "$new" "$folder"
}

case ${1-} in
  path) echo "$folder" ;;
  prepare) prepare ;;
  *)
    say "expected path or prepare"
    exit 3
    ;;
esac
