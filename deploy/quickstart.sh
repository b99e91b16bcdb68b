#!/usr/bin/env bash
# Shows the main job on this machine alone: builds, starts a controller and
# simulated servers, runs `clusterctl check` and prints its report.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$repo"

usage() {
  cat <<'EOT'
usage: deploy/quickstart.sh [--servers N] [--product P] [--fault FAULT]... [--keep]

Installs what is missing, builds, starts a controller and N simulated servers,
runs `clusterctl check` and exits with its status: 0 pass or warnings, 1 a
failure, 2 no complete verdict, 3 wrong usage.

  --servers N     simulated servers, 1 to 64 (default 2)
  --product P     atlas-training (default), atlas-a2 or atlas-a3
  --fault FAULT   SERVER:DEVICE:KEY=VALUE or SERVER:host:KEY=VALUE, repeatable,
                  e.g. --fault server1:3:link=DOWN --fault server0:host:somaxconn=128
                  (--list-faults prints every key)
  --list-faults   prints the keys of --fault
  --side-by-side  no namespaces, also where they are to be had
  --keep          leaves it running and prints how to talk to it and how to end it
  --help          this text
EOT
}

wrong() {
  echo "deploy/quickstart.sh: $*" >&2
  echo "deploy/quickstart.sh --help lists the options" >&2
  exit 3
}

servers=2
product=atlas-training
faults=()
keep=false
list_faults=false
side_by_side=false
while [ $# -gt 0 ]; do
  case $1 in
    --servers | --product | --fault)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --servers) servers=$2 ;;
        --product) product=$2 ;;
        --fault) faults+=("$2") ;;
      esac
      shift
      ;;
    --list-faults) list_faults=true ;;
    --side-by-side) side_by_side=true ;;
    --keep) keep=true ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) wrong "unknown option \"$1\"" ;;
  esac
  shift
done

if ! [[ $servers =~ ^[0-9]{1,3}$ ]] || [ "$((10#$servers))" -lt 1 ] || [ "$((10#$servers))" -gt 64 ]; then
  wrong "--servers \"$servers\", expected 1 to 64 (tests/sim/fleet attaches thousands, without a process each)"
fi
servers=$((10#$servers))
case $product in
  atlas-training | atlas-a2 | atlas-a3) ;;
  *) wrong "--product \"$product\", expected atlas-training, atlas-a2 or atlas-a3" ;;
esac
for fault in "${faults[@]}"; do
  if ! [[ $fault =~ ^server([0-9]+):([^:]+:.+=.*)$ ]] || [ "${BASH_REMATCH[1]}" -ge "$servers" ]; then
    wrong "--fault \"$fault\", expected SERVER:DEVICE:KEY=VALUE with server0 to server$((servers - 1))"
  fi
done

# --- Build, unless the programs are newer than every source. ---------------

bin=$repo/.cache/quickstart/bin
programs=(
  //daemon/agent:clusterd //daemon/controller:clusterd-controller //client:clusterctl
  //tests/sim:hccn_tool //tests/sim:simhost
)

fresh() {
  [ -e "$bin/.built" ] || return 1
  local newer
  newer=$(find WORKSPACE BUILD.bazel .bazelrc proto config daemon client tests/sim deploy/bazel \
    -type f -newer "$bin/.built" ! -name '*.md' -print -quit)
  [ -z "$newer" ]
}

if ! fresh; then
  deploy/install-deps.sh build
  echo "building (the first time takes some minutes)" >&2
  if ! log=$(bazel build -c opt --noshow_progress "${programs[@]}" 2>&1); then
    printf '%s\n' "$log" >&2
    exit 2
  fi
  # Copies, because another build mode moves bazel-bin elsewhere.
  outputs=$(bazel info -c opt bazel-bin 2>/dev/null)
  mkdir -p "$bin"
  rm -f "$bin/.built"
  for program in "${programs[@]}"; do
    path=${program#//}
    install -m 0755 "$outputs/${path/://}" "$bin/"
  done
  touch "$bin/.built"
fi

if $list_faults; then
  exec "$bin/simhost" fault-keys
fi

# --- Everything below lives in one folder and ends with this script. --------

work=$(mktemp -d "${TMPDIR:-/tmp}/clusterd-quickstart.XXXXXX")
chmod 0755 "$work"
pids=()
namespaces=false

stop_all() {
  local pid
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    # Ours alone, so waiting is enough; a hanging one is killed after 5 s.
    ( sleep 5; kill -KILL "$pid" 2>/dev/null ) & local guard=$!
    wait "$pid" 2>/dev/null || true
    kill "$guard" 2>/dev/null || true
    wait "$guard" 2>/dev/null || true
  done
  pids=()
  if $namespaces; then "$repo/tests/sim/namespaces.sh" down "$work/net" || true; fi
  rm -rf "$work"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
