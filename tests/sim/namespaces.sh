#!/usr/bin/env bash
# Gives each simulated server a network, mount and host name namespace of its
# own, so that its kernel parameters, firewalls, sockets and /etc are real ones,
# with a bridge to a further network namespace for the controller. Nothing
# outside of these namespaces changes; everything hangs on files under DIR.
set -euo pipefail

usage() {
  cat >&2 <<'EOT'
usage: namespaces.sh available            can they be had here? Says why not, status 1
       namespaces.sh up DIR TABLE         TABLE: a line "NAME ADDRESS/PREFIX ROOT" per server;
                                          the first line is the controller, ROOT "-"
       namespaces.sh exec DIR NAME COMMAND...
       namespaces.sh down DIR             removes what `up` made; processes in them must have ended

ROOT is a server's folder as `simhost create` makes it: its etc, usr/local, var, dev
and sys/bus/pci/devices are seen by programs in the namespace at the same paths under
/, and its proc/sys/net values are written to the namespace's kernel parameters.
EOT
  exit 3
}

available() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "namespaces need root"
    return 1
  fi
  local tool
  for tool in ip nsenter unshare mount; do
    command -v "$tool" >/dev/null || { echo "namespaces need the program \"$tool\""; return 1; }
  done
  local probe
  probe=$(mktemp -d)
  # shellcheck disable=SC2016
  if ! unshare --net --mount --uts --propagation private bash -c '
      set -e
      mount -t tmpfs tmpfs "$1"
      mkdir "$1/up" "$1/work"
      mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/up,workdir=$1/work" /etc
      mount -t sysfs -o ro sysfs /sys
      ip link add probe0 type veth peer name probe1
      echo 4096 >/proc/sys/net/core/somaxconn
    ' probe "$probe" 2>/dev/null; then
    rmdir "$probe"
    echo "this machine grants no network and mount namespaces with overlay and veth"
    return 1
  fi
  rmdir "$probe"
}

# The mounts of one server; runs inside its new mount namespace.
enter_root() {
  local name=$1 root=$2 dev=$3 work=$4
  hostname "$name"
  mount -t sysfs -o ro sysfs /sys
  if [ -d "$root/sys/bus/pci/devices" ]; then
    mount --bind "$root/sys/bus/pci/devices" /sys/bus/pci/devices
  fi
  local part
  for part in etc usr/local var; do
    mkdir -p "$root/$part" "$work/$part"
    mount -t overlay overlay \
      -o "lowerdir=/$part,upperdir=$root/$part,workdir=$work/$part" "/$part"
  done
  mount -t tmpfs -o mode=755 tmpfs /run
  mount --bind "$dev" /dev
  local key value
  for key in net/core/somaxconn net/ipv4/tcp_max_syn_backlog net/ipv4/ip_local_reserved_ports; do
    [ -f "$root/proc/sys/$key" ] || continue
    value=$(cat "$root/proc/sys/$key")
    # One write: the kernel takes a second one for an addition.
    printf '%s\n' "$value" >"/proc/sys/$key"
  done
}

make_dev() {
  local dev=$1 root=$2 node
  mkdir -p "$dev"
  mknod -m 666 "$dev/null" c 1 3
  mknod -m 666 "$dev/zero" c 1 5
  mknod -m 666 "$dev/full" c 1 7
  mknod -m 666 "$dev/random" c 1 8
  mknod -m 666 "$dev/urandom" c 1 9
  ln -s /proc/self/fd "$dev/fd"
  [ -d "$root/dev" ] || return 0
  for node in "$root/dev"/*; do
    [ -e "$node" ] || continue
    : >"$dev/$(basename "$node")"
  done
}

up() {
  local dir=$1 table=$2 name address root self number=0
  self=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$(basename "${BASH_SOURCE[0]}")
  mkdir -p "$dir"
  mount -t tmpfs -o mode=755 clusterd-sim "$dir"
  mount --make-private "$dir"
  while read -r name address root; do
    [ -n "$name" ] || continue
    local here=$dir/$name
    mkdir "$here"
    touch "$here/net"
    unshare --net="$here/net" true
    nsenter --net="$here/net" ip link set lo up
    if [ "$root" = - ]; then
      ln -s "$name" "$dir/.controller"
      nsenter --net="$here/net" ip link add br0 type bridge
      nsenter --net="$here/net" ip address add "$address" dev br0
      nsenter --net="$here/net" ip link set br0 up
      continue
    fi
    number=$((number + 1))
    local hub=$dir/.controller/net
    nsenter --net="$hub" ip link add "host$number" type veth peer name eth0 netns "$here/net"
    nsenter --net="$hub" ip link set "host$number" master br0 up
    nsenter --net="$here/net" ip address add "$address" dev eth0
    nsenter --net="$here/net" ip link set eth0 up
    # Overlay's upper layer must be on the same file system as its work folder.
    mkdir "$here/root" "$here/work"
    cp -a "$root/." "$here/root/"
    make_dev "$here/dev" "$root"
    touch "$here/mnt" "$here/uts"
    nsenter --net="$here/net" unshare --uts="$here/uts" --mount="$here/mnt" \
      --propagation private "$self" enter-root "$name" "$here/root" "$here/dev" "$here/work"
  done <"$table"
}

run_in() {
  local dir=$1 name=$2
  shift 2
  local here=$dir/$name
  [ -e "$here/net" ] || { echo "namespaces.sh: no \"$name\" under $dir" >&2; exit 3; }
  if [ -e "$here/mnt" ]; then
    exec nsenter --net="$here/net" --uts="$here/uts" --mount="$here/mnt" -- "$@"
  fi
  exec nsenter --net="$here/net" -- "$@"
}

down() {
  local dir=$1 held
  mountpoint -q "$dir" || return 0
  for held in "$dir"/*/mnt "$dir"/*/uts "$dir"/*/net; do
    if mountpoint -q "$held" 2>/dev/null; then umount "$held"; fi
  done
  umount "$dir"
  rmdir "$dir"
}

[ $# -ge 1 ] || usage
verb=$1
shift
case $verb in
  available) [ $# -eq 0 ] || usage; available ;;
  up)
    [ $# -eq 2 ] || usage
    # Half a set of namespaces is worse than none. A process of its own, because
    # bash forgets `set -e` inside a condition.
    if ! "${BASH_SOURCE[0]}" make "$@"; then
      down "$1"
      exit 1
    fi
    ;;
  exec) [ $# -ge 3 ] || usage; run_in "$@" ;;
  down) [ $# -eq 1 ] || usage; down "$@" ;;
  make) up "$@" ;;
  enter-root) enter_root "$@" ;;
  *) usage ;;
esac
