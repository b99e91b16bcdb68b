#!/usr/bin/env bash
# The commands of README.md and of the manual, in both languages, as a reader types them: every
# block "sh", and the lines after "$ " of every block "console". install.md comes first, and the
# cluster that it describes answers the other pages; the tutorial has its own, from quickstart.sh.
# Each command must end with 0 or with the status that `listed` has for it. `not_run` names what
# cannot run in a test. Both must name commands that a page has.
set -uo pipefail

not_run() {
  cat <<'END'
packages are built for minutes; tests/package/check.sh does
  ./deploy/package.sh
  ./deploy/package.sh --arch arm64
the simulations of vendor-tool.md are for developers, and a build is not for a test
  bazel build //tests/sim:hccn_tool //tests/sim:replay
other machines, as root; tests/systemd/readme_test.sh has them and runs the same lines
  dpkg -i .cache/packages/clusterctl_*_amd64.deb
  scp .cache/packages/clusterd-controller_*_amd64.deb root@10.0.0.5:/tmp/
  ssh root@10.0.0.5 'dpkg -i /tmp/clusterd-controller_*.deb && mkdir -p -m 0700 /etc/clusterd/ca'
  scp cluster.yaml tls/ca.crt tls/controller.crt tls/controller.key root@10.0.0.5:/etc/clusterd/
  scp ca/root.crt ca/intermediate.crt ca/intermediate.key root@10.0.0.5:/etc/clusterd/ca/
  ssh root@10.0.0.5 'echo OPTIONS=--ca-dir /etc/clusterd/ca >/etc/clusterd/controller.env'
  ssh root@10.0.0.5 'chown -R clusterd /etc/clusterd/controller.key /etc/clusterd/ca'
  ssh root@10.0.0.5 'systemctl enable --now clusterd-controller'
  for node in node01 node02; do
services of systemd; tests/systemd/units_test.sh and readme_test.sh start, reload and read them
  systemctl enable --now clusterd-controller
  systemctl enable --now clusterd
  systemctl reload clusterd-controller
  journalctl -u clusterd-controller -n 50
  journalctl -u clusterd -n 50
root, Debian's packages of Slurm, minutes
  ./deploy/quickstart.sh --slurm
root, or minutes; tests/e2e/rehearse_test.sh runs such
  ./deploy/rehearse.sh config/examples/large-1152.yaml
  ./deploy/rehearse.sh cluster.yaml --fault node07:3:link=DOWN --fault node07:3:lies=1
the user that a package makes, an editor, and a service on the Internet
  install -m 0600 -o clusterd /dev/null /etc/clusterd/wecom.url
  editor /etc/clusterd/wecom.url
  printf '%s' '{"schema_version":1,"cluster":"demo","schedule":"test","run_id":"0000",'\
a machine of another name
  ssh -L 7445:127.0.0.1:7445 controller
  ssh node-07 sudo clusterd --record | clusterctl anonymise observation.jsonl
END
}

# PAGE STATUS[,STATUS of the next time...] COMMAND, where not every time 0 is expected.
listed() {
  cat <<'END'
install.md 1 clusterctl check
README.md 1 clusterctl check
README.md 1 ./deploy/quickstart.sh --fault server1:3:link=DOWN
tutorial.md 1 ./deploy/quickstart.sh --fault server1:3:link=DOWN
tutorial.md 1,0 clusterctl check
tutorial.md 0,1 clusterctl check -o short
END
}

here=$PWD
manual=(daemon/docs/*.md)
TMPDIR=$(mktemp -d /tmp/clusterd-manual.XXXXXX)
export TMPDIR
chmod 0755 "$TMPDIR"
trap 'rm -rf "$TMPDIR"' EXIT
bad=$TMPDIR/bad
seen=$TMPDIR/seen
touch "$bad" "$seen"

# --- What the pages say. ------------------------------------------------------

# lines PAGE: those of its blocks of commands.
lines() {
  awk '
    /^ *```/ {
      match($0, /`/)
      indent = RSTART
      kind = fenced ? "" : substr($0, indent + 3)
      fenced = !fenced
      next
    }
    !fenced { next }
    { line = substr($0, indent) }
    kind == "sh" { print line }
    kind == "console" && (more || sub(/^\$ /, "", line)) { print line; more = line ~ /\\$/ }
    kind == "" && line ~ /^(\$ |\.?\/?deploy\/|sudo |ssh |clusterctl [a-z]+( |$))/ &&
      line !~ /^clusterctl [a-z ]+: / { print "block-of-no-kind:", line }' "$1"
}

# commands_of PAGE: fills `commands`, each of them whole and without comments.
commands_of() {
  local line command=
  commands=()
  while IFS= read -r line; do
    [ -n "$line" ] || continue
    command+=${command:+$'\n'}$line
    if [[ $command = *\\ ]] || [ -n "$(bash -n <<<"$command" 2>&1)" ]; then continue; fi
    commands+=("$command")
    command=
  done < <(lines "$1" | sed -E 's/(^| +)# .*//')
  [ -z "$command" ] || problem "$1: a command without an end: $command"
}

problem() { echo "FAILED: $*" | tee -a "$bad"; }

# status_of PAGE NUMBER COMMAND: what it must end with at its NUMBERth time on that page.
status_of() {
  listed | PAGE=$1 KEY=$3 awk -v number="$2" '
    { page = $1; split($2, status, ","); sub(/^[^ ]+ [^ ]+ /, "") }
    page == ENVIRON["PAGE"] && $0 == ENVIRON["KEY"] { found = status[number] }
    END { print found == "" ? 0 : found }'
}

# --- The cluster of install.md: node07 with a clusterd, the others in memory. ---

start_controller() {
  sed -i 's/\[01-02\]/[01-16]/; s/\[11-12\]/[11-26]/' cluster.yaml
  # Which a loaded machine keeps.
  echo "deadlines: {command: 1m, host: 10m, run: 20m}" >>cluster.yaml
  start "$work/controller.log" clusterd-controller --spec cluster.yaml --state "$work/state" \
    --listen 127.0.0.1:0 --enrol-listen 127.0.0.1:0 --status-listen off --port-file "$work/port" \
    --ca tls/ca.crt --cert tls/controller.crt --key tls/controller.key --ca-dir ca
  await "the controller's start" test -s "$work/port" || exit 1
  CLUSTERD_CONTROLLER=127.0.0.1:$(cat "$work/port")
  export CLUSTERD_CONTROLLER
}

attached() {
  grep -q '^fleet: attached ' "$work/fleet.log" && grep -qF "host node07: attached from " "$work/controller.log"
}
start_servers() {
  local identity=(--cluster mycluster --ca tls/ca.crt)
  deploy/certificates.sh host tls mycluster node07
  simhost create --tool "$bin/hccn_tool" --root "$work/node07" --spec cluster.yaml --host node07
  mkdir "$work/node07.state" "$work/changes"
  printf 'allow: [observe, sysctl, device-address, firewall, tls, hccn-conf]\nstate: %s\n' \
    "$work/node07.state" >"$work/node07.yaml"
  start "$work/node07.log" clusterd --config "$work/node07.yaml" --root "$work/node07" \
    --socket "$work/node07.sock" --controller "$CLUSTERD_CONTROLLER" "${identity[@]}" \
    --cert tls/node07.crt --key tls/node07.key
  start "$work/fleet.log" fleet --controller "$CLUSTERD_CONTROLLER" "${identity[@]}" --spec cluster.yaml \
    --ca-key tls/ca.key --changes "$work/changes" --wait "$patience" --without node07
  await "the attachment of 16 servers" attached || exit 1
}

# --- A reader. ------------------------------------------------------------------

# id NUMBER COMMAND...: the NUMBERth id of what clusterctl lists so.
id() { clusterctl "${@:2}" -o json | sed -nE 's/^ *"id": "([0-9a-f]+)".*/\1/p' | sed -n "$1p"; }

# adapted COMMAND: the same with ids, hosts and files that are there.
adapted() {
  local command=$1
  case $command in
    "clusterctl confirm "* | "clusterctl extend "* | "clusterctl rollback "*)
      command=$(sed -E "s/ [0-9a-f]{4,}/ $(id 1 history --kind apply)/" <<<"$command")
      ;;
    "clusterctl show "* | "clusterctl report "[0-9a-f]*)
      command=$(sed -E "s/ [0-9a-f]{4,}/ $(id 1 history --kind check)/" <<<"$command")
      ;;
    "clusterctl diff "*) command="clusterctl diff $(id 2 history --kind check) $(id 1 history --kind check)" ;;
    "clusterctl unwaive "*) command="clusterctl unwaive $(id 1 waivers)" ;;
    "clusterctl apply "*) [[ $command = *" --yes"* ]] || command+=" --yes --confirm mycluster" ;;
    *" -o cluster.yaml") rm -f cluster.yaml ;;
  esac
  sed -E "s,node\[001-512\],node[01-16],; s,/etc/clusterd/cluster.yaml,cluster.yaml,
    s,/var/lib/clusterd/audit.jsonl,$work/node07.state/audit.jsonl," <<<"$command"
}

# typed COMMAND: runs it in this shell.
typed() {
  case $1 in
    *" --keep "*)
      eval "$1" </dev/null >"$out" 2>&1 &
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

# read_page NAME FILE: runs what it says.
read_page() {
  local command key status expected
  out=$work/out
  commands_of "$2"
  for command in "${commands[@]}"; do
    key=${command%%$'\n'*}
    echo "$1 $key" >>"$seen"
    case "$1 $key" in
      "install.md scp .cache"*) start_controller ;;
      "install.md for node in"*) start_servers ;;
    esac
    if not_run | grep -qxF -- "  $key"; then continue; fi
    expected=$(status_of "$1" "$(grep -cxF -- "$1 $key" "$seen")" "$key")
    status=0
    typed "$(adapted "$command")" || status=$?
    echo "$CLUSTERD_LANG $1: $key: $status after $SECONDS s"
    [ "$status" -eq "$expected" ] && [ "$status" -ne 3 ] && continue
    problem "$1, $CLUSTERD_LANG: $key: expected status $expected, found $status:"
    cat "$out"
  done
}

# read_all LANGUAGE: every page in that language, or in English where it is in no other.
read_all() {
  local program page name file translation
  mkdir -p "$TMPDIR/$1"
  cd "$TMPDIR/$1" || exit 1
  mkdir -p .cache/quickstart/bin proto config client daemon deploy/bazel tests/sim tests/support home
  cp -L "$here"/deploy/*.sh deploy/
  cp -L "$here/tests/sim/namespaces.sh" tests/sim/
  cp -rL "$here/config/examples" config/
  for program in daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl \
    tests/sim/hccn_tool tests/sim/ascend950/hccn_tool_950 tests/sim/simhost \
    tests/sim/fleet/fleet tests/sim/fleet/rehearsal; do
    ln -s "$here/$program" .cache/quickstart/bin/
  done
  touch WORKSPACE BUILD.bazel .bazelrc
  # They are built already.
  touch .cache/quickstart/bin/.built .cache/quickstart/bin/.built-rehearse
  unset "${!CLUSTERD_@}" "${!SLURM_@}"
  export CLUSTERD_LANG=$1 HOME=$PWD/home PATH=$PWD/.cache/quickstart/bin:$PATH LC_ALL=C.UTF-8
  : >"$seen"
  . deploy/simulation.sh
  make_work manual
  cat >job.yaml <<'END'
nodes: node[01-16]
devices: 8
END
  echo 'print("a job")' >train.py
  for page in daemon/docs/install.md README.md daemon/docs/launch.md "${manual[@]}"; do
    name=${page##*/}
    ! grep -q "^$name " "$seen" || continue
    file=$here/$page
    for translation in "$here/${page%.md}.zh-CN.md" "$here/daemon/docs/$1/$name"; do
      if [ "$1" = zh ] && [ -e "$translation" ]; then file=$translation; fi
    done
    # What the shell of the tutorial knows is about its own cluster.
    if [ "$name" = tutorial.md ]; then (read_page "$name" "$file"); else read_page "$name" "$file"; fi
  done
}

languages=(en zh)
if [ -n "${TEST_SHARD_STATUS_FILE:-}" ]; then
  touch "$TEST_SHARD_STATUS_FILE"
  languages=("${languages[TEST_SHARD_INDEX]}")
fi
for language in "${languages[@]}"; do
  (read_all "$language") || problem "$language: ended with $?"
  while IFS= read -r key; do
    cut -d' ' -f2- "$seen" | grep -qxF -- "$key" || problem "no page has the command: $key"
  done < <(not_run | sed -n 's/^  //p'; listed | cut -d' ' -f3-)
done
[ ! -s "$bad" ] || exit 1
echo "manual: all well"
