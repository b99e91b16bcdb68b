#!/usr/bin/env bash
# The commands of README.md and of the manual, in both languages, as a reader types them: every
# block "sh", and the lines after "$ " of every block "console". install.md comes first, and the
# cluster that it describes answers the other pages; the tutorial has its own, from quickstart.sh.
# Each command must end with 0, unless manual_commands.txt has another status for it, or a reason
# why no test can run it.
set -uo pipefail

table=$PWD/tests/e2e/manual_commands.txt
not_run() { sed -n 's/^  //p' "$table"; }
listed() { grep -v '^[# ]' "$table"; }

here=$PWD
TMPDIR=$(mktemp -d /tmp/clusterd-manual.XXXXXX)
export TMPDIR
chmod 0755 "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 143' TERM
bad=$TMPDIR/bad
seen=$TMPDIR/seen
problem() { echo "FAILED: $*" | tee -a "$bad"; }

# --- What the pages say. ------------------------------------------------------

# lines PAGE: prints the lines of its command blocks, without comments.
lines() {
  awk '
    /^ *```/ { match($0, /`/); indent = RSTART; kind = fenced ? "" : substr($0, indent + 3); fenced = !fenced; next }
    !fenced { next }
    { line = substr($0, indent) }
    kind == "sh" { print line }
    kind == "console" && (more || sub(/^\$ /, "", line)) { print line; more = line ~ /\\$/ }
    kind == "" && line ~ /^(\$ |(\.\/)?deploy\/|(apt|dpkg|rpm|scp|ssh|sudo|systemctl) |clusterctl [a-z]+( |$))/ &&
      line !~ /^clusterctl [a-z ]+: / { print "neither-sh-nor-console", line }' "$1" | sed -E 's/(^| +)# .*//; /^$/d'
}

# commands_of PAGE: fills `commands` with one whole command each.
commands_of() {
  local line command=
  commands=()
  while IFS= read -r line; do
    command+=${command:+$'\n'}$line
    if [[ $command = *\\ ]] || [ -n "$(bash -n <<<"$command" 2>&1)" ]; then continue; fi
    commands+=("$command")
    command=
  done < <(lines "$1")
  [ -z "$command" ] || problem "$1: a command without an end: $command"
}

# status_of PAGE NUMBER COMMAND: prints its expected status at its NUMBERth time on that page.
status_of() {
  listed | PAGE=$1 KEY=$3 awk -v number="$2" '
    { page = $1; split($2, status, ","); sub(/^[^ ]+ [^ ]+ /, "") }
    page == ENVIRON["PAGE"] && $0 == ENVIRON["KEY"] { found = status[number] }
    END { print found == "" ? 0 : found }'
}

# --- The cluster of install.md: node07 with a clusterd, the others in memory. ---

start_controller() {
  # The names of the other pages, and deadlines for a loaded machine.
  sed -i 's/\[01-02\]/[01-16]/; s/\[11-12\]/[11-26]/' cluster.yaml
  echo "deadlines: {command: 1m, host: 10m, run: 20m}" >>cluster.yaml
  start "$work/controller.log" clusterd-controller --spec cluster.yaml --state "$work/state" \
    --listen 127.0.0.1:0 --enrol-listen 127.0.0.1:0 --status-listen off --port-file "$work/port" \
    --ca tls/ca.crt --cert tls/controller.crt --key tls/controller.key --ca-dir ca
  await "the controller's start" test -s "$work/port" || exit 1
  CLUSTERD_CONTROLLER=127.0.0.1:$(<"$work/port")
  export CLUSTERD_CONTROLLER
}

attached() {
  grep -q '^fleet: attached ' "$work/fleet.log" && grep -q "host node07: attached from " "$work/controller.log"
}
start_servers() {
  local identity=(--controller "$CLUSTERD_CONTROLLER" --cluster mycluster --ca tls/ca.crt)
  deploy/certificates.sh host tls mycluster node07
  simhost create --tool "$bin/hccn_tool" --root "$work/node07" --spec cluster.yaml --host node07 \
    --fault host:somaxconn=128 --fault 3:netmask=255.255.255.128
  mkdir "$work/changes"
  echo 'allow: [observe, sysctl, device-address, firewall, tls, hccn-conf, logs]' >"$work/node07.yaml"
  start "$work/node07.log" clusterd "${identity[@]}" --cert tls/node07.crt --key tls/node07.key \
    --config "$work/node07.yaml" --root "$work/node07" --socket "$work/node07.sock"
  start "$work/fleet.log" fleet "${identity[@]}" --ca-key tls/ca.key --spec cluster.yaml \
    --changes "$work/changes" --wait "$patience" --without node07
  await "the attachment of 16 servers" attached || exit 1
}

# --- A reader. ------------------------------------------------------------------

# id NUMBER COMMAND...: prints the NUMBERth id in the output of that clusterctl command.
id() { clusterctl "${@:2}" -o json | sed -nE 's/^ *"id": "([0-9a-f]+)".*/\1/p' | sed -n "$1p"; }

# adapted COMMAND: prints it with ids, hosts and files that exist here.
adapted() {
  local command=$1
  case $command in
    "clusterctl confirm "* | "clusterctl extend "* | "clusterctl rollback "*)
      command=$(sed -E "s/ [0-9a-f]{4,}/ $(id 1 history --kind apply)/; s/(rollback [^ ]*)$/\1 --yes/" <<<"$command")
      ;;
    "clusterctl show "* | "clusterctl report "[0-9a-f]*)
      command=$(sed -E "s/ [0-9a-f]{4,}/ $(id 1 history --kind check)/" <<<"$command")
      ;;
    "clusterctl diff "*) command="clusterctl diff $(id 2 history --kind check) $(id 1 history --kind check)" ;;
    "clusterctl unwaive "*) command="clusterctl unwaive $(id 1 waivers)" ;;
    "clusterctl apply "*) [[ $command = *" --yes"* ]] || command+=" --yes --confirm mycluster" ;;
    "clusterctl config learn "*) command+=" --hosts-file hosts" ;;
  esac
  sed -E "s,node\[001-512\],node[01-16],; s,/etc/clusterd/cluster.yaml,cluster.yaml,
    s,/var/lib/clusterd/audit.jsonl,$work/node07&," <<<"$command"
}

check_passed() { grep -q '"check_passed": true' <(clusterctl show "$(id 1 history --kind apply)" -o json); }
# prepare PAGE COMMAND: makes what the page assumes.
prepare() {
  case "$1 $2" in
    "changes.md clusterctl confirm"* | "changes.md clusterctl extend"*)
      clusterctl rollback "$(id 1 history --kind apply)" --yes
      clusterctl plan --out waits.json
      clusterctl apply waits.json --yes --confirm mycluster --confirm-within 1h &&
        await "the check of an apply" check_passed
      ;;
    "tutorial.md clusterctl confirm"*) await "the check of an apply" check_passed ;;
    tutorial.md*) ;;
    *" clusterctl diff"*) clusterctl check ;;
    *" --rank-table hccl.json") cp job.json hccl.json ;;
    *" -o cluster.yaml") rm -f cluster.yaml ;;
    *" observation.jsonl") rm -f observation.jsonl ;;
  esac
}

# typed COMMAND: runs it in this shell.
typed() {
  : >"$out"
  case $1 in
    *" --keep "*)
      eval "exec $1" </dev/null >"$out" 2>&1 &
      kept=$!
      trap 'kill "$kept"; wait "$kept"' EXIT
      await "a cluster that is kept" grep -q "^It is still running" "$out" || exit 1
      eval "$(grep '^  export ' "$out")"
      ;;
    "clusterctl watch")
      clusterctl watch >"$out" 2>&1 &
      await "what watch prints" test -s "$out"
      kill -INT $!
      wait $!
      ;;
    *) eval "$1" </dev/null >"$out" 2>&1 ;;
  esac
}
# Stand-ins: clusterd records the simulated server, and jq need not be installed.
jq() { cat; }
sudo() { "$1" --root "$work/node07" "${@:2}"; }

# check_examples NAME FILE: a block "yaml" is a cluster.yaml, or the end of one. (Tests of the
# loader read that of a job.yaml.)
check_examples() {
  local whole=config/examples/two-servers.yaml example
  local -a parts
  rm -f "$work"/example.*
  awk -v file="$work/example." '
    /^ *```yaml$/ { ++count; inside = 1; next }
    /^ *```/ { inside = 0 }
    inside { print >(file count) }' "$2"
  for example in "$work"/example.*; do
    if [ ! -e "$example" ] || grep -q '^id: ' "$example"; then continue; fi
    parts=("$whole" "$example")
    if grep -q '^version: ' "$example"; then
      whole=$example
      parts=("$whole")
    fi
    cat "${parts[@]}" >"$work/whole.yaml"
    clusterctl config validate "$work/whole.yaml" >"$work/prepared" 2>&1 || {
      problem "$1, $CLUSTERD_LANG: an example is not valid:"
      cat "$example" "$work/prepared"
    }
    echo "example of $1" >>"$seen"
  done
}

# read_page NAME FILE: runs the page's commands.
read_page() {
  local command key status expected until
  out=$work/out
  check_examples "$1" "$2"
  commands_of "$2"
  for command in "${commands[@]}"; do
    key=${command%%$'\n'*}
    echo "$1 $key" >>"$seen"
    case "$1 $key" in
      "install.md scp .cache"*) start_controller ;;
      "install.md for node in"*) start_servers ;;
    esac
    if grep -qxF -- "$key" <(not_run); then continue; fi
    # A page cannot make the test run anything else on this machine.
    case $key in
      "clusterctl "* | "join=\$(clusterctl "* | "sudo clusterd "* | "simhost set --root \"\$work/"* | "work="*) ;;
      deploy/certificates.sh* | ./deploy/quickstart.sh* | ./deploy/rehearse.sh*) ;;
      "cat "* | "cp tls/"* | "mkdir -p ~/"* | "echo "* | "export PATH="* | "sed -i "*) ;;
      *) problem "$1: $key: neither run nor in manual_commands.txt" && continue ;;
    esac
    expected=$(status_of "$1" "$(grep -cxF -- "$1 $key" "$seen")" "$key")
    # On a loaded machine a fact may stay unknown for a while.
    until=$((SECONDS + patience))
    while :; do
      prepare "$1" "$key" >"$work/prepared" 2>&1
      status=0
      typed "$(adapted "$command")" || status=$?
      if [ "$status" -ne 2 ] || [ "$expected" -eq 2 ] || [ "$SECONDS" -ge "$until" ]; then break; fi
      sleep 1
    done
    echo "$CLUSTERD_LANG $1: $key: $status after $SECONDS s"
    [ "$status" -ne "$expected" ] || continue
    problem "$1, $CLUSTERD_LANG: $key: expected status $expected, found $status:"
    cat "$work/prepared" "$out"
  done
}

# read_all LANGUAGE: every page in that language, or in English if it is not translated.
read_all() {
  local program page name file translation
  mkdir -p "$TMPDIR/$1"/{home,.cache/quickstart/bin,proto,config,client,daemon,deploy/bazel,tests/sim,tests/support}
  cd "$TMPDIR/$1" || exit 1
  cp -L "$here"/deploy/*.sh deploy/
  cp -L "$here/tests/sim/namespaces.sh" tests/sim/
  cp -rL "$here/config/examples" config/
  for program in daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl \
    tests/sim/{hccn_tool,ascend950/hccn_tool_950,simhost,fleet/fleet,fleet/rehearsal}; do
    ln -s "$here/$program" .cache/quickstart/bin/
  done
  # The programs are built already.
  touch WORKSPACE BUILD.bazel .bazelrc
  touch .cache/quickstart/bin/.built .cache/quickstart/bin/.built-rehearse
  printf '%s\n' 'nodes: node[01-16]' 'devices: 8' >job.yaml
  echo 'print("a job")' >train.py
  for name in {01..16}; do echo "10.0.0.$((10 + 10#$name)) node$name"; done >hosts
  cp "$here/tests/testdata/launch/inventory_file" .
  unset "${!CLUSTERD_@}" "${!SLURM_@}"
  export CLUSTERD_LANG=$1 HOME=$PWD/home PATH=$PWD/.cache/quickstart/bin:$PATH LC_ALL=C.UTF-8
  : >"$seen"
  . deploy/simulation.sh
  patience=600
  make_work manual
  # launch.md needs an apply, which changes.md rolls back: so changes.md comes last.
  for page in daemon/docs/install.md README.md daemon/docs/launch.md "${pages[@]}" daemon/docs/changes.md; do
    name=${page##*/}
    ! grep -q "^$name " "$seen" || continue
    file=$here/$page
    for translation in "$here/${page%.md}.zh-CN.md" "$here/daemon/docs/zh/$name"; do
      [ "$1" != zh ] || [ ! -e "$translation" ] || file=$translation
    done
    # A shell of its own: the tutorial's variables are about its own cluster.
    if [ "$name" = tutorial.md ]; then (read_page "$name" "$file"); else read_page "$name" "$file"; fi
  done
}

mapfile -t pages < <(printf '%s\n' daemon/docs/*.md | grep -v /changes.md)
languages=(en zh)
if [ -n "${TEST_SHARD_STATUS_FILE:-}" ]; then
  touch "$TEST_SHARD_STATUS_FILE"
  languages=("${languages[TEST_SHARD_INDEX]}")
fi
for language in "${languages[@]}"; do
  (read_all "$language") || problem "$language: ended with $?"
  [ "$(grep -c '^example of ' "$TMPDIR/seen")" -ge 5 ] || problem "$language: fewer than 5 examples"
  while IFS= read -r key; do
    grep -qxF -- "$key" <(cut -d' ' -f2- "$seen") || problem "no page has the command: $key"
  done < <(not_run; listed | cut -d' ' -f3-)
done
[ ! -e "$bad" ] || exit 1
echo "manual: all well"
