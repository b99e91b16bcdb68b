#!/usr/bin/env bash
# Runs the whole suite N times (1 by default) beside a load that it makes itself
# (tests/steady/load.cc), small tests 50 times in all, and prints which test
# failed how often, with its first failure:
#   tests/steady.sh 10
# CLUSTERD_TESTS selects targets, as for tests/run.sh; further arguments go to
# `bazel test`. Ends with status 1 when a test failed. Not part of CI: it takes
# hours, and the machine is of little use for anything else meanwhile.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

rounds=${1:-1}
[ $# -eq 0 ] || shift
if ! [[ $rounds =~ ^[1-9][0-9]{0,2}$ ]]; then
  echo "tests/steady.sh: number of runs: \"$rounds\" is not a number from 1 to 999" >&2
  exit 3
fi
repetitions=$(((50 + rounds - 1) / rounds))
# A run that takes longer than this goes on without the load.
max_load_seconds=14400

deploy/install-deps.sh build test || exit 1
if [ "$(id -u)" -eq 0 ]; then tests/systemd/rootfs.sh prepare || exit 1; fi

work=$(mktemp -d -p "${XDG_CACHE_HOME:-$HOME/.cache}" clusterd-steady.XXXXXX) || exit 1
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

start_load() {
  "$work/program" "$work/load" "$max_load_seconds" >"$work/loaded" &
  load=$!
  until grep -q loaded "$work/loaded"; do
    kill -0 "$load" 2>/dev/null || { echo "tests/steady.sh: the load ended" >&2; exit 1; }
    sleep 0.2
  done
}

# failed_cases XML: the names of its cases that failed.
failed_cases() {
  awk '
    match($0, /<testcase name="[^"]*"/) {
      name = substr($0, RSTART + 16, RLENGTH - 17)
      class = match($0, /classname="[^"]*"/) ? substr($0, RSTART + 11, RLENGTH - 12) "." : ""
    }
    /<(failure|error)[ >]/ && name != "" { print class name; name = "" }
  ' "$1"
}

# record ROUND EVENTS: adds a line "target case" for each failure, and keeps what
# the first failure of each said.
record() {
  local xml name target key
  while read -r xml; do
    [ -f "$xml" ] || { echo "?" "no result: $xml" >>"$failures"; continue; }
    grep -qE '<(failure|error)[ >]' "$xml" || continue
    target=$(sed -E 's,^.*/testlogs/,//,; s,/(shard_[0-9_of]+)?_?(run_[0-9_of]+)?/?test\.xml$,,; s,/test\.xml$,,' <<<"$xml")
    while read -r name; do
      echo "$target $name" >>"$failures"
      key=$work/first.$(tr -c 'A-Za-z0-9\n' _ <<<"$target.$name")
      [ -f "$key" ] || { echo "run $1 of $rounds"; grep -A 12 -m 1 -E '<(failure|error)[ >]' "$xml"; } >"$key"
    done < <(failed_cases "$xml" | sort -u)
  done < <(grep -oE 'file://[^"]*/test\.xml' "$2" | sed 's,^file://,,' | sort -u)
}

# Targets that are small run more often in each round; a list of patterns that
# Bazel reads, since each target may be named in one option alone.
mapfile -t small < <(bazel query --noshow_progress \
  "attr(size, small, tests($(printf '%s + ' "${targets[@]}" | sed 's/ + $//; s/ + -/ - /g')))" 2>/dev/null)
often=()
for target in "${small[@]}"; do often+=("--runs_per_test=^$target\$@$repetitions"); done

# What failed how often, and what it said first.
summarize() {
  echo
  if [ ! -s "$failures" ]; then
    echo "no test failed in $done_rounds runs"
    return
  fi
  status=1
  sort "$failures" | uniq -c | sort -rn | while read -r count target name; do
    echo "failed $count times: $target $name"
    sed 's/^/    /' "$work/first.$(tr -c 'A-Za-z0-9\n' _ <<<"$target.$name")" 2>/dev/null
  done
}
done_rounds=0
trap 'end_load; summarize; exit 130' INT TERM

status=0
for ((round = 1; round <= rounds; ++round)); do
  start_load
  began=$SECONDS
  events=$work/events
  bazel test "${flags[@]}" --nocache_test_results --runs_per_test=1 "${often[@]}" --test_output=summary \
    --build_event_text_file="$events" "$@" -- "${targets[@]}" >"$work/log" 2>&1
  ended=$?
  end_load
  done_rounds=$round
  before=$(wc -l <"$failures")
  record "$round" "$events"
  now=$(wc -l <"$failures")
  echo "run $round of $rounds: $((now - before)) failures, $((SECONDS - began)) s, small tests $repetitions times each"
  if [ $ended -ne 0 ]; then
    status=1
    # Bazel says that something failed, and no result does: its own words.
    [ "$now" -ne "$before" ] || tail -n 30 "$work/log"
  fi
done

summarize
exit $status
