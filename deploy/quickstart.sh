#!/usr/bin/env bash
# Demonstrates the main workflow on this machine: builds, starts a controller
# and simulated servers, runs `clusterctl check` and prints its report.
# shellcheck disable=SC2317  # functions that only a trap or `await` calls
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"
. deploy/simulation.sh

usage() {
  cat <<'EOT'
usage: deploy/quickstart.sh [--servers N] [--product P] [--fault FAULT]... [--fix] [--keep]
       deploy/quickstart.sh --slurm [--servers N] [--product P] [--keep]

Installs what is missing, builds, starts a controller and N simulated servers,
runs `clusterctl check` and exits with its status: 0 pass or warnings, 1 a
failure, 2 no complete verdict, 3 wrong usage.

With --fix the servers start with wrong settings: those of --fault, or a choice of
them. After the check come plan, apply, check, rollback and check. The status is 0 if
the servers passed after the apply and are again as before it, otherwise 1.

With --slurm a real Slurm runs jobs on the servers. The first job starts. A node of
the second breaks and is drained, and the job runs on another node. The node returns
after its repair. The status is 0 if all of that happened, otherwise 1. Needs root.

  --servers N     simulated servers, 1 to 64 (default 2; with --slurm 3 to 16,
                  default 3)
  --product P     atlas-training (default), atlas-a2, atlas-a3 or ascend-950
  --fault FAULT   SERVER:DEVICE:KEY=VALUE or SERVER:host:KEY=VALUE, repeatable,
                  e.g. --fault server1:3:link=DOWN --fault server0:host:somaxconn=128
                  (--list-faults prints every key). A fault that this machine cannot
                  simulate is refused with the reason
  --fix           configure the servers, and roll that back
  --programs DIR  use clusterd, clusterd-controller and clusterctl of that folder,
                  e.g. of a package; the simulation is built from this source tree
  --slurm         jobs under Slurm; installs Debian's packages if they are missing,
                  and changes neither their services nor /etc/slurm
  --list-faults   prints all faults, the rule that detects each, and where it is
                  refused
  --side-by-side  uses no namespaces, also where they are available
  --keep          keeps everything running, and prints how to use it and how to end it
  --help          this text
EOT
}

wrong() {
  echo "deploy/quickstart.sh: $*" >&2
  echo "deploy/quickstart.sh --help lists the options" >&2
  exit 3
}

servers=
run=
product=atlas-training
faults=()
keep=false
fix=false
slurm=false
list_faults=false
side_by_side=false
while [ $# -gt 0 ]; do
  case $1 in
    --servers | --product | --fault | --programs)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --servers) servers=$2 ;;
        --product) product=$2 ;;
        --fault) faults+=("$2") ;;
        --programs) run=$(cd "$OLDPWD" && realpath -m -- "$2") ;;
      esac
      shift
      ;;
    --list-faults) list_faults=true ;;
    --side-by-side) side_by_side=true ;;
    --keep) keep=true ;;
    --fix) fix=true ;;
    --slurm) slurm=true ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) wrong "unknown option \"$1\"" ;;
  esac
  shift
done

if [ -z "$servers" ]; then
  servers=2
  ! $slurm || servers=3
fi
if ! [[ $servers =~ ^[0-9]{1,3}$ ]] || [ "$((10#$servers))" -lt 1 ] || [ "$((10#$servers))" -gt 64 ]; then
  wrong "--servers \"$servers\", expected 1 to 64 (tests/sim/fleet attaches thousands, without a process each)"
fi
servers=$((10#$servers))
case $product in
  atlas-training | atlas-a2 | atlas-a3) tool=hccn_tool ;;
  ascend-950) tool=hccn_tool_950 ;;
  *) wrong "--product \"$product\", expected atlas-training, atlas-a2, atlas-a3 or ascend-950" ;;
esac
for fault in "${faults[@]}"; do
  if ! [[ $fault =~ ^server([0-9]+):([^:]+:.+=.*)$ ]] || [ "${BASH_REMATCH[1]}" -ge "$servers" ]; then
    wrong "--fault \"$fault\", expected SERVER:DEVICE:KEY=VALUE with server0 to server$((servers - 1))"
  fi
done

for program in clusterd clusterd-controller clusterctl; do
  [ -z "$run" ] || [ -x "$run/$program" ] || wrong "--programs: $run/$program is not a program"
done

if $slurm; then
  # All servers share this machine's Slurm daemons.
  side_by_side=true
  . deploy/quickstart_slurm.sh
  slurm_check
fi

if $fix && [ $((${#faults[@]})) -eq 0 ]; then
  if [ "$product" = ascend-950 ]; then
    wrong "--fix: clusterd sets nothing on ascend-950 devices yet, choose another --product"
  fi
  # One fault of each kind: a new server's kernel, a typing mistake, a lost
  # detect address, a file edited on another system.
  last=server$((servers - 1))
  faults=(
    server0:host:somaxconn=4096 server0:host:reserved_ports=none server0:host:persistent=none
    server0:3:netmask=255.255.255.128 server0:5:detect=none
    "$last:host:syn_backlog=2048" "$last:host:reserved_ports=8080,60000-60007"
    "$last:2:address=192.168.9.9" "$last:host:hccn_conf=crlf"
  )
fi

build_programs .built //daemon/agent:clusterd //daemon/controller:clusterd-controller \
  //client:clusterctl //tests/sim:hccn_tool //tests/sim/ascend950:hccn_tool_950 //tests/sim:simhost
run=${run:-$bin}
if $list_faults; then
  exec "$bin/simhost" fault-keys
fi

# All files are in one folder, which this script removes at its end.
make_work quickstart

cluster=demo
tls=$work/tls
names=()
for ((i = 0; i < servers; i++)); do names+=("server$i"); done

spec_addresses() {
  case $product in
    atlas-training)
      # The two-server example of Huawei's training guide, while its last octet
      # suffices; beyond that two addresses a server and subnet.
      local step=10 first=100
      [ "$servers" -le 15 ] || { step=2; first=10; }
      cat <<EOT
devices:
  netmask: 255.255.255.0
  rails:
    - {device: 0-3, subnet: "192.168.[100-103].0/24", host: $((first + 1)) + $step*n}
    - {device: 4-7, subnet: "192.168.[100-103].0/24", host: $first + $step*n}
  detect_address: 192.168.[100-103,100-103].1
EOT
      ;;
    atlas-a2 | atlas-a3 | ascend-950)
      local last=7
      [ "$product" != atlas-a3 ] || last=15
      cat <<EOT
devices:
  netmask: 255.255.0.0
  rails:
    - {device: 0-$last, subnet: 10.20.0.0/16, host: 256*n + 256 + d + 1}
  detect_address: 10.20.0.1
EOT
      ;;
  esac
}

{
  cat <<EOT
version: 1
name: $cluster
product: $product
servers:
  - hosts: server[0-$((servers - 1))]
    address: 192.168.7.[22-$((21 + servers))]
EOT
  spec_addresses
  cat <<'EOT'
hccl: {base_port: 60000, port_count: auto}
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
deadlines: {command: 10s, host: 2m, run: 4m}
EOT
} >"$work/cluster.yaml"

deploy/certificates.sh init "$tls" $cluster
deploy/certificates.sh controller "$tls" $cluster
deploy/certificates.sh host "$tls" $cluster "${names[@]}"
deploy/certificates.sh user "$tls" $cluster demo admin

# Changes that a server allows its daemon. Without this file: none.
allow=observe
! $fix || allow="observe, sysctl, device-address, firewall, tls, hccn-conf"
# Namespaces make kernel parameters and firewalls real. Without them every
# server is a folder, and the report names that.
in_host=()
in_controller=()
listen=127.0.0.1
setting="side by side on loopback, each with a root folder of its own"
why=asked
into=()
if ! $side_by_side && why=$(tests/sim/namespaces.sh available); then
  into=(--namespaces)
elif ! $side_by_side; then
  setting="$setting ($why)"
fi

mkdir "$work/hosts"
for name in "${names[@]}"; do
  flags=()
  for fault in "${faults[@]}"; do
    [ "${fault%%:*}" = "$name" ] && flags+=(--fault "${fault#*:}")
  done
  "$bin/simhost" create --tool "$bin/$tool" --root "$work/hosts/$name" \
    --spec "$work/cluster.yaml" --host "$name" "${into[@]}" "${flags[@]}" || exit 3
done

if [ ${#into[@]} -gt 0 ]; then
  {
    echo "controller 192.168.7.1/24 -"
    for ((i = 0; i < servers; i++)); do
      echo "server$i 192.168.7.$((22 + i))/24 $work/hosts/server$i"
    done
  } >"$work/table"
  namespaces=true
  tests/sim/namespaces.sh up "$work/net" "$work/table"
  in_controller=(tests/sim/namespaces.sh exec "$work/net" controller)
  listen=192.168.7.1
  setting="in network, mount and host name namespaces of their own: kernel parameters, sockets and firewalls are real"
fi

if $fix && $namespaces && [ -x /usr/sbin/ufw ]; then
  # Uses a real firewall, in the namespace of this server alone. It starts
  # before clusterd connects: a later one does not know existing connections.
  tests/sim/namespaces.sh exec "$work/net" server0 /usr/sbin/ufw --force enable >/dev/null
fi

start "$work/controller.log" "${in_controller[@]}" "$run/clusterd-controller" \
  --spec "$work/cluster.yaml" --cluster $cluster --listen "$listen:0" --port-file "$work/port" \
  --state "$work/state" \
  --ca "$tls/ca.crt" --cert "$tls/controller.crt" --key "$tls/controller.key"

await "the controller's start" test -s "$work/port" || exit 2
controller=$listen:$(cat "$work/port")

for name in "${names[@]}"; do
  root=$work/hosts/$name
  socket=$work/$name.sock
  in_host=()
  if $namespaces; then
    in_host=(tests/sim/namespaces.sh exec "$work/net" "$name")
    root=/
    socket=/run/clusterd.sock
  fi
  mkdir "$work/$name.state"
  echo "allow: [$allow]" >"$work/$name.yaml"
  echo "state: $work/$name.state" >>"$work/$name.yaml"
  ! $slurm || echo "hooks: {scontrol: $(command -v scontrol), slurm_conf: $work/slurm.conf}" >>"$work/$name.yaml"
  start "$work/$name.log" "${in_host[@]}" "$run/clusterd" --config "$work/$name.yaml" \
    --root "$root" --socket "$socket" \
    --controller "$controller" --cluster $cluster \
    --ca "$tls/ca.crt" --cert "$tls/$name.crt" --key "$tls/$name.key"
done

export CLUSTERD_CONTROLLER=$controller CLUSTERD_CLUSTER=$cluster CLUSTERD_CA=$tls/ca.crt
export CLUSTERD_CERT=$tls/user-demo.crt CLUSTERD_KEY=$tls/user-demo.key
clusterctl=("${in_controller[@]}" "$run/clusterctl")

all_attached() {
  local name
  for name in "${names[@]}"; do
    grep -qF "host $name: attached from " "$work/controller.log" || return 1
  done
}
await "the attachment of $servers servers" all_attached || exit 2

echo "$servers simulated servers ($product), $setting"
echo

# Prints a clusterctl command, runs it, and keeps its status in $status.
show() {
  printf '\n$ clusterctl %s\n' "$*"
  status=0
  "${clusterctl[@]}" "$@" || status=$?
}

# Prints the files and running values that a rollback must restore, as one text.
settings_of() {
  local key prefix=()
  local root=$work/hosts/$1
  if $namespaces; then
    prefix=(tests/sim/namespaces.sh exec "$work/net" "$1")
    root=
  fi
  for key in net/core/somaxconn net/ipv4/tcp_max_syn_backlog net/ipv4/ip_local_reserved_ports; do
    "${prefix[@]}" /bin/cat "$root/proc/sys/$key"
  done
  # shellcheck disable=SC2016  # the inner shell expands these
  "${prefix[@]}" /bin/sh -c 'cd "$1/etc" && cksum hccn.conf sysctl.d/* ufw/*.rules ufw/ufw.conf 2>/dev/null' sh "$root" || true
}

settings() {
  local name
  for name in "${names[@]}"; do settings_of "$name"; done
}

# check, plan, apply, check, rollback, check; $status is 0 after success.
fix_and_take_back() {
  local before broken apply_id
  before=$(settings)
  show check
  broken=$status
  show plan --out "$work/plan.json"
  [ "$status" -eq 0 ] || return 0
  show apply "$work/plan.json" --yes --confirm "$cluster" --report "$work/apply.json"
  [ "$status" -eq 0 ] || return 0
  apply_id=$(sed -n 's/^ *"apply_id": *"\([0-9a-f]*\)".*/\1/p' "$work/apply.json" | head -n 1)
  show check
  [ "$status" -eq 0 ] || return 0
  show rollback "$apply_id" --yes
  [ "$status" -eq 0 ] || return 0
  show check
  echo
  if [ "$status" -ne "$broken" ] || [ "$(settings)" != "$before" ]; then
    echo "The servers are not as they were before the apply." >&2
    status=1
  else
    echo "The servers passed, and are again as before the apply: kernel parameters by value, files byte for byte."
    status=0
  fi
}

status=0
if $fix; then
  fix_and_take_back
elif $slurm; then
  slurm_begin || exit 2
  slurm_demonstrate || true
  echo
  if [ "$status" -eq 0 ]; then
    echo "The broken server ran no job, and took part again when it was repaired."
  else
    echo "A step of the demonstration failed; the log of clusterd on server1:" >&2
    tail -n 5 "$work/server1.log" >&2
    status=1
  fi
else
  "${clusterctl[@]}" check || status=$?
fi

if $keep; then
  cat <<EOT

It is still running. In another shell:
  export CLUSTERD_CONTROLLER=$controller CLUSTERD_CLUSTER=$cluster CLUSTERD_CA=$tls/ca.crt
  export CLUSTERD_CERT=$tls/user-demo.crt CLUSTERD_KEY=$tls/user-demo.key
  ${clusterctl[*]} check
  ${clusterctl[*]} describe server0
  ${clusterctl[*]} history
EOT
  ! $slurm || echo "  export SLURM_CONF=$SLURM_CONF     # then srun, sbatch, sinfo -R"
  if $namespaces; then
    echo "  tests/sim/namespaces.sh exec $work/net server0 $bin/simhost set --root / 3:link=DOWN"
  else
    echo "  $bin/simhost set --root $work/hosts/server0 3:link=DOWN"
  fi
  echo "Ctrl-C here, or kill -INT $$, ends it and removes $work."
  # The trap ends all programs; one that ends before is reported.
  wait -n "${pids[@]}" || true
  echo "one of the programs has ended:" >&2
  tail -n 3 "$work"/*.log >&2
  exit 2
fi
exit "$status"
