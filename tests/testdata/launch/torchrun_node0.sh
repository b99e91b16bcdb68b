#!/bin/bash
# torchrun, node 0: server0
MASTER_ADDR=192.168.10.22
MASTER_PORT=6004
NODE_RANK=0
NNODES=2
NPUS_PER_NODE=8
WORLD_SIZE=$(($NPUS_PER_NODE*$NNODES))
export NPU_ASD_ENABLE=1
[ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ] && . /usr/local/Ascend/ascend-toolkit/set_env.sh
[ -f ./test/env_npu.sh ] && . ./test/env_npu.sh
export HCCL_WHITELIST_DISABLE=1
export HCCL_IF_IP=192.168.10.22
DISTRIBUTED_ARGS=" --nproc_per_node $NPUS_PER_NODE \
 --nnodes $NNODES \
 --node_rank $NODE_RANK \
 --master_addr $MASTER_ADDR \
 --master_port $MASTER_PORT "
torchrun $DISTRIBUTED_ARGS train_16p.py --nproc_per_node $NPUS_PER_NODE --node_rank $NODE_RANK --learning_rate 0.0001 --batch_size 1 --epochs 1
