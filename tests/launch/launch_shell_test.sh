#!/bin/bash
# Runs the launches of tests/testdata/launch under bash and dash; launch_test.cc
# compares them with generated ones. The launchers and python3 are functions
# that print each of their words in brackets.
set -u
folder=$(cd "$(dirname "$0")/../testdata/launch" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

fail() {
  printf 'FAILED %s\n' "$*"
  failures=$((failures + 1))
}

# shellcheck disable=SC2016
words='show() { printf "[%s]" "$@"; printf "\n"; }
  torchrun() { show torchrun "$@"; }
  torch_npu_run() { show torch_npu_run "$@"; }
  horovodrun() { show horovodrun "$@"; }
  python3.7() { show python3.7 "$@"; }
  python3() { printf "%s %s %s %s\n" "$RANK" "$LOCAL_RANK" "$WORLD_SIZE" "$(show "$@")"; [ "$RANK" != "${BROKEN:-}" ]; }'

# run SHELL FILE [BROKEN_RANK]: the launch's output, in order. dash forbids a
# dot in a function's name, so that it is left out there.
run() {
  local functions=$words
  [ "$1" = dash ] && functions=$(printf '%s\n' "$words" | grep -v 'python3\.7')
  (cd "$scratch" &&
    RANK=none LOCAL_RANK=none BROKEN=${3:-} "$1" -c "$functions
. \"$folder/$2\"") 2>&1
}

# expect FILE LINE: the launch prints that line under every shell.
expect() {
  local shell out
  for shell in bash dash; do
    command -v "$shell" >/dev/null || continue
    [ "$shell" = dash ] && [ "$1" = torch_distributed_launch_node1.sh ] && continue
    out=$(run "$shell" "$1")
    printf '%s\n' "$out" | grep -qxF -- "$2" || fail "$shell $1: no line $2 in: $out"
  done
}

for file in "$folder"/*.sh; do
  for shell in bash dash; do
    command -v "$shell" >/dev/null || continue
    "$shell" -n "$file" || fail "$shell -n $file"
  done
done

expect torchrun_node1.sh '[torchrun][--nproc_per_node][8][--nnodes][2][--node_rank][1][--master_addr][192.168.10.22][--master_port][6004][train_16p.py][--nproc_per_node][8][--node_rank][1][--learning_rate][0.0001][--batch_size][1][--epochs][1]'
expect torch_npu_run_node1.sh '[torch_npu_run][--rdzv_backend=parallel][--master_addr=192.168.10.22][--master_port=29501][--nnodes=2][--node_rank][1][--nproc_per_node=8][--enable_tiered_parallel_tcpstore=true][ddp_test.py]'
expect torch_distributed_launch_node1.sh '[python3.7][-m][torch.distributed.launch][--nnodes=2][--node_rank=1][--nproc_per_node][8][--master_addr][192.168.10.22][--master_port][29501][main.py][--addr][192.168.10.22]'
expect horovodrun_node0.sh '[horovodrun][--network-interface][eth0][-np][16][--mpi-args][-mca btl tcp,self][-p][12345][--mpi][-H][192.168.10.22:8,192.168.10.23:8][python3][main.py]'
expect mp_spawn_node1.sh 'none none 16 [train.py]'
for rank in 8 9 10 11 12 13 14 15; do
  expect shell_node1.sh "$rank $((rank - 8)) 16 [train.py]"
done
expect hostile_words.sh "[torchrun][--nproc_per_node][8][--nnodes][1][--node_rank][0][--master_addr][192.168.10.22][--master_port][29501][it's \$(touch made).py][\`touch made\`][\"; touch made; #][*][~][a b][]"
[ -e "$scratch/made" ] && fail "a word of the user was run"

# A process that fails is the launch's failure, and all others end first.
for shell in bash dash; do
  command -v "$shell" >/dev/null || continue
  run "$shell" shell_node1.sh >/dev/null || fail "$shell: status of a good run"
  run "$shell" shell_node1.sh 11 >/dev/null && fail "$shell: status of a bad run"
done

# A file of the environment is sourced where it is.
mkdir "$scratch/test"
printf 'export NODE_RANK=5\n' >"$scratch/test/env_npu.sh"
run bash torchrun_node0.sh | grep -q '\[--node_rank\]\[5\]' || fail "env_npu.sh was not sourced"

[ "$failures" = 0 ] && printf 'PASSED\n'
exit "$failures"
