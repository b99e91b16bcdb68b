#!/usr/bin/env bash
# Completion of clusterctl as a user sees it: keys typed into the real bash and
# zsh on a terminal, and fish's offers for a line. A completed command runs, and
# its output shows the completion.
set -uo pipefail
failed=0

fail() {
  echo "FAILED: $*"
  failed=1
}

bin=$TEST_TMPDIR/bin
mkdir -p "$bin" "$TEST_TMPDIR/home"
ln -sf "$PWD/client/clusterctl" "$bin/clusterctl"
cd "$TEST_TMPDIR/home" || exit 1
echo "version: 1" >"some cluster.yaml"
unset CLUSTERD_CONTROLLER CLUSTERD_CLUSTER CLUSTERD_CA CLUSTERD_CERT CLUSTERD_KEY

for tool in script zsh fish; do
  command -v "$tool" >/dev/null ||
    { echo "FAILED: $tool is not installed, deploy/install-deps.sh test installs it" && exit 1; }
done

# type_into SHELL KEYS: starts SHELL on a terminal and types the keys; prints
# the screen without cursor movements. The shell ends by its own "exit", without
# time limits.
type_into() {
  printf '%b' "$2" |
    env -i HOME="$PWD" PATH="$bin:/usr/bin:/bin" TERM=dumb LC_ALL=C.UTF-8 \
      timeout 120 script -qec "$1" /dev/null | tr -d '\r\b'
}

# expect WHAT TEXT SCREEN
expect() {
  grep -qF -- "$2" <<<"$3" || fail "$1: expected \"$2\" on the screen:
$3"
}

keys='clusterctl expl\tnet-h\t\n'          # A command, a rule.
keys+='clusterctl expl\tnetmask-\t --hel\t\n' # An option.
keys+='clusterctl config valid\tsome\t\n'  # A command below one, a file.
keys+='clusterctl check --output=sho\t --color ne\t --only link,net-h\t nod\t\n'
keys+='exit\n'

for shell in bash zsh; do
  case $shell in
    bash) screen=$(type_into "bash --norc --noprofile -i" "source <(clusterctl completion bash)\\n$keys") ;;
    zsh)
      # shellcheck disable=SC2016
      screen=$(type_into "zsh -f -i" 'autoload -Uz compinit; compinit -u -D\nsource <(clusterctl completion zsh)\n'"$keys")
      ;;
  esac
  expect "$shell: explain net-health" "what        the device reaches its detect address" "$screen"
  expect "$shell: explain netmask-uniform --help" "Usage: clusterctl explain" "$screen"
  expect "$shell: config validate 'some cluster.yaml'" "some cluster.yaml:1:1: " "$screen"
  # Without a controller no host is completed, and no error is printed.
  expect "$shell: check --output=short --color never --only link,net-health nod" \
    'clusterctl check: no setting "controller"' "$screen"
  ! grep -qE '^clusterctl .*(is not known|does not exist,)' <<<"$screen" || fail "$shell: a word was not completed:
$screen"
  ! grep -q "complete: " <<<"$screen" || fail "$shell: completion said something:
$screen"
done

# fish [LINE]: its offers for the line, without descriptions.
fish_offers() {
  HOME=$PWD PATH=$bin:/usr/bin:/bin LC_ALL=C.UTF-8 timeout 120 \
    fish --no-config -c "clusterctl completion fish | source; complete -C '$1'" | cut -f1 | tr '\n' ' '
}
# expect_fish LINE WORDS
expect_fish() {
  local found
  found=$(fish_offers "$1")
  [ "$found" = "$2 " ] || [ "$found" = "$2" ] || fail "fish: \"$1\": expected \"$2\", found \"$found\""
}
expect_fish "clusterctl expl" "explain"
expect_fish "clusterctl explain net-h" "net-health"
expect_fish "clusterctl check --output=sho" "--output=short"
expect_fish "clusterctl check --only link,net-h" "link,net-health"
expect_fish "clusterctl config validate some" "some cluster.yaml"
expect_fish "clusterctl config " "import learn show validate"
expect_fish "clusterctl check nod" ""

[ "$failed" -eq 0 ] && echo "completion: all well"
exit "$failed"
