#!/usr/bin/env bash
# Rehearses a user's own cluster on this machine: simulated servers of its
# cluster.yaml, still unconfigured; check, plan, apply, check, rollback, check.
# shellcheck disable=SC2317  # functions that only a trap, `timed` or `await` calls
set -euo pipefail
came_from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. deploy/simulation.sh

usage() {
  cat <<'EOT'
usage: deploy/rehearse.sh FILE [--fault FAULT]... [--canary N] [--wave N]
                          [--namespaces N] [--programs DIR] [--verbose] [--keep]

Runs the whole cluster.yaml FILE on this machine, before you touch a real server. A
controller has a copy of FILE, and each server of FILE is simulated, with the devices
of its product. The servers are as another cluster would have left them: other
addresses and gateways, no detect addresses, default kernel parameters. (No command
removes an address from a device that had none. clusterd sets nothing on devices of
the Ascend 950, so they start as FILE has them.) Then it runs
  check, plan, apply, check, rollback, check
and prints a table of results and times. It never connects to another machine.
Schedules and notifiers of FILE are left out.

The status is 0 if the servers passed after the apply, and the last check finds what
the first one found. Of each fault, the check names it, the apply corrects it, or it
stops the apply. Then its server has undone its steps, and no later wave has begun. No
fault affects another server. The status is 1 if any of this does not hold, e.g. if
the plan does not lead to a pass. It is 2 if the rehearsal itself could not run, and 3
for wrong usage or mistakes in FILE or a fault. These are reported before anything
starts.

  --fault FAULT   [SERVER:]DEVICE:KEY=VALUE or [SERVER:]host:KEY=VALUE, repeatable;
                  without a server it affects the last one of FILE. Needs root. It is
                  set after the first check: --fault node07:3:link=DOWN
  --list-faults   prints all faults, the rule that detects each, and where it is
                  refused
  --canary N      hosts of the first wave of the apply (default 1)
  --wave N        hosts of each wave of apply and rollback (default 32)
  --namespaces N  this number of servers, and those with faults, run the real clusterd
                  in namespaces of their own. All others, up to 10,000, are in memory,
                  0.6 MB each. Default: as many as fit a quarter of the free memory, at
                  most 4; 0 without root. With 0, servers with faults have a folder
  --programs DIR  use clusterd, clusterd-controller and clusterctl of that folder, e.g.
                  of a package. The simulation is part of the source tree and is built
                  with bazel, unless DIR has it, too
  --verbose       prints the output of clusterctl at each step
  --keep          keeps everything running, and prints how to use it and how to end it
  --help          this text
EOT
}

wrong() {
  echo "$me: $*" >&2
  echo "$me --help lists the options" >&2
  exit 3
}

file=
run=
wave=32
canary=1
real=
faults=()
keep=false
verbose=false
list_faults=false
while [ $# -gt 0 ]; do
  case $1 in
    --fault | --programs | --wave | --canary | --namespaces)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --fault) faults+=("$2") ;;
        --programs) run=$(cd "$came_from" && realpath -m -- "$2") ;;
        *)
          [[ $2 =~ ^(0|[1-9][0-9]{0,4})$ ]] || wrong "$1 \"$2\", expected a number"
          case $1 in
            --wave) wave=$2 ;;
            --canary) canary=$2 ;;
            *) real=$2 ;;
          esac
          ;;
      esac
      shift
      ;;
    --list-faults) list_faults=true ;;
    --keep) keep=true ;;
    --verbose) verbose=true ;;
    --help | -h)
      usage
      exit 0
      ;;
    -*) wrong "unknown option \"$1\"" ;;
    *)
      [ -z "$file" ] || wrong "a second file \"$1\", expected one cluster.yaml"
      file=$(cd "$came_from" && realpath -m -- "$1")
      ;;
  esac
  shift
done
[ -n "$file" ] || $list_faults || wrong "no file, expected a cluster.yaml"
$list_faults || [ -r "$file" ] || wrong "$file: cannot be read"
for program in clusterd clusterd-controller clusterctl; do
  [ -z "$run" ] || [ -x "$run/$program" ] || wrong "--programs: $run/$program is not a program"
done

if [ -n "$run" ] && [ -x "$run/rehearsal" ] && [ -x "$run/fleet" ] && [ -x "$run/simhost" ]; then
  bin=$run
else
  sources+=(tests/support)
  build_programs .built-rehearse //daemon/agent:clusterd //daemon/controller:clusterd-controller \
    //client:clusterctl //tests/sim:hccn_tool //tests/sim/ascend950:hccn_tool_950 \
    //tests/sim:simhost //tests/sim/fleet:fleet //tests/sim/fleet:rehearsal
fi
run=${run:-$bin}
if $list_faults; then
  exec "$bin/simhost" fault-keys
fi

# --- The spec and the faults: every mistake, before anything starts. ---------

make_work rehearse
prepared=$("$bin/rehearsal" prepare "$file" "$work") || exit $?
cluster=${prepared% *}
product=${prepared#* }
spec=$work/cluster.yaml
declare -A address_of=()
hosts=()
while read -r host address; do
  hosts+=("$host")
  address_of[$host]=$address
done <"$work/hosts"
mv "$work/hosts" "$work/addresses"

tool=hccn_tool
[ "$product" != ascend-950 ] || tool=hccn_tool_950
declare -A faults_of=()
faulted=()
mistakes=false
for fault in "${faults[@]}"; do
  host=${hosts[-1]}
  what=$fault
  if [[ ${fault%%=*} == *:*:* ]]; then
    host=${fault%%:*}
    what=${fault#*:}
  fi
  if [ -z "${address_of[$host]:-}" ]; then
    echo "$me: --fault \"$fault\": no server \"$host\" in $file" >&2
    mistakes=true
    continue
  fi
  [ -n "${faults_of[$host]:-}" ] || faulted+=("$host")
  faults_of[$host]+=$what$'\n'
done

# The place of the servers with a clusterd determines which faults can act.
why="asked for 0"
in_spaces=()
if [ "$real" != 0 ] && why=$(tests/sim/namespaces.sh available); then
  in_spaces=(--namespaces)
elif [ "${real:-0}" != 0 ]; then
  wrong "--namespaces $real: $why"
fi
create() {
  local host=$1
  shift
  "$bin/simhost" create "${in_spaces[@]}" --of-other-cluster --tool "$bin/$tool" --root "$work/hosts/$host" \
    --spec "$spec" --host "$host" "$@"
}
mkdir "$work/hosts"
for host in "${faulted[@]}"; do
  flags=()
  while IFS= read -r what; do flags+=(--fault "$what"); done <<<"${faults_of[$host]%$'\n'}"
  create "$host" "${flags[@]}" || mistakes=true
  rm -rf "${work:?}/hosts/$host"
done
if $mistakes; then
  echo "$me --list-faults prints what can be wrong" >&2
  exit 3
fi
if [ ${#faulted[@]} -gt 0 ] && [ "$(id -u)" -ne 0 ]; then
  echo "$me: --fault needs root: a clusterd that changes a server gives its files to root" >&2
  exit 2
fi

# --- Where each server runs. -------------------------------------------------

if [ ${#in_spaces[@]} -gt 0 ] && [ -z "$real" ]; then
  real=$(awk '/^MemAvailable:/ { fit = int($2 / 4 / 65536); print (fit > 4 ? 4 : fit) }' /proc/meminfo)
fi
# Servers that run clusterd itself.
clusterds=("${faulted[@]}")
for host in "${hosts[@]}"; do
  [ "${real:-0}" -gt 0 ] || break
  [ -z "${faults_of[$host]:-}" ] || continue
  # The namespace has the server's own address, so a name does not suffice.
  [[ ${address_of[$host]} =~ ^[0-9]+(\.[0-9]+){3}$ ]] || continue
  clusterds+=("$host")
  real=$((real - 1))
done
for host in "${clusterds[@]}"; do create "$host" || exit 2; done

tls=$work/tls
{
  deploy/certificates.sh init "$tls" "$cluster"
  deploy/certificates.sh controller "$tls" "$cluster"
  deploy/certificates.sh user "$tls" "$cluster" rehearsal admin
  [ ${#clusterds[@]} -eq 0 ] || deploy/certificates.sh host "$tls" "$cluster" "${clusterds[@]}"
} >"$work/certificates.log" 2>&1 || {
  cat "$work/certificates.log" >&2
  exit 2
}

# in_host HOST COMMAND...: runs the command where that server runs.
in_host() {
  local host=$1
  shift
  if $namespaces; then set -- tests/sim/namespaces.sh exec "$work/net" "$host" "$@"; fi
  "$@"
}
in_controller=()
listen=127.0.0.1
setting="on loopback"
if [ ${#in_spaces[@]} -gt 0 ]; then
  namespaces=true
  # An address reserved for documentation that no server has.
  for listen in 192.0.2.1 198.51.100.1 203.0.113.1; do
    grep -qF " $listen" "$work/addresses" || break
  done
  {
    echo "controller $listen/32 -"
    for host in "${clusterds[@]}"; do
      echo "$host ${address_of[$host]}/32 $work/hosts/$host"
    done
  } >"$work/table"
  tests/sim/namespaces.sh up "$work/net" "$work/table" || {
    namespaces=false
    exit 2
  }
  in_controller=(tests/sim/namespaces.sh exec "$work/net" controller)
  setting="in namespaces that have no way out of this machine"
fi

# --- Start. ------------------------------------------------------------------

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
# `tell` STEP BEGAN: a line of the table, for `rehearsal judge`.
tell() {
  local tenths=$((($(now_us) - $2) / 100000))
  echo "$1 $((tenths / 10)).$((tenths % 10))" >>"$work/times"
}

began=$(now_us)
start "$work/controller.log" "${in_controller[@]}" "$run/clusterd-controller" \
  --spec "$spec" --cluster "$cluster" --listen "$listen:0" --port-file "$work/port" \
  --state "$work/state" \
  --ca "$tls/ca.crt" --cert "$tls/controller.crt" --key "$tls/controller.key"
await "the controller's start" test -s "$work/port" || exit 2
controller=$listen:$(cat "$work/port")

for host in "${clusterds[@]}"; do
  root=$work/hosts/$host
  socket=$work/$host.sock
  into=()
  if $namespaces; then
    root=/
    socket=/run/clusterd.sock
    into=(tests/sim/namespaces.sh exec "$work/net" "$host")
  fi
  mkdir "$work/$host.state"
  printf 'allow: [observe, sysctl, device-address, firewall, tls, hccn-conf]\nstate: %s\n' \
    "$work/$host.state" >"$work/$host.yaml"
  start "$work/$host.log" "${into[@]}" "$run/clusterd" --config "$work/$host.yaml" \
    --root "$root" --socket "$socket" --controller "$controller" --cluster "$cluster" \
    --ca "$tls/ca.crt" --cert "$tls/$host.crt" --key "$tls/$host.key"
done
patience=$((patience + ${#hosts[@]} / 10))
in_memory=$((${#hosts[@]} - ${#clusterds[@]}))
if [ "$in_memory" -gt 0 ]; then
  elsewhere=()
  [ ${#clusterds[@]} -eq 0 ] || elsewhere=(--without "$(IFS=,; echo "${clusterds[*]}")")
  mkdir "$work/changes"
  start "$work/fleet.log" "${in_controller[@]}" "$bin/fleet" --controller "$controller" \
    --cluster "$cluster" --spec "$spec" --ca "$tls/ca.crt" --ca-key "$tls/ca.key" \
    --changes "$work/changes" --wait "$patience" "${elsewhere[@]}"
fi
all_attached() {
  local line
  for line in "${clusterds[@]}"; do
    grep -qF "host $line: attached from " "$work/controller.log" || return 1
  done
  [ "$in_memory" -eq 0 ] || grep -q '^fleet: attached ' "$work/fleet.log"
}
await "the attachment of ${#hosts[@]} servers" all_attached || exit 2
tell attach "$began"

echo "${#hosts[@]} servers of $product, $in_memory in memory, ${#clusterds[@]} with a clusterd each, $setting"

export CLUSTERD_CONTROLLER=$controller CLUSTERD_CLUSTER=$cluster CLUSTERD_CA=$tls/ca.crt
export CLUSTERD_CERT=$tls/user-rehearsal.crt CLUSTERD_KEY=$tls/user-rehearsal.key
clusterctl=("${in_controller[@]}" "$run/clusterctl")

# --- The rehearsal. ----------------------------------------------------------

# Prints connections of our programs that leave this machine; normally none. A
# namespace cannot have any.
strangers() {
  local pid
  for pid in "${pids[@]}"; do
    find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null || true
  done | tr -dc '0-9\n' | sort -u >"$work/sockets"
  # Loopback and unset addresses: IPv4, IPv6, and IPv4 in IPv6.
  awk 'FNR == NR { own[$1] = 1; next } $10 in own { print $3 }' \
    "$work/sockets" /proc/net/tcp /proc/net/tcp6 |
    grep -Ev '^(.{6}7F|0{8}|0{24}01000000|0{16}FFFF0000.{6}7F|0{32}):' || true
}

# step NAME WORDS...: runs clusterctl, with a table line; its status in $status.
step() {
  local name=$1 began left
  shift
  if $verbose; then printf '\n$ clusterctl %s\n' "$*"; else echo "clusterctl $1" >&2; fi
  status=0
  began=$(now_us)
  # Each progress line gets its time, from which waves get theirs.
  { "${clusterctl[@]}" "$@" 2>&1 >&3 | while IFS= read -r line; do
    echo "${EPOCHREALTIME/[.,]/} $line"
  done >"$work/$name.progress"; } 3>"$work/$name.said" || status=$?
  tell "$name" "$began"
  if $verbose; then cat "$work/$name.said"; fi
  cut -d' ' -f2- "$work/$name.progress" | if $verbose; then cat >&2; else cat >>"$work/said"; fi
  if ! $namespaces; then
    left=$(strangers)
    if [ -n "$left" ]; then
      echo "$me: a program dialled beyond this machine: $left" >&2
      exit 1
    fi
  fi
}

# Reports the shortest and the longest wave of the apply.
tell_waves() {
  # "1764245681000000 clusterctl apply: wave 1 of 2 begins: server0"
  awk '$4 == "wave" && $8 ~ /^begins/ { began[$5] = $1 }
    $4 == "wave" && $8 ~ /^ended/ && $5 in began {
      took = ($1 - began[$5]) / 1e6
      if (n++ == 0 || took < least) least = took
      if (took > most) most = took
    }
    END { if (n > 0) printf "wave %.1f-%.1f\n", least, most }' "$work/apply.progress" >>"$work/times"
}

break_servers() {
  local host root
  for host in "${faulted[@]}"; do
    root=$work/hosts/$host
    if $namespaces; then root=/; fi
    mapfile -t what <<<"${faults_of[$host]%$'\n'}"
    in_host "$host" "$bin/simhost" set --root "$root" "${what[@]}" || exit 2
  done
}

step fresh check --report "$work/fresh.json" -o short
if [ ${#faulted[@]} -gt 0 ]; then
  break_servers
  step faulty check --report "$work/faulty.json" -o short
fi
step plan plan --out "$work/plan.json" -o short
if [ -s "$work/plan.json" ]; then
  # --no-confirm: no firewall isolates a server; a wait would block later steps.
  step apply apply "$work/plan.json" --yes --confirm "$cluster" --no-confirm --canary "$canary" \
    --wave "$wave" --report "$work/apply.json" -o short
  tell_waves
fi
step after check --report "$work/after.json" -o short
apply_id=
if [ -s "$work/apply.json" ]; then
  apply_id=$(sed -n '/"apply_id": *"[0-9a-f]/ { s/.*"apply_id": *"\([0-9a-f]*\)".*/\1/p; q }' "$work/apply.json")
fi
if [ -n "$apply_id" ]; then
  step rollback rollback "$apply_id" --yes --wave "$wave" --report "$work/rollback.json" -o short
fi
step back check --report "$work/back.json" -o short

echo
status=0
judge=()
for host in "${faulted[@]}"; do judge+=(--faulted "$host"); done
"$bin/rehearsal" judge "$work" "${judge[@]}" || status=$?
echo
if [ "$status" -ne 0 ]; then
  echo "Failed: this file is not ready for real servers." >&2
elif [ ${#faulted[@]} -eq 0 ]; then
  echo "Passed: the servers passed after the apply, and are again as before it."
else
  echo "Passed: every fault was noticed, and no other server was affected."
fi

if $keep; then
  cat <<EOT

It is still running. In another shell:
  export CLUSTERD_CONTROLLER=$controller CLUSTERD_CLUSTER=$cluster CLUSTERD_CA=$tls/ca.crt
  export CLUSTERD_CERT=$tls/user-rehearsal.crt CLUSTERD_KEY=$tls/user-rehearsal.key
  ${clusterctl[*]} check
Ctrl-C here, or kill -INT $$, ends it and removes $work.
EOT
  wait -n "${pids[@]}" || true
  echo "one of the programs has ended:" >&2
  tail -n 3 "$work"/*.log >&2
  exit 2
fi
exit "$status"
