#!/usr/bin/env bash
# Metrics of clusterd and its controller, the alerts and the board, as promtool reads them. Every
# metric is on the board, and every name on the board is a metric.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
files=$here/../../deploy/monitoring
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}
command -v promtool >/dev/null || fail "there is no promtool: deploy/install-deps.sh test installs it"

"$here/exposition" >"$work/controller.prom" || fail "the controller shows no metrics"
"$here/exposition" host >"$work/host.prom"
for exposed in controller host; do
  promtool check metrics <"$work/$exposed.prom" || fail "promtool does not like the metrics of the $exposed"
  # No two series of one name and labels.
  [ -z "$(grep -v '^#' "$work/$exposed.prom" | sed 's/ [^ ]*$//' | sort | uniq -d)" ] || fail "a series of the $exposed is there twice"
done

promtool check rules "$files/alerts.yaml" || fail "alerts.yaml"
promtool test rules "$files/alerts_test.yaml" || fail "alerts_test.yaml"
promtool check config --syntax-only "$files/prometheus.yaml" || fail "prometheus.yaml"
[ "$(grep -c 'alert: ' "$files/alerts.yaml")" -eq 7 ] || fail "expected seven alerts"
python3 -m json.tool "$files/grafana-dashboard.json" /dev/null || fail "the board is no JSON"

# The queries of the board are rules for promtool, so that it reads each of them.
{
  printf 'groups:\n  - name: board\n    rules:\n'
  grep -o '"expr": ".*"' "$files/grafana-dashboard.json" | sed 's/^"expr": //' | awk '{ printf "      - record: q%d\n        expr: %s\n", NR, $0 }'
} >"$work/board.yaml"
promtool check rules "$work/board.yaml" >"$work/said" || {
  cat "$work/said"
  fail "a query of the board"
}

names() { grep -ohE 'clusterd_[a-z_]+' "$@" | sed -E 's/_(bucket|sum|count)$//' | sort -u; }
sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$work"/*.prom | sort -u >"$work/exposed"
names "$files/alerts.yaml" "$files/grafana-dashboard.json" >"$work/used"
names "$files/alerts_test.yaml" >"$work/tested"
[ -s "$work/exposed" ] || fail "nothing is exposed"
comm -3 "$work/exposed" "$work/used" | sed 's/^/only exposed, or further right only used: /'
cmp -s "$work/exposed" "$work/used" || fail "metrics that are exposed, and those that alerts and board use"
[ -z "$(comm -13 "$work/exposed" "$work/tested")" ] || fail "alerts are tested with metrics that nobody exposes"

# Labels that alerts choose by.
for state in expected attached drifted; do
  grep -q "^clusterd_hosts{state=\"$state\"}" "$work/controller.prom" || fail "no hosts by state $state"
done
[ "$(grep -c '^clusterd_host_state{' "$work/controller.prom")" -eq 2 ] || fail "expected one series for each host"
# Each alert names a section to read.
while read -r anchor; do
  grep -qix "### $anchor" "$files/README.md" || fail "README.md has no heading $anchor"
done < <(grep -o 'README.md#[a-z]*' "$files/alerts.yaml" | cut -d'#' -f2)
