#!/usr/bin/env bash
# Runs the whole suite N times (1 by default) under load (tests/steady/load.cc),
# small tests 50 times in all. Prints how often each test failed, with its first
# failure:
#   tests/steady.sh 10
# CLUSTERD_TESTS selects targets, as for tests/run.sh; further arguments go to
# `bazel test`. Ends with status 1 when a test failed. Not part of CI: it takes
# hours, and keeps the whole machine busy.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

rounds=${1:-1}
[ $# -eq 0 ] || shift
if ! [[ $rounds =~ ^[1-9][0-9]{0,2}$ ]]; then
  echo "tests/steady.sh: number of runs: \"$rounds\" is not a number from 1 to 999" >&2
  exit 3
fi
repetitions=$(((50 + rounds - 1) / rounds))
# A run that takes longer than this continues without the load.
max_load_seconds=14400

deploy/install-deps.sh build test || exit 1
if [ "$(id -u)" -eq 0 ]; then tests/systemd/rootfs.sh prepare || exit 1; fi

cache=${XDG_CACHE_HOME:-$HOME/.cache}
mkdir -p "$cache"
work=$(mktemp -d -p "$cache" clusterd-steady.XXXXXX) || exit 1
failures=$work/failures
: >"$failures"
mkdir "$work/load"
load=""
end_load() {
  [ -n "$load" ] || return 0
  kill -TERM "$load" 2>/dev/null
  wait "$load" 2>/dev/null
  load=""
  # The load removes its mounts itself, unless it was killed.
  awk -v under="$work/load/" 'index($5, under) == 1 { print $5 }' /proc/self/mountinfo |
    while read -r mount; do umount -l "$mount"; done
}
# shellcheck disable=SC2317  # the trap runs it
clean_up() {
  end_load
  rm -rf "$work"
}
trap clean_up EXIT

read -r -a targets <<<"${CLUSTERD_TESTS:-//...}"
flags=(--config=joined --noshow_progress --keep_going --build_tests_only)
bazel build --config=joined --noshow_progress //tests/steady:load || exit 1
bazel build "${flags[@]}" -- "${targets[@]}" || exit 1
cp -L bazel-bin/tests/steady/load "$work/program"

# Small targets run more often in each round. Bazel lists them, since only one
# option may name a target.
expression=$(printf '%s + ' "${targets[@]}" | sed 's/ + $//; s/ + -/ - /g')
small=$(bazel query --noshow_progress "attr(size, small, tests($expression))" 2>"$work/log") ||
  { cat "$work/log" >&2; exit 1; }
often=()
for target in $small; do often+=("--runs_per_test=^$target\$@$repetitions"); done

start_load() {
  # The output of an earlier load does not count.
  : >"$work/loaded"
  "$work/program" "$work/load" "$max_load_seconds" >>"$work/loaded" &
  load=$!
  until grep -q loaded "$work/loaded"; do
    kill -0 "$load" 2>/dev/null || { echo "tests/steady.sh: the load ended" >&2; exit 1; }
    sleep 0.2
  done
}

# bad_results EVENTS: "LABEL STATUS LOG XML" of each result that is neither a pass
# nor cut short, of any run and shard; "-" for a file that there is not. A target
# that could not be built or run has a summary alone.
bad_results() {
  awk '
    /^id \{/ { in_id = 1; label = "" }
    in_id && /^    label: / && label == "" { label = $2; gsub(/"/, "", label) }
    /^test_result \{/ { in_result = 1; status = log_file = xml = "-" }
    in_result && /^    name: / { name = $2 }
    in_result && /^    uri: / {
      path = $2
      gsub(/^"file:\/\/|"$/, "", path)
      if (name == "\"test.log\"") log_file = path
      if (name == "\"test.xml\"") xml = path
    }
    in_result && /^  status: / { status = $2 }
    /^test_summary \{/ { in_summary = 1 }
    in_summary && /^  overall_status: (FAILED_TO_BUILD|TOOL_HALTED_BEFORE_TESTING)$/ { print label, $2, "-", "-" }
    /^\}/ {
      if (in_result && status !~ /^(PASSED|INCOMPLETE|NO_STATUS)$/) print label, status, log_file, xml
      in_id = in_result = in_summary = 0
    }
  ' "$1"
}

# The name of each <testcase>, for the programs of awk below.
# shellcheck disable=SC2016  # awk's own variables
case_name='
  match($0, /<testcase name="[^"]*"/) {
    name = substr($0, RSTART + 16, RLENGTH - 17)
    if (match($0, /classname="[^"]*"/)) name = substr($0, RSTART + 11, RLENGTH - 12) "." name
  }'

# failed_cases XML: the names of its cases that failed. Bazel itself writes one
# case, with the name of the target, if the test has written no XML.
failed_cases() {
  awk "$case_name"'
    /<error message="exited with error code/ { name = "" }
    /<(failure|error)[ >]/ && name != "" { print name; name = "" }
  ' "$1" | sort -u
}

# said CASE LOG XML: GoogleTest's output of the case, or the end of the log.
said() {
  local text=""
  [ ! -f "$3" ] || text=$(awk -v wanted="$1" "$case_name"'
    name == wanted && /<failure.*<!\[CDATA\[/ { on = 1; sub(/.*<!\[CDATA\[/, "") }
    on { last = sub(/\]\]>.*/, ""); print; if (last || ++lines == 20) exit }
  ' "$3")
  if [ -n "$text" ]; then
    echo "$text"
  elif [ -f "$2" ]; then
    tail -n 20 "$2"
  fi
}

first_failure() { echo "$work/first.$(tr -c 'A-Za-z0-9\n' _ <<<"$1")"; }

# record ROUND EVENTS: adds a line "target case" for each failure, and keeps the output of each
# first failure.
record() {
  local label status log xml name file
  local -a names
  while read -r label status log xml; do
    names=()
    [ ! -f "$xml" ] || mapfile -t names < <(failed_cases "$xml")
    # The run ended, or was ended, without a failed case.
    [ ${#names[@]} -gt 0 ] || names=("($status)")
    for name in "${names[@]}"; do
      echo "$label $name" >>"$failures"
      file=$(first_failure "$label $name")
      [ -f "$file" ] || { echo "run $1 of $rounds"; said "$name" "$log" "$xml"; } >"$file"
    done
  done < <(bad_results "$2")
}

# Failed tests, how often each failed, and its first output.
summarize() {
  echo
  if [ ! -s "$failures" ]; then
    echo "no test failed in $done_rounds whole runs"
    return
  fi
  sort "$failures" | uniq -c | sort -rn | while read -r count what; do
    echo "failed $count times: $what"
    sed 's/^/    /' "$(first_failure "$what")"
  done
}

done_rounds=0
bazel=""
# shellcheck disable=SC2317  # the trap runs it
stop() {
  trap '' INT TERM
  if [ -n "$bazel" ]; then
    kill -TERM "$bazel" 2>/dev/null
    wait "$bazel"
    record "$round" "$events"
  fi
  end_load
  echo "stopped in run ${round:-1} of $rounds"
  summarize
  exit 130
}
trap stop INT TERM

events=$work/events
for ((round = 1; round <= rounds; ++round)); do
  start_load
  began=$SECONDS
  before=$(wc -l <"$failures")
  : >"$events"
  # Runs in the background, so that the shell handles a signal while it runs.
  bazel test "${flags[@]}" --nocache_test_results --runs_per_test=1 "${often[@]}" --test_output=summary \
    --local_test_jobs="$((2 * $(nproc)))" \
    --build_event_text_file="$events" "$@" -- "${targets[@]}" >"$work/log" 2>&1 &
  bazel=$!
  wait "$bazel"
  ended=$?
  bazel=""
  kill -0 "$load" 2>/dev/null || echo "run $round of $rounds: the load ended before the tests"
  end_load
  done_rounds=$round
  record "$round" "$events"
  now=$(wc -l <"$failures")
  if [ $ended -ne 0 ] && [ "$now" -eq "$before" ]; then
    # Bazel reports a failure without a result: print its own words.
    echo "bazel (status $ended)" >>"$failures"
    { echo "run $round of $rounds"; tail -n 30 "$work/log"; } >"$(first_failure "bazel (status $ended)")"
    now=$((now + 1))
  fi
  echo "run $round of $rounds: $((now - before)) failures, $((SECONDS - began)) s, small tests $repetitions times each"
done

summarize
[ ! -s "$failures" ]
