#!/usr/bin/env bash
# Implements --slurm of deploy/quickstart.sh, which sources it after its
# options: a real Slurm over its simulated servers, from a job that runs over a
# fault to the node's return. Uses its $work, $bin, $names and `wrong`.
#   slurm_check              before anything is built: status 3 with the reason
#   slurm_begin              starts Slurm with the hooks of deploy/slurm
#   slurm_demonstrate        shows it; sets $status, 0 if all went as it should
# shellcheck disable=SC2154,SC2034  # of quickstart.sh
# shellcheck disable=SC2317  # functions that only `slurm_await` calls
. "$repo/tests/slurm/slurm.sh"

slurm_check() {
  local why
  [ "$(id -u)" -eq 0 ] || wrong "--slurm needs root: slurmd starts jobs of other users"
  if [ "$servers" -lt 3 ] || [ "$servers" -gt 16 ]; then
    wrong "--slurm with $servers servers, expected 3 to 16"
  fi
  [ $((${#faults[@]})) -eq 0 ] || wrong "--slurm makes a fault of its own, expected no --fault"
  ! $fix || wrong "--slurm and --fix are two demonstrations, expected one of them"
  deploy/install-deps.sh slurm || exit 2
  why=$(slurm_obstacle)
  [ -z "$why" ] || wrong "--slurm: $why"
}

slurm_begin() {
  slurm_dir=$work
  cat >"$work/controller.env" <<EOT
export CLUSTERD_CONTROLLER=$CLUSTERD_CONTROLLER CLUSTERD_CLUSTER=$CLUSTERD_CLUSTER
export CLUSTERD_CA=$CLUSTERD_CA CLUSTERD_CERT=$CLUSTERD_CERT CLUSTERD_KEY=$CLUSTERD_KEY
EOT
  slurm_hooks deploy/slurm "$run/clusterctl" && slurm_up "${names[@]}"
}

# Prints a command, runs it, and keeps its status in $status.
shell() {
  local word text=
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=,%@+-]+$ ]] || word="'$word'"
    text+=" $word"
  done
  printf '\n$%s\n' "$text"
  status=0
  "$@" || status=$?
}
say() { printf '\n# %s\n' "$*"; }

job_says() { grep -qE "$2" <(scontrol show job "$1" -o 2>/dev/null); }
node_drained() { [[ $(slurm_state "$1") == *+DRAIN* ]] && [[ $(slurm_reason "$1") == "clusterd: "* ]]; }

# Prints the job's host and variables seen there.
# shellcheck disable=SC2016  # for the shell of the job
slurm_task='echo "$SLURMD_NODENAME: HCCL_IF_IP=$HCCL_IF_IP MASTER_ADDR=$MASTER_ADDR"'

slurm_demonstrate() {
  local job broken=server1
  say "A job on healthy servers: every node asks its own clusterd, the controller checks once."
  shell srun -N2 -l sh -c "$slurm_task"
  [ "$status" -eq 0 ] || return 0

  # The epilogs check the servers, too.
  slurm_await "idle nodes" slurm_idle "${names[@]}" || { status=1; return 0; }

  say "Device 3 of $broken loses its link. The next job wants $broken, too."
  "$bin/simhost" set --root "$work/hosts/$broken" 3:link=DOWN
  printf '#!/bin/sh\nsrun -l sh -c '\''%s'\''\n' "$slurm_task" >"$work/train.sh"
  shell sbatch --requeue -N2 "--output=$work/job-%j.out" "$work/train.sh"
  [ "$status" -eq 0 ] || return 0
  job=$(squeue -h -o %i)
  status=1
  slurm_await "the drain of $broken" node_drained "$broken" || return 0
  shell sinfo -R -o '%.56E %9u %N'
  status=1
  slurm_await "the requeue" job_says "$job" "JobState=PENDING .*Restarts=1 " || return 0
  say "Slurm has requeued the job, and holds it for two minutes. It need not wait."
  shell scontrol update "JobId=$job" StartTime=now
  status=1
  slurm_await "the job's end" job_says "$job" JobState=COMPLETED || return 0
  shell cat "$work/job-$job.out"

  say "The link is repaired. The health check sees it, and $broken returns automatically."
  "$bin/simhost" set --root "$work/hosts/$broken" 3:link=UP
  slurm_health_every 2
  status=1
  slurm_await "the return of $broken" slurm_idle "$broken" || return 0
  shell sinfo -N -o '%N %T %E'
  shell srun -w "$broken" sh -c "$slurm_task"
}
