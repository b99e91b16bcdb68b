#!/usr/bin/env bash
# The effects of clusterd's hooks on jobs and nodes of a real Slurm. Needs root
# and the packages of deploy/install-deps.sh's group "test".
# shellcheck disable=SC2317,SC2016  # functions that `cases` calls by name; texts of jobs
. tests/slurm/cases.sh

a_healthy_job_runs_and_sees_its_variables() {
  local job out
  job=$(submit 'srun sh -c "echo \$SLURMD_NODENAME \$HCCL_IF_IP \$HCCL_WHITELIST_DISABLE \$MASTER_ADDR"' -w 'server[1-2]' -N2)
  completes "$job" || return 1
  out=$(sort "$slurm_dir/jobs/$job.out")
  expect_in "of the first node" "server1 192.168.7.23 1 192.168.7.23" "$out"
  expect_in "of the second node" "server2 192.168.7.24 1 192.168.7.23" "$out"
  expect "prologs of the first node" 1 "$(grep -c "^slurm-prolog server1 $job\$" "$slurm_dir/hooks.log")"
  expect "prologs where the controller runs" 1 "$(grep -c "^slurm-controller-prolog - $job\$" "$slurm_dir/hooks.log")"
  await "the epilog" called_since slurm-epilog server2 1 || return 1
  await "idle nodes" slurm_idle "${nodes[@]}"
}

a_broken_device_drains_its_node_and_the_job_runs_elsewhere() {
  local job
  fault server1 3:link=DOWN
  job=$(submit 'echo "ran $SLURM_RESTART_COUNT"' -N2 --requeue -x server3)
  # Slurm takes the first nodes that are free: server0 and server1.
  await "the drain of server1" drained_for server1 link || return 1
  expect_in "reason" "device 3" "$(slurm_reason server1)"
  await "the requeue" job_restarted "$job" || return 1
  await "the wait of the requeued job" job_is "$job" PENDING
  hurry "$job"
  completes "$job" || return 1
  expect "nodes of the second start" "server[0,2]" "$(ran_on "$job")"
  expect "what it wrote" "ran 1" "$(cat "$slurm_dir/jobs/$job.out")"
  drained_for server1 link || fail "server1 is $(slurm_state server1), $(slurm_reason server1)"
  for node in server0 server2 server3; do
    ! drained "$node" || fail "$node is drained, too: $(slurm_reason "$node")"
  done
}

a_node_whose_device_is_repaired_comes_back_by_itself() {
  fault server2 3:link=DOWN
  slurm_health_every 2
  await "the drain of server2" drained_for server2 link || return 1
  await_health server2 || return 1
  drained_for server2 link || fail "a broken node came back"
  fault server2 3:link=UP
  await "the return of server2" slurm_idle server2 || return 1
  expect "reason afterwards" "" "$(slurm_reason server2)"
  completes "$(submit true -w server2)"
}

a_node_that_a_person_has_drained_stays_drained() {
  local reason="rack 7: new power supply"
  scontrol update NodeName=server3 State=DRAIN Reason="$reason"
  slurm_health_every 2
  await_health server3 || return 1
  expect "reason of the healthy node" "$reason" "$(slurm_reason server3)"
  drained server3 || fail "server3 came back"
  fault server3 3:link=DOWN
  await_health server3 || return 1
  fault server3 3:link=UP
  await_health server3 || return 1
  expect "reason after a fault of its own" "$reason" "$(slurm_reason server3)"
  drained server3 || fail "server3 came back after a fault"
}

cases a_healthy_job_runs_and_sees_its_variables \
  a_broken_device_drains_its_node_and_the_job_runs_elsewhere \
  a_node_whose_device_is_repaired_comes_back_by_itself \
  a_node_that_a_person_has_drained_stays_drained
