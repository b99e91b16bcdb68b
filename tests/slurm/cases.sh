#!/usr/bin/env bash
# Shared by the tests of this folder: four nodes, a job's life, and cases whose
# names are sentences. To be sourced in the folder of a test's runfiles.
#   cases FUNCTION...  starts all, runs each as a case of its own, ends all
# A case that fails prints what Slurm and the daemons said, and the next one
# starts from idle nodes and healthy servers, too. If Slurm cannot run
# it says so and passes; where tests/run.sh should have installed it, it fails.
# shellcheck disable=SC2317  # functions that only `await` calls
set -uo pipefail
. tests/slurm/slurm.sh
slurm_own_network "$0" "$@"
. tests/slurm/servers.sh
# A hook that gives up after the seconds of its default lets the job through: a
# loaded machine takes longer.
slurm_hook_wait=${slurm_patience}s

await() { slurm_await "$@"; }
nodes=(server0 server1 server2 server3)

fail() {
  echo "  $*" >&2
  case_failed=true
}
expect() {
  local what=$1 expected=$2 actual=$3
  [ "$actual" = "$expected" ] || fail "$what: expected \"$expected\", found \"$actual\""
}
expect_in() {
  local what=$1 part=$2 actual=$3
  [[ $actual == *"$part"* ]] || fail "$what: expected \"$part\" in \"$actual\""
}

# --- Jobs, of a user who is not root. ---------------------------------------

as_user() {
  setpriv --reuid=daemon --regid=daemon --clear-groups \
    env -i "PATH=$PATH" HOME=/tmp "SLURM_CONF=$SLURM_CONF" "$@"
}

# submit SCRIPT_TEXT OPTION...: prints the id of the job.
submit() {
  local text=$1
  shift
  printf '#!/bin/sh\n%s\n' "$text" |
    as_user sbatch --parsable --chdir="$slurm_dir/jobs" --output="$slurm_dir/jobs/%j.out" "$@"
}

# job_field JOB NAME: as scontrol names it, e.g. JobState, NodeList, Restarts.
job_field() { scontrol show job "$1" -o | head -n 1 | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
job_is() { [ "$(job_field "$1" JobState)" = "$2" ]; }
job_restarted() { [ "$(job_field "$1" Restarts)" -ge 1 ]; }
job_waits() { job_restarted "$1" && job_is "$1" PENDING; }
# A requeued job waits for cred_expire; a test does not have to.
hurry() { scontrol update JobId="$1" StartTime=now; }
# completes JOB; a case ends where it does not.
completes() {
  await "the end of job $1" job_is "$1" COMPLETED && return
  fail "job $1 is $(job_field "$1" JobState), $(job_field "$1" Reason)"
  return 1
}
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
ran_on() { job_field "$1" NodeList; }

# --- Nodes ------------------------------------------------------------------

drained() {
  case $(slurm_state "$1") in *+DRAIN*) return 0 ;; *) return 1 ;; esac
}
drained_for() { drained "$1" && [[ $(slurm_reason "$1") == "clusterd: "*"$2"* ]]; }
calls() { grep -c "^$1 $2 " "$slurm_dir/hooks.log"; }
called_since() { [ "$(calls "$1" "$2")" -ge "$3" ]; }
# Waits for two whole calls of the health check on a node from now on: the third
# begins after the second has ended.
await_health() { await "health checks of $1" called_since slurm-health "$1" $(($(calls slurm-health "$1") + 3)); }
# A missing answer is not an empty one.
no_jobs() {
  local jobs
  jobs=$(squeue -h) && [ -z "$jobs" ]
}

# Restores idle nodes, healthy servers and all processes.
clean() {
  local node pid
  # Resumes one that a case has stopped.
  for pid in "${server_pid[@]}"; do kill -CONT "$pid"; done
  timeout "$slurm_patience" scancel --user=daemon
  slurm_health_every 0
  for node in "${nodes[@]}"; do fault "$node" 3:link=UP; done
  [ -n "${server_pid[controller]:-}" ] || controller_start || return 1
  for node in "${nodes[@]}"; do
    [ -n "${server_pid[$node]:-}" ] || host_start "$node" || return 1
  done
  await "the end of all jobs" no_jobs || return 1
  for node in "${nodes[@]}"; do
    ! drained "$node" || scontrol update NodeName="$node" State=RESUME
  done
  await "idle nodes" slurm_idle "${nodes[@]}"
}

tell() {
  echo "--- sinfo, squeue" >&2
  sinfo -N -o "%N %T %E" >&2
  squeue >&2
  for log in "$slurm_dir"/hooks.log "$slurm_dir"/slurmctld.log "$slurm_dir"/slurmd.*.log "$slurm_dir"/*.log; do
    echo "--- ${log##*/}" >&2
    # Slurm always prints which libraries and CPUs it does without.
    grep -v -e pmix -e 'MPI: ' -e 'CPU frequency' -e 'differs from hardware' -e select/cons -e ' usec=' "$log" | tail -n 15 >&2
  done
}

end_all() {
  local status=$?
  trap - EXIT
  slurm_down || { echo "processes are left behind" >&2; status=1; }
  rm -rf "$slurm_dir"
  exit "$status"
}

start_all() {
  servers_make "${nodes[@]}" && controller_start && host_start "${nodes[@]}" || return 1
  slurm_hooks deploy/slurm "$servers_bin/client/clusterctl" || return 1
  install -d -o daemon "$slurm_dir/jobs"
  slurm_up "${nodes[@]}"
}

# XML of the cases, in GoogleTest's form.
write_xml() {
  [ -n "${XML_OUTPUT_FILE:-}" ] || return 0
  {
    echo "<testsuites><testsuite name=\"slurm\" tests=\"$#\">"
    printf '%s\n' "$@"
    echo "</testsuite></testsuites>"
  } >"$XML_OUTPUT_FILE"
}

cases() {
  local why name begun xml=() broken=0
  why=$(slurm_obstacle)
  if [ -n "$why" ]; then
    echo "no Slurm is to be had here: $why"
    case $why in *"not installed"*) exit 1 ;; *) exit 0 ;; esac
  fi
  slurm_dir=$(mktemp -d /tmp/clusterd-slurm.XXXXXX)
  chmod 0755 "$slurm_dir"
  trap end_all EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  start_all || { tell; exit 1; }
  for name in "$@"; do
    begun=$SECONDS
    case_failed=false
    clean || fail "no clean start"
    $case_failed || "$name" || case_failed=true
    if $case_failed; then
      broken=$((broken + 1))
      tell
      echo "FAILED: ${name//_/ } ($((SECONDS - begun)) s)"
      xml+=("<testcase name=\"$name\"><failure message=\"see the log\"/></testcase>")
    else
      echo "ok: ${name//_/ } ($((SECONDS - begun)) s)"
      xml+=("<testcase name=\"$name\"/>")
    fi
  done
  write_xml "${xml[@]}"
  [ "$broken" -eq 0 ]
}
