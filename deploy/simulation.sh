# shellcheck shell=bash
# Shared by quickstart.sh and rehearse.sh, which source it in the repository's
# folder, with `set -euo pipefail`.
#   build_programs MARK LABEL...  the programs in $bin, unless all are newer than
#                                 every source since that MARK
#   make_work WHAT                a new folder $work; it, and all that `start` has
#                                 begun, is gone when the script ends
#   start LOG COMMAND...          in the background
#   await WHAT COMMAND...         until the command succeeds; fails if a program
#                                 that `start` has begun ends before

me=deploy/$(basename "$0")
bin=$PWD/.cache/quickstart/bin
sources=(WORKSPACE BUILD.bazel .bazelrc proto config daemon client tests/sim deploy/bazel)

built_since() {
  [ -e "$1" ] || return 1
  local newer
  newer=$(find "${sources[@]}" -type f -newer "$1" ! -name '*.md' -print -quit)
  [ -z "$newer" ]
}

build_programs() {
  local mark=$bin/$1 progress outputs program path
  shift
  if built_since "$mark"; then return; fi
  deploy/install-deps.sh build
  echo "building $# programs; the first time that takes minutes, 7 on two cores" >&2
  # Bazel shows its progress, "[812 / 2,040] Compiling ...": in place on a
  # terminal, otherwise a line every ten seconds, so that a log shows progress.
  # Only progress and errors matter to a newcomer.
  progress=(--show_progress --noshow_loading_progress --ui_event_filters=-info)
  if [ ! -t 2 ]; then
    progress+=(--curses=no --color=no --show_progress_rate_limit=10)
  fi
  SECONDS=0
  bazel build -c opt --config=joined "${progress[@]}" "$@" >&2 || exit 2
  echo "built in $((SECONDS / 60)) min $((SECONDS % 60)) s" >&2
  # Copies, because another build mode moves bazel-bin elsewhere.
  outputs=$(bazel info -c opt --config=joined bazel-bin 2>/dev/null)
  mkdir -p "$bin"
  rm -f "$mark"
  for program in "$@"; do
    path=${program#//}
    install -m 0755 "$outputs/${path/://}" "$bin/"
  done
  touch "$mark"
}

pids=()
namespaces=false
# Limit in seconds for any wait; it only ends what hangs.
patience=120

stop_all() {
  local pid
  if "${slurm:-false}"; then slurm_down || true; fi
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    timeout "$patience" tail --pid="$pid" -s 0.05 -f /dev/null || kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  pids=()
  if $namespaces; then tests/sim/namespaces.sh down "$work/net" || true; fi
  rm -rf "$work"
}

make_work() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/clusterd-$1.XXXXXX")
  chmod 0755 "$work"
  trap stop_all EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

start() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 &
  pids+=($!)
}

all_running() {
  local pid
  for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

await() {
  local what=$1 until=$((SECONDS + patience)) why="within $patience s"
  shift
  while [ "$SECONDS" -lt "$until" ]; do
    if "$@"; then return 0; fi
    if ! all_running; then
      why="before one of the programs ended"
      break
    fi
    sleep 0.05
  done
  echo "$me: $what did not happen $why; the logs say:" >&2
  tail -n 5 "$work"/*.log >&2
  return 1
}
