#!/usr/bin/env bash
# Our own trouble stops no job of a real Slurm, and hides no broken device.
# Needs root and the packages of deploy/install-deps.sh's group "test".
# shellcheck disable=SC2317  # functions that `cases` calls by name
. tests/slurm/cases.sh

jobs_run_while_the_controller_is_away() {
  local job node
  server_end controller
  job=$(submit true -N4)
  completes "$job" || return 1
  expect "restarts" 0 "$(job_field "$job" Restarts)"
  for node in "${nodes[@]}"; do
    ! drained "$node" || fail "$node is drained: $(slurm_reason "$node")"
  done
}

# A job of two servers needs its ports.
a_broken_device_refuses_while_the_controller_is_away() {
  local job
  server_end controller
  fault server1 3:link=DOWN
  job=$(submit true -w 'server[1-2]' -N2 --requeue)
  await "the drain of server1" drained_for server1 link || return 1
  await "the requeue" job_waits "$job" || return 1
  expect_in "reason" "device 3" "$(slurm_reason server1)"
}

# hook_of NODE: pid of the prolog's clusterctl there.
hook_of() {
  local pid
  for pid in $(slurm_processes); do
    if grep -qsaF "SLURMD_NODENAME=$1" "/proc/$pid/environ" && grep -qsaF slurm-prolog "/proc/$pid/cmdline"; then
      echo "$pid"
      return
    fi
  done
  return 1
}
has_hook() { hook_of "$1" >/dev/null; }
has_no_hook() { ! has_hook "$1"; }

a_hook_that_is_killed_leaves_nothing() {
  local job
  # A daemon that does not answer: its hook waits.
  kill -STOP "${server_pid[server2]}"
  job=$(submit true -w server2 --requeue)
  await "the hook" has_hook server2 || return 1
  kill -KILL "$(hook_of server2)"
  kill -CONT "${server_pid[server2]}"
  await "the hook's end" has_no_hook server2 || return 1
  host_answers server2 || fail "clusterd of server2 answers no more"
  # Slurm may treat it as it likes: nothing of ours is left on the node.
  [[ $(slurm_reason server2) != "clusterd: "* ]] || fail "drained by a hook that was killed: $(slurm_reason server2)"
  timeout "$slurm_patience" scancel "$job"
  clean || return 1
  completes "$(submit true -w server2)"
}

jobs_run_where_clusterd_is_away() {
  local job
  server_end server1
  job=$(submit true -w 'server[0-1]' -N2)
  completes "$job" || return 1
  expect "restarts" 0 "$(job_field "$job" Restarts)"
  ! drained server1 || fail "server1 is drained: $(slurm_reason server1)"
}

cases jobs_run_while_the_controller_is_away \
  a_broken_device_refuses_while_the_controller_is_away \
  a_hook_that_is_killed_leaves_nothing \
  jobs_run_where_clusterd_is_away
