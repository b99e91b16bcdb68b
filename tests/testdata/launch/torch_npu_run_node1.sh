#!/bin/bash
# torch-npu-run, node 1: server1
export MASTER_IP_ADDR=192.168.10.22
export MASTER_PORT=29501
export NPU_ASD_ENABLE=1
[ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ] && . /usr/local/Ascend/ascend-toolkit/set_env.sh
[ -f ./env_npu.sh ] && . ./env_npu.sh
export HCCL_WHITELIST_DISABLE=1
export HCCL_IF_IP=192.168.10.23
torch_npu_run --rdzv_backend=parallel --master_addr=$MASTER_IP_ADDR --master_port=$MASTER_PORT --nnodes=2 --node_rank 1 --nproc_per_node=8 --enable_tiered_parallel_tcpstore=true ddp_test.py
