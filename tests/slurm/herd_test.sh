#!/usr/bin/env bash
# Many jobs of a real Slurm at once. Needs root and the packages of
# deploy/install-deps.sh's group "test".
# shellcheck disable=SC2317  # functions that `cases` calls by name
. tests/slurm/cases.sh
slurm_cpus=64

# fewer ARRAY: less of its jobs than $left are to run or run; $left says how many.
left=0
fewer() {
  local jobs
  jobs=$(squeue -h -r -j "$1" -o %i) || return 1
  jobs=$(sed '/^$/d' <<<"$jobs" | wc -l)
  [ "$jobs" -lt "$left" ] && left=$jobs
}

# all_ran ARRAY COUNT: each of its jobs has left its mark, once.
all_ran() {
  local array=$1 count=$2
  left=$((count + 1))
  while [ "$left" -gt 0 ]; do
    await "the end of one more of $count jobs, $left are left" fewer "$array" || return 1
  done
  expect "jobs that ran" "$count" "$(sort -u "$slurm_dir/jobs/marks" | wc -l)"
  expect "starts" "$count" "$(wc -l <"$slurm_dir/jobs/marks")"
  for node in "${nodes[@]}"; do
    ! drained "$node" || fail "$node is drained: $(slurm_reason "$node")"
  done
}

prologs() { grep -c '^slurm-prolog ' "$slurm_dir/hooks.log"; }

sixty_four_prologs_at_once_on_one_node_are_answered() {
  local array before
  before=$(prologs)
  rm -f "$slurm_dir/jobs/marks"
  array=$(submit "echo \$SLURM_ARRAY_TASK_ID >>$slurm_dir/jobs/marks" --array=0-63 -n1 -w server0)
  all_ran "$array" 64 || return 1
  expect "prologs" 64 $(($(prologs) - before))
}

an_array_of_two_hundred_jobs_runs_whole() {
  local array
  rm -f "$slurm_dir/jobs/marks"
  array=$(submit "echo \$SLURM_ARRAY_TASK_ID >>$slurm_dir/jobs/marks" --array=0-199 -n1)
  all_ran "$array" 200
}

cases sixty_four_prologs_at_once_on_one_node_are_answered \
  an_array_of_two_hundred_jobs_runs_whole
