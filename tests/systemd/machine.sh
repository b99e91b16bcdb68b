#!/usr/bin/env bash
# Boots a machine of its own: systemd as process 1, real firewalls, real kernel
# parameters of a network namespace. Its files are a throw-away layer over the
# folder that rootfs.sh prepares.
#   machine.sh available           can this machine do it? prints why not
#   machine.sh up DIR              DIR: new folder; waits until it has booted
#   machine.sh exec DIR CMD...     runs CMD, with its absolute path, in it
#   machine.sh push DIR FILE PATH  copies a file into it, with its mode
#   machine.sh down DIR            switches it off, leaves nothing behind
# Exit status: 0 done, 1 could not be done, 3 wrong usage; exec: that of CMD.
set -euo pipefail
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)

say() { echo "machine.sh: $*" >&2; }
wrong() {
  say "$*"
  sed -n '5,9s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 3
}

obstacle() {
  local tool
  if [ "$(id -u)" -ne 0 ]; then
    echo "needs root, this is uid $(id -u)"
    return
  fi
  if ! unshare --net --uts --mount --propagation private true 2>/dev/null; then
    echo "the kernel refuses new namespaces (needs CAP_SYS_ADMIN)"
    return
  fi
  for tool in systemd-nspawn ip nsenter; do
    if ! command -v "$tool" >/dev/null; then
      echo "$tool is not installed (packages systemd-container, iproute2, util-linux)"
      return
    fi
  done
  if [ ! -e "$("$here/rootfs.sh" path)/.complete" ]; then
    echo "no root folder yet: run tests/systemd/rootfs.sh prepare"
  fi
}

# The longest time of any awaited event, in seconds: it only ends what hangs.
patience=120
# await COMMAND...: until it succeeds; 1 if it never does.
await() {
  local until=$((SECONDS + patience))
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep 0.1
  done
}

# Process 1 of the machine; nothing if it has ended. Before it exists,
# systemd-nspawn has a child in the namespaces of this machine.
leader() {
  local pid
  for pid in $(pgrep -P "$(cat "$1/pid")" 2>/dev/null); do
    if [ "$(awk '/^NSpid:/ { print $NF }' "/proc/$pid/status" 2>/dev/null)" = 1 ]; then
      echo "$pid"
      return
    fi
  done
}

# ended PID: it is gone, or only a status that its parent has not read.
ended() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  [[ ${stat##*) } == [ZX]* ]]
}

# Folders of the control group hierarchies that systemd uses here.
hierarchies() {
  local folder found=false
  for folder in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    if [ -e "$folder/cgroup.procs" ]; then
      echo "$folder"
      found=true
    fi
  done
  $found || echo /sys/fs/cgroup
}

boot() {
  local dir=$1 name=$2 folder
  # A group of its own: otherwise process 1 makes its groups at the top.
  while read -r folder; do
    mkdir -p "$folder/$name"
    echo "$BASHPID" >"$folder/$name/cgroup.procs"
  done < <(hierarchies)
  exec setsid systemd-nspawn --quiet -D "$("$here/rootfs.sh" path)" --volatile=overlay -M "$name" \
    --boot --register=no --keep-unit --network-namespace-path="$dir/net" \
    --console=read-only --capability=CAP_NET_ADMIN,CAP_NET_RAW \
    >"$dir/console" 2>&1 </dev/null
}

is_up() {
  local init state
  init=$(leader "$1")
  [ -n "$init" ] || return 1
  state=$(nsenter -t "$init" -a /usr/bin/systemctl is-system-running 2>/dev/null || true)
  case $state in running | degraded) return 0 ;; esac
  return 1
}
up_or_ended() { is_up "$1" || ended "$(cat "$1/pid")"; }

up() {
  local dir=$1 name
  mkdir "$dir" 2>/dev/null || wrong "$dir: expected a folder that is not there yet"
  # Not by this process's id, which another machine may get while this one runs.
  name=clusterd-test-$(cut -c 1-13 /proc/sys/kernel/random/uuid)
  echo "$name" >"$dir/name"
  touch "$dir/net"
  unshare --net="$dir/net" ip link set lo up
  boot "$dir" "$name" &
  echo "$!" >"$dir/pid"
  await up_or_ended "$dir" || true
  if is_up "$dir"; then return 0; fi
  tail -n 20 "$dir/console" >&2
  say "the machine did not come up"
  down "$dir"
  return 1
}

# A control group can only be removed when the kernel is done with its last process.
no_group() {
  [ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || true
  [ ! -d "$1" ]
}

down() {
  local dir=$1 pid init folder
  [ -e "$dir/name" ] || wrong "$dir: no machine was started there"
  # If `up` was interrupted there may be no process yet.
  if [ -s "$dir/pid" ]; then
    pid=$(cat "$dir/pid")
    init=$(leader "$dir")
    if [ -n "$init" ]; then
      nsenter -t "$init" -a /usr/bin/systemctl poweroff 2>/dev/null || true
      await ended "$init" || kill -KILL "$init" 2>/dev/null || true
    fi
    await ended "$pid" || kill -KILL "$pid" 2>/dev/null || true
  fi
  umount "$dir/net" 2>/dev/null || true
  while read -r folder; do
    await no_group "$folder/$(cat "$dir/name")" || say "a control group stays: $folder/$(cat "$dir/name")"
  done < <(hierarchies)
  rm -rf --one-file-system "$dir"
}

enter() {
  local dir=$1 init
  shift
  init=$(leader "$dir")
  if [ -z "$init" ]; then
    say "$dir: the machine does not run"
    exit 1
  fi
  # This machine's environment, above all its paths, is not valid there.
  exec nsenter -t "$init" -a -- /usr/bin/env -i LC_ALL=C \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

verb=${1-}
[ $# -eq 0 ] || shift
case $verb in
  available)
    why=$(obstacle)
    [ -z "$why" ] || { echo "no: $why" && exit 1; }
    ;;
  up | down)
    [ $# -eq 1 ] || wrong "$verb needs DIR"
    "$verb" "$1"
    ;;
  exec)
    [ $# -ge 2 ] || wrong "exec needs DIR and a command"
    enter "$@"
    ;;
  push)
    [ $# -eq 3 ] || wrong "push needs DIR, FILE and PATH"
    # shellcheck disable=SC2016,SC2094  # the inner shell expands these; FILE is only read
    enter "$1" /bin/sh -c 'mkdir -p "${1%/*}" && cat >"$1" && chmod "$2" "$1"' sh \
      "$3" "$(stat -L -c %a "$2")" <"$2"
    ;;
  *) wrong "expected available, up, exec, push or down, got \"$verb\"" ;;
esac
