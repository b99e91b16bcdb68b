#!/usr/bin/env bash
# Runs simulated servers as machines of their own: each one has a network, a
# mount and a UTS namespace, so kernel values, sockets, /etc and the host name
# are real and its own.
#
#   namespaces.sh available             fails if this machine cannot; prints why
#   namespaces.sh up DIR TABLE          DIR: new folder; TABLE: a file, see below
#   namespaces.sh exec DIR NAME CMD...  runs CMD, with its absolute path, in NAME
#   namespaces.sh down DIR              ends their processes, leaves nothing behind
#
# TABLE has a line per namespace: its name, its address and the root folder that
# `simhost create --namespaces` made; its faults come last. "-" for a folder makes
# a network namespace only, as a controller needs it:
#   controller 192.168.7.1/24  -
#   server0    192.168.7.22/24 /tmp/demo/server0
# All hang on a bridge in one more namespace, so nothing changes in the machine's
# own network. They share the pid namespace: `exec` becomes the command itself, and a
# signal reaches it.
# Exit status: 0 done, 1 could not be done, 3 wrong usage.
set -euo pipefail

say() { echo "namespaces.sh: $*" >&2; }
wrong() {
  say "$*"
  sed -n '6,9s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 3
}

# Prints why namespaces are not available; nothing if they are.
obstacle() {
  local tool
  if [ "$(id -u)" -ne 0 ]; then
    echo "needs root, this is uid $(id -u)"
    return
  fi
  for tool in ip nsenter unshare mount umount; do
    if ! command -v "$tool" >/dev/null; then
      echo "$tool is not installed (packages iproute2, util-linux)"
      return
    fi
  done
  if ! unshare --net --uts --mount --propagation private true 2>/dev/null; then
    echo "the kernel refuses new namespaces (needs CAP_SYS_ADMIN)"
    return
  fi
  if ! unshare --net ip link add probe0 type veth peer name probe1 2>/dev/null; then
    echo "the kernel has no veth devices, or refuses them (needs CAP_NET_ADMIN)"
    return
  fi
  if ! unshare --net ip link add probe0 type bridge 2>/dev/null; then
    echo "the kernel has no bridge device"
    return
  fi
  # Overlays do not stack everywhere.
  # shellcheck disable=SC2016  # the inner shell expands these
  if ! unshare --mount --propagation private sh -c '
    mount -t tmpfs probe /mnt && mkdir /mnt/u /mnt/w &&
      mount -t overlay -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w overlay /etc
  ' 2>/dev/null; then
    echo "the kernel refuses an overlay over /etc"
    return
  fi
  if ! unshare --net --mount --propagation private mount -t sysfs probe /mnt 2>/dev/null; then
    echo "the kernel refuses a /sys of a network namespace"
  fi
}

# Mounts of one server; runs inside its namespaces. $1: its folder below DIR,
# $2: its root folder, $3: its name. Lower layers are the root folder over the machine's own.
enter_server() {
  local own=$1 root=$2 name=$3 layer node
  # Not /var as a whole: DIR may lie in /var/tmp, and no layer may hold another.
  for layer in etc usr/local var/lib var/log; do
    mkdir -p "$own/up/$layer" "$own/work/$layer" "$root/$layer"
    mount -t overlay overlay \
      -o "lowerdir=$root/$layer:/$layer,upperdir=$own/up/$layer,workdir=$own/work/$layer" "/$layer"
  done
  # As administrators set servers up: each resolves all names. There is no DNS.
  cp "${own%/*}/hosts" /etc/hosts
  echo "hosts: files" >/etc/nsswitch.conf
  mkdir -p /etc/clusterd
  echo "own namespaces" >/etc/clusterd/simulation

  mkdir "$own/dev"
  for node in null zero full random urandom tty; do
    cp -a "/dev/$node" "$own/dev/"
  done
  cp -a "$root/dev/." "$own/dev/"
  mount --bind "$own/dev" /dev
  # /sys shows the interfaces of the network namespace that mounted it.
  mkdir "$own/sys"
  mount -t sysfs sysfs "$own/sys"
  if [ -d /sys/fs/cgroup ]; then mount --rbind /sys/fs/cgroup "$own/sys/fs/cgroup"; fi
  mount --rbind "$own/sys" /sys
  if [ -d /sys/bus/pci/devices ]; then
    mount --bind "$root/sys/bus/pci/devices" /sys/bus/pci/devices
  else
    mount --bind "$root/sys" /sys
  fi
  mount --bind "$root/proc/sys/kernel/random/boot_id" /proc/sys/kernel/random/boot_id
  mount -t tmpfs -o mode=755 run /run

  hostname "$name"
  local value
  for value in net/core/somaxconn net/ipv4/tcp_max_syn_backlog net/ipv4/ip_local_reserved_ports; do
    cat "$root/proc/sys/$value" >"/proc/sys/$value"
  done
}

# The namespace that holds the bridge.
up_wire() {
  local own=$1/.wire
  mkdir "$own"
  touch "$own/net"
  unshare --net="$own/net" ip link add bridge type bridge
  nsenter --net="$own/net" ip link set bridge up
}

# Hangs one namespace's eth0 on the bridge. Every address counts as reachable on
# the wire, so servers of any subnets see each other.
connect() {
  local dir=$1 number=$2 name=$3 address=$4
  nsenter --net="$dir/.wire/net" ip link add "s$number" type veth \
    peer name eth0 netns "$dir/$name/net"
  nsenter --net="$dir/.wire/net" ip link set "s$number" master bridge up
  nsenter --net="$dir/$name/net" ip -batch - <<EOT
link set lo up
link set eth0 up
addr add $address dev eth0
route add default dev eth0 src ${address%/*}
EOT
}

# One line of the table.
up_one() {
  local dir=$1 number=$2 name=$3 address=$4 root=$5
  local own=$dir/$name
  local spaces=("--net=$own/net")
  local prepare='echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true'
  mkdir "$own"
  touch "$own/net"
  if [ "$root" != - ]; then
    touch "$own/uts" "$own/mnt"
    spaces+=("--uts=$own/uts" "--mount=$own/mnt" --propagation private)
    # shellcheck disable=SC2016  # the inner shell expands these
    prepare+='; enter_server "$1" "$2" "$3"'
  fi
  unshare "${spaces[@]}" "$BASH" -c "$(declare -f enter_server)
    set -euo pipefail
    $prepare" prepare "$own" "$root" "$name"
  connect "$dir" "$number" "$name" "$address"
  local faults=()
  [ "$root" = - ] || mapfile -t faults <"$root/var/lib/hccn_sim/faults"
  if [ ${#faults[@]} -gt 0 ]; then
    (run_in "$dir" "$name" "$(readlink "$root/var/lib/hccn_sim/simhost")" set --root / "${faults[@]}")
  fi
}

# Reads the table into names, addresses and roots. Every mistake is named.
names=()
addresses=()
roots=()
read_table() {
  local table=$1 line=0 mistakes=0 name address root rest
  mistake() {
    say "$table:$line: $*"
    mistakes=$((mistakes + 1))
  }
  while read -r name address root rest; do
    line=$((line + 1))
    case $name in "" | "#"*) continue ;; esac
    [[ $name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || mistake "\"$name\" is no name of a host"
    [[ " ${names[*]} " != *" $name "* ]] || mistake "\"$name\" is there twice"
    [[ $address =~ ^[0-9]+(\.[0-9]+){3}(/[0-9]+)?$ ]] || mistake "\"$address\" is no IPv4 address"
    if [ "$root" != - ]; then
      # Overlay mounts take lists with these.
      if [[ $root == *[:,]* ]]; then mistake "$root: a path here has no colon or comma"; fi
      [ -L "$root/var/lib/hccn_sim/simhost" ] ||
        mistake "\"$root\" is not a server for namespaces, expected a folder that \`simhost create --namespaces\` made, or -"
    fi
    [ -z "$rest" ] || mistake "\"$rest\" is too much, expected NAME ADDRESS ROOT"
    names+=("$name")
    addresses+=("$address")
    roots+=("$root")
  done <"$table"
  [ ${#names[@]} -gt 0 ] || mistake "no line names a namespace"
  [ "$mistakes" -eq 0 ]
}

# The unfinished work of `up`.
unfinished=
take_down_unfinished() {
  local status=$?
  trap - EXIT
  if [ -n "$unfinished" ]; then down "$unfinished"; fi
  exit "$status"
}

up() {
  local dir=$1 table=$2 i why
  [ -r "$table" ] || wrong "$table: cannot be read"
  read_table "$table" || exit 3
  if [[ $dir == *[:,]* ]]; then wrong "$dir: a path here has no colon or comma"; fi
  why=$(obstacle)
  if [ -n "$why" ]; then
    say "no namespaces here: $why"
    exit 1
  fi
  if [ -e "$dir" ] && [ -n "$(ls -A "$dir")" ]; then
    say "$dir: is in use, expected a new folder"
    exit 1
  fi
  mkdir -p "$dir"
  dir=$(realpath "$dir")
  # Errors from here on take everything down again.
  unfinished=$dir
  trap 'take_down_unfinished' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mount -t tmpfs -o mode=755 simulated-servers "$dir"
  mount --make-private "$dir"
  up_wire "$dir"
  echo "127.0.0.1 localhost" >"$dir/hosts"
  for i in "${!names[@]}"; do echo "${addresses[i]%/*} ${names[i]}" >>"$dir/hosts"; done
  for i in "${!names[@]}"; do
    if [ "${roots[i]}" != - ]; then roots[i]=$(realpath "${roots[i]}"); fi
    up_one "$dir" "$i" "${names[i]}" "${addresses[i]}" "${roots[i]}"
  done
  unfinished=
}

run_in() {
  local own=$1/$2
  shift 2
  if [ ! -e "$own/net" ]; then
    wrong "no namespace \"$(basename "$own")\" below $(dirname "$own")"
  fi
  local spaces=("--net=$own/net")
  if [ -e "$own/uts" ]; then spaces+=("--uts=$own/uts" "--mount=$own/mnt"); fi
  exec nsenter "${spaces[@]}" -- "$@"
}

# Ids of the processes that run in network namespace file $1. `ip netns pids`
# would want a name in /run/netns.
inhabitants() {
  local inode
  inode=$(stat -c %i "$1")
  find /proc/[0-9]*/ns/net -maxdepth 0 -lname "net:\\[$inode\\]" 2>/dev/null | cut -d/ -f3
}

# Every process in our namespaces was started in there by `exec`.
end_inhabitants() {
  local file pids=() pid signal try tries=10
  for signal in TERM KILL; do
    # A process that was killed goes as soon as a busy machine lets it run.
    [ "$signal" = TERM ] || tries=1200
    for ((try = 1; try <= tries; ++try)); do
      pids=()
      for file in "$1"/*/net "$1"/.wire/net; do
        mountpoint -q "$file" || continue
        while read -r pid; do pids+=("$pid"); done < <(inhabitants "$file")
      done
      [ ${#pids[@]} -gt 0 ] || return 0
      [ "$try" -ne 1 ] || kill "-$signal" "${pids[@]}" 2>/dev/null || true
      sleep 0.1
    done
  done
  say "processes that do not end: ${pids[*]}"
}

down() {
  local dir=$1 file
  [ -d "$dir" ] || return 0
  dir=$(realpath "$dir")
  mountpoint -q "$dir" || {
    rmdir "$dir" 2>/dev/null || true
    return 0
  }
  end_inhabitants "$dir"
  for file in "$dir"/*/mnt "$dir"/*/uts "$dir"/*/net "$dir"/.wire/net; do
    if mountpoint -q "$file"; then umount "$file"; fi
  done
  # A mount namespace releases its overlays a moment after its last user.
  local try
  for try in 1 2 3 4 5 6 7 8 9 10; do
    if umount "$dir" 2>/dev/null; then break; fi
    if [ "$try" -eq 10 ]; then umount --lazy "$dir"; fi
    sleep 0.1
  done
  rmdir "$dir"
}

[ $# -ge 1 ] || wrong "needs a command"
verb=$1
shift
case $verb in
  available)
    why=$(obstacle)
    if [ -n "$why" ]; then
      echo "no: $why"
      exit 1
    fi
    echo yes
    ;;
  up)
    [ $# -eq 2 ] || wrong "up needs a folder and a table"
    up "$@"
    ;;
  exec)
    [ $# -ge 3 ] || wrong "exec needs a folder, a name and a command"
    run_in "$@"
    ;;
  down)
    [ $# -eq 1 ] || wrong "down needs a folder"
    down "$1"
    ;;
  *) wrong "unknown command \"$verb\"" ;;
esac
