#!/bin/bash
# horovodrun, node 0: server0
num_server=2
local_rank_size=8
num_process=$((${num_server}*${local_rank_size}))
interface=eth0
mpi_args='-mca btl tcp,self'
[ -f /etc/profile ] && . /etc/profile
[ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ] && . /usr/local/Ascend/ascend-toolkit/set_env.sh
[ -f /usr/local/Ascend/driver/bin/setenv.bash ] && . /usr/local/Ascend/driver/bin/setenv.bash
[ -f /usr/local/Ascend/tfplugin/set_env.sh ] && . /usr/local/Ascend/tfplugin/set_env.sh
[ -d /usr/local/openmpi/bin ] && export PATH=/usr/local/openmpi/bin:$PATH
[ -d /usr/local/python3.7.5/bin ] && export PATH=/usr/local/python3.7.5/bin:$PATH
[ -d /usr/local/gcc7.3.0/bin ] && export PATH=/usr/local/gcc7.3.0/bin:$PATH
[ -d /usr/local/python3.7.5/lib ] && export LD_LIBRARY_PATH=/usr/local/python3.7.5/lib:$LD_LIBRARY_PATH
[ -d /usr/local/gcc7.3.0/lib64 ] && export LD_LIBRARY_PATH=/usr/local/gcc7.3.0/lib64:$LD_LIBRARY_PATH
[ -d /usr/local/openmpi/lib ] && export LD_LIBRARY_PATH=/usr/local/openmpi/lib:$LD_LIBRARY_PATH
export HCCL_WHITELIST_DISABLE=1
export RANK_TABLE_FILE=/job/hccl_json_16p_2_host.json
horovodrun --network-interface "${interface}" -np ${num_process} --mpi-args "${mpi_args}" -p 12345 --mpi -H 192.168.10.22:8,192.168.10.23:8 python3 main.py
