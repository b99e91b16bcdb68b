#!/bin/bash
# torch-distributed-launch, node 1: server1
export NPU_ASD_ENABLE=1
[ -f ./env_npu.sh ] && . ./env_npu.sh
export HCCL_WHITELIST_DISABLE=1
export HCCL_IF_IP=192.168.10.23
python3.7 -m torch.distributed.launch --nnodes=2 --node_rank=1 --nproc_per_node 8 --master_addr 192.168.10.22 --master_port 29501 main.py --addr 192.168.10.22
