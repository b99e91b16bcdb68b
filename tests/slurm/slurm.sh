#!/usr/bin/env bash
# Runs a real Slurm on this machine alone: munged with a key of its own, slurmctld and
# a slurmd per node on loopback, with clusterd's hooks in every place that Slurm
# has for them. Source it; it never ends the shell.
#   slurm_obstacle                 prints why it cannot run; nothing if it can
#   slurm_hooks SCRIPTS CLUSTERCTL copies of deploy/slurm's scripts for slurm_dir
#   slurm_up NODE...               starts it below slurm_dir, waits until all idle
#   slurm_down                     ends all of it by pid, jobs included
#   slurm_await WHAT COMMAND...    until it succeeds, at most slurm_patience s
# The caller sets slurm_dir, a new folder under a short path that all may enter,
# and before slurm_up may set slurm_cpus, CPUs of a node, and slurm_hook_wait, how
# long a hook may wait for clusterd. Tests call slurm_own_network first: Slurm's
# ports are then their own.
#
# Every slurmd shares this machine, so the scripts' /usr/bin/clusterctl becomes
# slurm_dir/bin/clusterctl. That finds slurm_dir/NODE.sock by SLURMD_NODENAME, notes
# the call in slurm_dir/hooks.log, and becomes clusterctl. Besides, only
# slurm_hook_wait changes the scripts.
# shellcheck disable=SC2317  # functions that only `slurm_await` calls

slurm_pids=()
slurm_cpus=16
slurm_hook_wait=${slurm_hook_wait:-}
# The longest time of any awaited event, in seconds: it only ends what hangs.
slurm_patience=120
# Slurm's commands must not inherit variables of an outer job.
for slurm_name in ${!SLURM_*} ${!SLURMD_*}; do unset "$slurm_name"; done

slurm_obstacle() {
  local program
  if [ "$(id -u)" -ne 0 ]; then
    echo "needs root, this is uid $(id -u)"
    return
  fi
  for program in munged slurmctld slurmd srun setpriv; do
    if ! PATH=$PATH:/usr/sbin command -v "$program" >/dev/null; then
      echo "$program is not installed (packages slurmctld, slurmd, slurm-client, munge, util-linux)"
      return
    fi
  done
}

# slurm_own_network SCRIPT ARGUMENT...: the script again, in a network of its own where this host's
# name has the same meaning. Returns if it is in there already, with slurm_alone=true, or if none is
# available, with false.
slurm_own_network() {
  if [ -n "${slurm_alone:-}" ] || ! unshare --net true 2>/dev/null; then
    slurm_alone=${slurm_alone:-false}
    return 0
  fi
  export slurm_alone=true
  # shellcheck disable=SC2016  # the inner shell expands these
  exec unshare --net bash -c '
    addresses=$1
    shift
    ip link set lo up || exit 1
    # Slurm cannot resolve addresses if there is only 127.0.0.1.
    for address in 192.0.2.1 $addresses; do
      case $address in 127.*) ;; *) ip address add "$address/32" dev lo || exit 1 ;; esac
    done
    exec bash "$@"' own-network "$(getent ahostsv4 "$(hostname -s)" | awk '{ print $1 }' | sort -u)" "$@"
}

slurm_await() {
  local what=$1 until
  shift
  until=$((SECONDS + slurm_patience))
  while ! "$@"; do
    if [ "$SECONDS" -ge "$until" ]; then
      echo "$what: not within $slurm_patience s" >&2
      return 1
    fi
    sleep 0.1
  done
}

slurm_hooks() {
  local scripts=$1 clusterctl=$2 name
  mkdir -p "$slurm_dir/hooks" "$slurm_dir/bin"
  # A job's user may enter it: a checkout may be closed to others.
  install -m 0755 "$clusterctl" "$slurm_dir/bin/program" || return 1
  clusterctl=$slurm_dir/bin/program
  : >"$slurm_dir/hooks.log"
  chmod 0666 "$slurm_dir/hooks.log" # A task prolog runs as the job's user.
  cat >"$slurm_dir/bin/clusterctl" <<EOT
#!/bin/sh
echo "\$2 \${SLURMD_NODENAME:--} \${SLURM_JOB_ID:--}" >>"$slurm_dir/hooks.log"
case "$slurm_hook_wait \$*" in
  " "* | *--timeout*) ;;
  *) set -- "\$@" --timeout "$slurm_hook_wait" ;;
esac
if [ -n "\${SLURMD_NODENAME:-}" ]; then
  exec "$clusterctl" "\$@" --socket "$slurm_dir/\$SLURMD_NODENAME.sock"
fi
. "$slurm_dir/controller.env"
exec "$clusterctl" "\$@"
EOT
  for name in prolog prolog-slurmctld health-check task-prolog epilog; do
    sed "s,/usr/bin/clusterctl,$slurm_dir/bin/clusterctl,g" "$scripts/$name" >"$slurm_dir/hooks/$name" || return 1
    grep -q "$slurm_dir/bin/clusterctl" "$slurm_dir/hooks/$name" ||
      { echo "$scripts/$name does not name /usr/bin/clusterctl" >&2; return 1; }
  done
  chmod 0755 "$slurm_dir/bin/clusterctl" "$slurm_dir/hooks"/*
}

# The first of COUNT free ports in a row, below the kernel's own range: in a
# network of its own no other program takes them.
slurm_free_ports() {
  local count=$1 base used port free
  used=" $(ss -Htan | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u | tr '\n' ' ') "
  for ((base = 20000 + ($$ * count) % 12000; base < 32700; base += count)); do
    free=true
    for ((port = base; port < base + count; port++)); do
      case $used in *" $port "*) free=false ;; esac
    done
    if $free; then
      echo "$base"
      return
    fi
  done
  echo "no $count free ports in a row" >&2
  return 1
}

# slurm.conf(5) has every word. A site would have other ports, paths and time bounds, which a loaded
# machine keeps here, and existing CPUs.
slurm_write_conf() {
  local base=$1 node port=$1
  shift
  cat <<EOT
ClusterName=demo
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge/socket,cred_expire=120
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=2,default_queue_depth=1000,bf_interval=3
ReturnToService=2
MessageTimeout=60
BatchStartTimeout=300
StateSaveLocation=$slurm_dir/slurmctld.state
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
SlurmdLogFile=$slurm_dir/slurmd.%n.log
SlurmdSpoolDir=$slurm_dir/spool.%n
SlurmdParameters=config_overrides
JobRequeue=1
Prolog=$slurm_dir/hooks/prolog
PrologSlurmctld=$slurm_dir/hooks/prolog-slurmctld
TaskProlog=$slurm_dir/hooks/task-prolog
Epilog=$slurm_dir/hooks/epilog
PrologFlags=Alloc
PrologEpilogTimeout=300
HealthCheckProgram=$slurm_dir/hooks/health-check
HealthCheckNodeState=ANY
HealthCheckInterval=0
GresTypes=npu
EOT
  for node in "$@"; do
    port=$((port + 1))
    echo "NodeName=$node NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$port CPUs=$slurm_cpus RealMemory=100 Gres=npu:8 State=UNKNOWN"
  done
  echo "PartitionName=npu Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
}

# slurm_start NAME PROGRAM...: its log is slurm_dir/NAME.out.
slurm_start() {
  local name=$1
  shift
  "$@" </dev/null >"$slurm_dir/$name.out" 2>&1 &
  slurm_pids+=($!)
  disown # The shell has nothing to say about its end.
}

# e.g. IDLE, MIXED+DRAIN, IDLE* if it does not answer. By scontrol: sinfo -n
# still prints "mixed" for a node that many jobs have left at once (22.05.8).
slurm_state() { scontrol show node "$1" -o | sed -n 's/.* State=\([^ ]*\) .*/\1/p'; }
slurm_reason() { scontrol show node "$1" -o | sed -n 's/.* Reason=\(.*\) \[[^]]*\].*/\1/p'; }
slurm_idle() {
  local node
  for node in "$@"; do
    [ "$(slurm_state "$node")" = IDLE ] || return 1
  done
}

slurm_up() {
  local base node munge=$slurm_dir/munge
  mkdir -p "$slurm_dir/slurmctld.state" "$munge"
  chmod 0755 "$munge"
  (umask 077 && head -c 1024 /dev/urandom >"$munge/key")
  slurm_start munged /usr/sbin/munged --foreground --num-threads=10 --key-file="$munge/key" --socket="$munge/socket" \
    --pid-file="$munge/pid" --seed-file="$munge/seed" --log-file="$munge/log"
  base=$(slurm_free_ports $(($# + 1))) || return 1
  slurm_write_conf "$base" "$@" >"$slurm_dir/slurm.conf"
  echo "Name=npu Count=8" >"$slurm_dir/gres.conf"
  export SLURM_CONF=$slurm_dir/slurm.conf
  slurm_await "the start of munged" test -S "$munge/socket" || return 1
  slurm_start slurmctld /usr/sbin/slurmctld -D -c -f "$SLURM_CONF"
  for node in "$@"; do
    mkdir -p "$slurm_dir/spool.$node"
    slurm_start "slurmd.$node" /usr/sbin/slurmd -D -N "$node" -f "$SLURM_CONF"
  done
  if ! slurm_await "idle nodes" slurm_idle "$@"; then
    tail -n 5 "$slurm_dir"/slurm*.out "$slurm_dir"/slurm*.log >&2
    return 1
  fi
}

# slurm_health_every SECONDS: 0 is never.
slurm_health_every() {
  ! grep -qx "HealthCheckInterval=$1" "$SLURM_CONF" || return 0
  sed -i "s/^HealthCheckInterval=.*/HealthCheckInterval=$1/" "$SLURM_CONF"
  scontrol reconfigure
}

# Pids of slurm_dir's processes by their environment or their command line: job
# steps and their programs are not children of this shell.
slurm_processes() {
  # The search must not find itself: no word and no variable names the folder.
  env -i "PATH=$PATH" bash -c 'grep -lsaF -f - /proc/[0-9]*/environ /proc/[0-9]*/cmdline | cut -d/ -f3 | sort -un' <<<"$slurm_dir/"
}

# All but munged, which the others ask while they end.
slurm_askers() { slurm_processes | grep -vx "${slurm_pids[0]:-none}"; }
slurm_end() {
  local signal=$1 pid
  for pid in $("$2"); do kill "-$signal" "$pid" 2>/dev/null; done
}
# No job is there, and no node waits for its epilog.
slurm_quiet() {
  local jobs states
  jobs=$(squeue -h) && states=$(sinfo -h -N -o %t) && [ -z "$jobs" ] && [[ $states != *comp* ]]
}
slurm_askers_gone() { [ -z "$(slurm_askers)" ]; }
slurm_gone() { [ -z "$(slurm_processes)" ]; }

# Ends all processes of slurm_dir, a clusterd there included. Fails if one
# stays.
slurm_down() {
  [ -n "${slurm_dir:-}" ] || return 0
  if [ -n "${SLURM_CONF:-}" ]; then
    # Otherwise a step outlives its slurmd, as it should.
    timeout "$slurm_patience" scancel --user="$(id -un)" >/dev/null 2>&1
    timeout "$slurm_patience" scancel --user=daemon >/dev/null 2>&1
  fi
  # Also a process that is stopped.
  slurm_end CONT slurm_processes
  # slurmd reports each epilog as long as slurmctld does not listen.
  [ ! -S "$slurm_dir/munge/socket" ] || slurm_await "the end of all epilogs" slurm_quiet
  slurm_end TERM slurm_askers
  # These limits do not matter: processes that outlive them are killed.
  slurm_patience=10 slurm_await "the end of Slurm" slurm_askers_gone 2>/dev/null || slurm_end KILL slurm_askers
  slurm_end TERM slurm_processes
  slurm_patience=10 slurm_await "the end of munged" slurm_gone || slurm_end KILL slurm_processes
  slurm_await "the end of Slurm's last processes" slurm_gone
  local status=$?
  [ $status -eq 0 ] || ps -o pid,ppid,stat,args -p "$(slurm_processes | paste -sd,)" >&2
  slurm_pids=()
  return $status
}
