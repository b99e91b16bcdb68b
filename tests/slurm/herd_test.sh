#!/usr/bin/env bash
# Many jobs of a real Slurm at once. Needs root and the packages of
# deploy/install-deps.sh's group "test".
# shellcheck disable=SC2317  # functions that `cases` calls by name
. tests/slurm/cases.sh
slurm_cpus=64

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
