#!/usr/bin/env bash
# Installs what is missing, builds the benchmarks optimised, and runs them one
# after the other; names select some of them:
#   tests/bench/run.sh
#   tests/bench/run.sh fleet_bench slurm_bench
# Ends with status 1 when a figure is over its budget. Other work on the machine
# changes the figures.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

benches=(
  "judge:judge_bench"
  "observe:observe_bench"
  "probe:probe_bench"
  "history:history_bench"
  "html:html_bench"
  "html:open_bench"
  "herd:herd_bench"
  "herd:slurm_bench"
  "fleet:fleet_bench"
  "fleet:fleet_bench --servers 300 --rollbacks 9"
)
for name in "$@"; do
  [[ " ${benches[*]} " == *":$name "* ]] ||
    { echo "tests/bench/run.sh: \"$name\" is not a benchmark, expected one of: ${benches[*]#*:}" >&2; exit 3; }
done

deploy/install-deps.sh build test || exit 1
flags=(-c opt --config=joined --noshow_progress)
bazel build "${flags[@]}" //tests/bench/... || exit 2
status=0
for bench in "${benches[@]}"; do
  read -r target options <<<"$bench"
  [ $# -eq 0 ] || [[ " $* " == *" ${target#*:} "* ]] || continue
  echo "=== $bench"
  # shellcheck disable=SC2086  # options are words
  bazel run "${flags[@]}" --ui_event_filters=-info --show_result=0 -- "//tests/bench/$target" $options || status=1
done
exit $status
