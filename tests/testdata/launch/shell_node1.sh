#!/bin/bash
# shell, node 1: server1
export MASTER_ADDR=192.168.10.22
export MASTER_PORT=29501
export NODE_RANK=1
export NNODES=2
export NPUS_PER_NODE=8
export WORLD_SIZE=$(($NPUS_PER_NODE*$NNODES))
export NPU_ASD_ENABLE=1
[ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ] && . /usr/local/Ascend/ascend-toolkit/set_env.sh
[ -f ./test/env_npu.sh ] && . ./test/env_npu.sh
export HCCL_WHITELIST_DISABLE=1
export HCCL_IF_IP=192.168.10.23
processes='' failed=0
for LOCAL_RANK in 0 1 2 3 4 5 6 7; do
  export LOCAL_RANK RANK=$(($NODE_RANK*$NPUS_PER_NODE+$LOCAL_RANK))
  python3 train.py &
  processes="$processes $!"
done
for process in $processes; do
  wait "$process" || failed=1
done
[ "$failed" = 0 ]
