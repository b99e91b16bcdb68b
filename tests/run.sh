#!/usr/bin/env bash
# Installs what is missing, builds everything, runs every test and ends with the
# line "N passed, N failed". Further arguments go to `bazel test`, e.g.
#   tests/run.sh --config=asan
# CLUSTERD_TESTS selects targets; the default is everything.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

deploy/install-deps.sh build test || exit 1
# Booted machines for tests need root; without it the tests say so and pass.
if [ "$(id -u)" -eq 0 ]; then tests/systemd/rootfs.sh prepare || exit 1; fi

# A killed test of namespaces leaves mounts, below which Bazel cannot make a
# folder. Bazel answers once no other command runs in this checkout.
if [ "$(id -u)" -eq 0 ]; then
  under=$(bazel info --noshow_progress output_base 2>/dev/null)/execroot/clusterd/_tmp/
  awk -v under="$under" 'index($5, under) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
    while read -r mount; do umount -l "$mount"; done
fi

events=$(mktemp)
trap 'rm -f "$events"' EXIT
read -r -a targets <<<"${CLUSTERD_TESTS:-//...}"
# Tests wait more than they compute: two at a time for each processor. Compilers get
# one each, as Bazel counts what they use.
at_once=$((2 * $(nproc)))
bazel test --config=joined --keep_going --noshow_progress --build_event_text_file="$events" \
  --jobs=$((at_once + 1)) --local_test_jobs="$at_once" "$@" -- "${targets[@]}"
status=$?

# One test case is one <testcase> of the XML that GoogleTest or Bazel writes. A
# target that failed without naming one counts as one failed case.
results=$(grep -oE 'file://[^"]*/test\.xml' "$events" | sed 's,^file://,,' | sort -u)
passed=0
failed=0
while read -r label result; do
  path=${label#//}
  cases=0
  broken=0
  skipped=0
  # A target that runs in shards has a file for each.
  while read -r xml; do
    [ -f "$xml" ] || continue
    cases=$((cases + $(grep -c '<testcase ' "$xml")))
    broken=$((broken + $(grep -cE '<(failure|error) ' "$xml")))
    skipped=$((skipped + $(grep -cE 'result="skipped"|status="notrun"' "$xml")))
  done < <(grep -F "/testlogs/${path/://}/" <<<"$results")
  # Several failures may belong to one case.
  [ "$broken" -le "$cases" ] || broken=$cases
  if [ "$result" != PASSED ] && [ "$result" != FLAKY ]; then
    [ "$broken" -gt 0 ] || broken=1
    [ "$cases" -ge "$broken" ] || cases=$broken
  fi
  passed=$((passed + cases - broken - skipped))
  failed=$((failed + broken))
done < <(awk '
  /^ *test_summary \{/ && in_id { want = 1 }
  /^id \{/ { in_id = 1; label = "" }
  /^ *label: / && in_id && label == "" { gsub(/"/, "", $2); label = $2 }
  /^ *overall_status: / { print label, $2 }
' "$events")

# A build that broke ran no test of the targets that it broke.
if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
  echo "bazel test ended with status $status before every test could run" >&2
  failed=1
fi
echo "$passed passed, $failed failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
