#!/usr/bin/env bash
# The simulated servers behind tests/slurm/slurm.sh: a controller and a clusterd
# per node over mutual TLS, each with a root folder of its own. To be sourced
# after slurm.sh, in the folder of a test's runfiles.
#   servers_make NODE...     certificates, spec and root folders; starts nothing
#   controller_start         and waits until it listens, by the same port again
#   host_start NODE...       and waits until each answers on its socket and is
#                            attached, if there is a controller
#   server_end NAME          "controller" or a node: ends it by pid
#   fault NODE FAULT         as simhost takes it, e.g. 3:link=DOWN
#   as_admin ARGUMENTS...    clusterctl with an admin's certificate
# shellcheck disable=SC2317,SC2154  # functions that only `await` calls; slurm_dir

servers_bin=$PWD
declare -A server_pid=()
controller_port=0
# The same after a restart: in a network of its own no other program takes it.
! $slurm_alone || controller_port=7443

servers_make() {
  local node tls=$slurm_dir/tls
  cat >"$slurm_dir/cluster.yaml" <<EOT
version: 1
name: demo
product: atlas-training
servers:
  - hosts: server[0-$(($# - 1))]
    address: 192.168.7.[22-$((21 + $#))]
devices:
  netmask: 255.255.255.0
  rails:
    - {device: 0-3, subnet: "192.168.[100-103].0/24", host: 101 + 10*n}
    - {device: 4-7, subnet: "192.168.[100-103].0/24", host: 100 + 10*n}
  detect_address: 192.168.[100-103,100-103].1
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
deadlines: {command: 1m, host: 10m, run: 20m}
EOT
  {
    deploy/certificates.sh init "$tls" demo &&
      deploy/certificates.sh controller "$tls" demo &&
      deploy/certificates.sh host "$tls" demo "$@" &&
      deploy/certificates.sh user "$tls" demo admin admin
  } >"$slurm_dir/certificates.log" 2>&1 || {
    cat "$slurm_dir/certificates.log" >&2
    return 1
  }
  for node in "$@"; do
    tests/sim/simhost create --tool "$servers_bin/tests/sim/hccn_tool" --root "$slurm_dir/hosts/$node" \
      --spec "$slurm_dir/cluster.yaml" --host "$node" || return 1
    mkdir "$slurm_dir/$node.state"
    cat >"$slurm_dir/$node.yaml" <<EOT
allow: [observe]
state: $slurm_dir/$node.state
drift_interval: 0
hooks: {scontrol: $(command -v scontrol), slurm_conf: $slurm_dir/slurm.conf}
EOT
  done
}

# True if the controller's log has TEXT since its last start.
controller_says() { grep -qF -- "$1" "$slurm_dir/controller.log"; }

# server_start NAME PROGRAM...
server_start() {
  local name=$1
  shift
  "$@" </dev/null >"$slurm_dir/$name.log" 2>&1 &
  server_pid[$name]=$!
}

controller_start() {
  local tls=$slurm_dir/tls
  rm -f "$slurm_dir/port"
  server_start controller daemon/controller/clusterd-controller --spec "$slurm_dir/cluster.yaml" \
    --cluster demo --listen "127.0.0.1:$controller_port" --port-file "$slurm_dir/port" \
    --state "$slurm_dir/controller.state" \
    --ca "$tls/ca.crt" --cert "$tls/controller.crt" --key "$tls/controller.key"
  await "the controller's start" test -s "$slurm_dir/port" || return 1
  controller_port=$(cat "$slurm_dir/port")
  cat >"$slurm_dir/controller.env" <<EOT
export CLUSTERD_CONTROLLER=127.0.0.1:$controller_port CLUSTERD_CLUSTER=demo CLUSTERD_CA=$tls/ca.crt
export CLUSTERD_CERT=$tls/user-admin.crt CLUSTERD_KEY=$tls/user-admin.key
EOT
}

as_admin() (
  # shellcheck source=/dev/null
  . "$slurm_dir/controller.env"
  exec "$servers_bin/client/clusterctl" "$@"
)

host_answers() {
  "$servers_bin/client/clusterctl" check --local --socket "$slurm_dir/$1.sock" >/dev/null 2>&1
  # 0 or 1: it has checked; 2 and 3 are errors.
  [ $? -le 1 ]
}

host_start() {
  local node tls=$slurm_dir/tls
  for node in "$@"; do
    server_start "$node" daemon/agent/clusterd --config "$slurm_dir/$node.yaml" \
      --root "$slurm_dir/hosts/$node" --socket "$slurm_dir/$node.sock" \
      --controller "127.0.0.1:$controller_port" --cluster demo \
      --ca "$tls/ca.crt" --cert "$tls/$node.crt" --key "$tls/$node.key"
  done
  for node in "$@"; do
    await "an answer of $node" test -S "$slurm_dir/$node.sock" || return 1
    if [ -n "${server_pid[controller]:-}" ]; then
      await "attaching $node" controller_says "host $node: attached from" || return 1
    fi
  done
}

server_end() {
  local pid=${server_pid[$1]}
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  unset "server_pid[$1]"
}

fault() { tests/sim/simhost set --root "$slurm_dir/hosts/$1" "$2"; }
