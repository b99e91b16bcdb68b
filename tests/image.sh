#!/usr/bin/env bash
# The image of deploy/Dockerfile: every source of a COPY is one of our programs, the
# entry point was copied, and the programs need no other files. If a builder is
# installed it builds the image, and runs it.
#   tests/image.sh DOCKERFILE CONTEXT opt|fastbuild|dbg
# CONTEXT has the programs as bazel-bin has them. Builds other than opt link shared
# libraries, so only opt checks a program's dependencies.
set -euo pipefail
file=$1 context=$2 mode=$3
fail() {
  echo "FAILED: ${file##*/}: $*"
  exit 1
}

from=0
copied=()
while read -r word arguments; do
  case $word in
    "" | "#"*) continue ;;
    FROM)
      [ "$arguments" = scratch ] || fail "FROM $arguments, expected scratch"
      from=$((from + 1))
      ;;
    COPY)
      read -r source target more <<<"$arguments"
      if [ -z "$target" ] || [ -n "$more" ]; then fail "COPY $arguments, expected a source and a target"; fi
      case $source in
        client/clusterctl | daemon/agent/clusterd | daemon/controller/clusterd-controller) ;;
        *) fail "COPY $source, expected a program that //${source%/*} builds" ;;
      esac
      [ -x "$context/$source" ] || fail "COPY $source: $context has no such program"
      copied+=("$target")
      if [ "$mode" != opt ]; then continue; fi
      ! grep -qE '^ *(INTERP|DYNAMIC) ' <(readelf -lW "$context/$source") || fail "$source has a dynamic section"
      grep -q '^ *LOAD ' <(readelf -lW "$context/$source") || fail "$source is not a program"
      ;;
    USER) [[ $arguments =~ ^[1-9][0-9]*:[1-9][0-9]*$ ]] || fail "USER $arguments, expected numbers, none of root" ;;
    ENTRYPOINT) entry=$arguments ;;
    *) fail "$word: a word that this test does not know" ;;
  esac
done <"$file"
[ "$from" -eq 1 ] || fail "$from images, expected one"
[ ${#copied[@]} -eq 1 ] || fail "${#copied[@]} files, expected one"
[ "${entry-}" = "[\"${copied[0]}\"]" ] || fail "ENTRYPOINT ${entry-is missing}, expected [\"${copied[0]}\"]"

builder=
for each in docker podman; do
  if command -v "$each" >/dev/null && timeout 20 "$each" info >/dev/null 2>&1; then
    builder=$each
    break
  fi
done
if [ -z "$builder" ] || [ "$mode" != opt ]; then
  echo "not built, since $([ -n "$builder" ] && echo "this is a $mode build" || echo "there is no docker or podman that answers"): the lines are right"
  exit 0
fi
work=$(mktemp -d)
image=clusterd-test-image-$$
clean_up() {
  "$builder" rmi -f "$image" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT
mkdir "$work/client"
cp -L "$context/client/clusterctl" "$work/client/"
"$builder" build -q -f "$file" -t "$image" "$work" >/dev/null || fail "$builder could not build it"
grep -q '^clusterctl ' <("$builder" run --rm --network none "$image" --version) || fail "the image does not run"
echo "built with $builder, and it runs"
