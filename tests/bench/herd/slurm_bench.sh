#!/usr/bin/env bash
# `deploy/quickstart.sh --slurm` against the 120 s that it may take. Then a real
# Slurm with clusterd's hooks against the same Slurm with hooks that do nothing,
# and against time limits: one job, 64 jobs on one node, an array of 200 jobs.
# Medians of ROUNDS, 3 by default; the exit status is 1 if one is over its limit.
#   slurm_bench [ROUNDS]
# Needs root and the packages of deploy/install-deps.sh's group "slurm".
# shellcheck disable=SC2317  # functions that `cases` calls by name
. tests/slurm/cases.sh
. tests/slurm/quickstart_repo.sh
slurm_cpus=64
rounds=${1:-3}
over=false

# Slurm's hooks note when they begin and end. "now" is the folder of their
# programs: "ours", or "nothing".
time_hooks() {
  local hook name
  [ ! -d "$slurm_dir/ours" ] || return 0
  mv "$slurm_dir/hooks" "$slurm_dir/ours"
  mkdir "$slurm_dir/hooks" "$slurm_dir/nothing"
  for hook in "$slurm_dir"/ours/*; do
    name=${hook##*/}
    printf '#!/bin/sh\n' >"$slurm_dir/nothing/$name"
    cat >"$slurm_dir/hooks/$name" <<EOT
#!/bin/sh
began=\$(date +%s%N)
"$slurm_dir/now/$name" "\$@"
status=\$?
echo "$name \$began \$(date +%s%N)" >>"$slurm_dir/times"
exit \$status
EOT
  done
  chmod 0755 "$slurm_dir"/hooks/* "$slurm_dir"/nothing/*
  : >"$slurm_dir/times"
  chmod 0666 "$slurm_dir/times" # A task prolog runs as the job's user.
}

all_ended() { [ "$(grep -c '^epilog ' "$slurm_dir/times")" -ge "$1" ]; }

# run_jobs HOOKS COUNT OPTION...: runs so many jobs at once to their end. Adds the
# milliseconds from the first prolog until the last epilog to the file HOOKS.COUNT.
run_jobs() {
  local hooks=$1 count=$2 array
  shift 2
  ln -sfn "$slurm_dir/$hooks" "$slurm_dir/now"
  : >"$slurm_dir/times"
  rm -f "$slurm_dir/jobs/marks"
  array=$(submit "echo \$SLURM_ARRAY_TASK_ID >>$slurm_dir/jobs/marks" "--array=0-$((count - 1))" -n1 "$@")
  all_ran "$array" "$count" || return 1
  await "the end of all epilogs" all_ended "$count" || return 1
  await "idle nodes" slurm_idle "${nodes[@]}" || return 1
  awk '
    $1 == "prolog" && (begin == 0 || $2 < begin) { begin = $2 }
    $1 == "epilog" && $3 > end { end = $3 }
    END { printf "%.0f\n", (end - begin) / 1e6 }' "$slurm_dir/times" >>"$slurm_dir/$hooks.$count"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# figure WHAT VALUE PEER LIMIT: a row with the ratio of two times in milliseconds.
figure() {
  awk -v what="$1" -v value="$2" -v peer="$3" -v limit="$4" 'BEGIN {
    ratio = value / (peer > 0 ? peer : 1)
    printf "%-60s %8d ms  ratio %.2f, limit %.2f\n", what, value, ratio, limit
    exit ratio > limit
  }' || over=true
}

# figures WHAT COUNT LIMIT_MS PEER_LIMIT: those of so many jobs at once.
figures() {
  local ours nothing
  ours=$(median "$slurm_dir/ours.$2")
  nothing=$(median "$slurm_dir/nothing.$2")
  figure "$1, over $(($3 / 1000)) s" "$ours" "$3" 1
  figure "$1, over hooks that do nothing" "$ours" "$nothing" "$4"
  [ "$2" -eq 1 ] || figure "$1, over as many one after the other" "$ours" $(($2 * $(median "$slurm_dir/ours.1"))) 1
}

our_hooks_beside_hooks_that_do_nothing() {
  local round hooks
  time_hooks
  for ((round = 0; round < rounds; ++round)); do
    for hooks in ours nothing; do
      run_jobs $hooks 1 -w server0 || return 1
      run_jobs $hooks 64 -w server0 || return 1
      run_jobs $hooks 200 || return 1
    done
  done
  figures "one job" 1 8000 10
  figures "64 jobs on one node" 64 120000 20
  figures "array of 200 jobs" 200 180000 10
}

# Runs it as often, and prints its figure.
quickstart() (
  local began round
  TMPDIR=$(mktemp -d /tmp/clusterd-slurm.XXXXXX) || exit 1
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
  chmod 0755 "$TMPDIR"
  quickstart_repo "$TMPDIR/repo"
  for ((round = 0; round < rounds; ++round)); do
    began=$(date +%s%N)
    "$TMPDIR/repo/deploy/quickstart.sh" --slurm >"$TMPDIR/log" 2>&1 </dev/null || {
      cat "$TMPDIR/log" >&2
      exit 1
    }
    echo $((($(date +%s%N) - began) / 1000000)) >>"$TMPDIR/took"
  done
  figure "quickstart --slurm, over 120 s" "$(median "$TMPDIR/took")" 120000 1
  ! $over
)

[[ $rounds =~ ^[1-9][0-9]?$ ]] || { echo "slurm_bench: \"$rounds\" rounds, expected 1 to 99" >&2; exit 3; }
why=$(slurm_obstacle)
if [ -n "$why" ]; then
  echo "not measured: $why"
  exit 0
fi
quickstart || over=true
cases our_hooks_beside_hooks_that_do_nothing || over=true
! $over
