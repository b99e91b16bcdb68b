#!/bin/bash
# horovodrun, node 1: server1
# Nothing is started on this host: horovodrun of server0 logs in. Put what it needs on this host alone into ~/.bashrc.
# horovodrun brings the master's CM_WORKER_IP along: at the top of main.py, behind "import os", add
# if not os.getenv("RANK_TABLE_FILE", ""):
#     os.environ['CM_WORKER_IP'] = "192.168.10.23"
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
export CM_CHIEF_IP=192.168.10.22
export CM_CHIEF_PORT=29501
export CM_CHIEF_DEVICE=0
export CM_WORKER_SIZE=16
export CM_WORKER_IP=192.168.10.23
