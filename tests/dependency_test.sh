#!/usr/bin/env bash
# Fails if a package depends on a folder that it must not know. The lists of
# dependencies come from Bazel (genquery), so an edge through any number of
# libraries is seen.
set -uo pipefail

bad=0

# forbid NAME WHY PATTERN...: no dependency of NAME may match.
forbid() {
  local list=tests/$1_deps why=$2 found
  shift 2
  if ! [ -s "$list" ]; then
    echo "$list: no list of dependencies"
    bad=1
    return
  fi
  local pattern
  for pattern in "$@"; do
    if found=$(grep -E "^$pattern" "$list" | head -n 5) && [ -n "$found" ]; then
      printf '%s depends on what it must not know (%s):\n%s\n' "$list" "$why" "$found"
      bad=1
    fi
  done
}

# require NAME PATTERN: proves that the list is the right one.
require() {
  grep -qE "^$2" "tests/$1_deps" || {
    echo "tests/$1_deps: $2 is not there, so the list is not what this test believes"
    bad=1
  }
}

grpc='@system//:grpc' daemon='//daemon/(agent|controller|host)' client='//client' tests='//tests'

forbid rules "rules are pure" "$grpc" "$daemon" "$client" "$tests" //config/identity @system//:yaml_cpp
forbid spec "the spec knows no machine and no network" "$grpc" "$daemon" "$client" "$tests"
forbid learn "learning is pure" "$grpc" "$daemon" "$client" "$tests" //config/identity
forbid host "the machine side speaks to nobody" "$grpc" //daemon/agent //daemon/controller "$client" "$tests"
forbid agent "a host makes no pages" @system//:ctemplate
forbid agent "a daemon is no controller" //daemon/controller "$client" "$tests"
forbid controller "the controller touches no machine" //daemon/host //daemon/agent "$client" "$tests"
forbid client "a client touches no machine" "$daemon" "$tests"

require rules //config/spec
require learn //config/spec
require agent //daemon/host
require agent "$grpc"
require controller //config/rules
require client "$grpc"

tests/image.sh deploy/Dockerfile . "${1:-fastbuild}" || bad=1
tests/prose.sh .ci/prose || bad=1

[ $bad -eq 0 ] && echo "dependencies are as the folder table says"
exit $bad
