#!/usr/bin/env bash
# Packages as deploy/package.sh makes them: packed twice, the same bytes, with every
# notice of what is linked in; static programs that run, pages and examples that are right, and nothing for lintian and rpmlint
# to say. Builds the optimised programs if they are not there.
#   tests/package/check.sh [--arch arm64]
# For arm64 the programs run in qemu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

arch=$(dpkg --print-architecture)
[ "${1-}" != --arch ] || arch=$2
# A commit in between changes it.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

deploy/package.sh --arch "$arch" --out "$work/first"
mkdir "$work/programs" "$work/tree" "$work/root"
for package in "$work"/first/*.deb; do dpkg-deb -x "$package" "$work/tree"; done
cp "$work"/tree/usr/sbin/clusterd* "$work/tree/usr/bin/clusterctl" "$work/programs/"

# Another time, folder, umask, zone and language.
(umask 077 && cd / && TZ=Asia/Shanghai LC_ALL=C.UTF-8 \
  "$OLDPWD/deploy/package.sh" --arch "$arch" --programs "$work/programs" --out "$work/second") >/dev/null
for package in "$work"/first/*; do
  cmp "$package" "$work/second/${package##*/}" || fail "${package##*/} is not the same twice"
done
packed=("$work"/first/*)
[ ${#packed[@]} -eq 6 ] || fail "expected six packages"

if unshare --map-root-user --mount true 2>/dev/null; then
  status=0
  # shellcheck disable=SC2016  # the inner shell expands it
  unshare --map-root-user --mount sh -c 'mount -t tmpfs nothing /usr/share/doc/zlib1g-dev && exec "$@"' sh \
    deploy/package.sh --arch "$arch" --format deb --programs "$work/programs" --out "$work/third" >"$work/out" 2>&1 || status=$?
  cat "$work/out"
  [ "$status" -eq 1 ] || fail "packed without the notice of zlib"
  grep -q 'zlib1g-dev/copyright: missing' "$work/out" || fail "does not say that the notice of zlib is missing"
else
  echo "not checked, the kernel refuses new namespaces: that no notice is missing"
fi

mkdir "$work/no-programs"
status=0
deploy/package.sh --arch "$arch" --programs "$work/no-programs" --out "$work/fourth" >"$work/out" 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "packed without programs"
for program in clusterd clusterd-controller clusterctl; do
  grep -q "/no-programs/$program: is not a program" "$work/out" || fail "does not say that $program is missing"
done

version=$(sed -n 's/.*kClusterdVersion\[\] = "\(.*\)";/\1/p' config/values/version.h)
emulator=()
[ "$arch" != arm64 ] || [ "$(uname -m)" = aarch64 ] || emulator=(qemu-aarch64-static)
for program in clusterd clusterd-controller clusterctl; do
  ! grep -q INTERP <(readelf -lW "$work/programs/$program") || fail "$program is not static"
  grep -qF "$program $version" <("${emulator[@]}" "$work/programs/$program" --version) || fail "$program --version"
done

if [ ${#emulator[@]} -eq 0 ]; then
  mkdir -p "$work/image/client"
  cp "$work/programs/clusterctl" "$work/image/client/"
  tests/image.sh deploy/Dockerfile "$work/image" opt || fail "the image"
fi

# The main job by these very programs.
mkdir "$work/run"
for program in clusterd clusterd-controller clusterctl; do
  printf '#!/bin/sh\nexec %s "$@"\n' "${emulator[*]} $work/programs/$program" >"$work/run/$program"
  chmod 0755 "$work/run/$program"
done
deploy/quickstart.sh --servers 2 --programs "$work/run" >"$work/out" 2>&1 || { cat "$work/out" && fail "the main job"; }
grep -q "^PASS: " "$work/out" || { cat "$work/out" && fail "the main job found something"; }

# The example has every key, and each as clusterd reads it.
example=$work/tree/usr/share/doc/clusterd/examples/agent.yaml
sed -E 's/^#((  )?[a-z_]+:)/\1/' "$example" >"$work/agent.yaml"
mkdir -p "$work/machine"
# Prints mistakes in a file with its name; the missing certificate is not one.
mistakes() {
  "${emulator[@]}" "$work/programs/clusterd" --once --config "$1" --root "$work/machine" 2>&1 | grep -F "$1:" || true
}
for file in "$example" "$work/agent.yaml"; do
  [ -z "$(mistakes "$file")" ] || fail "$(mistakes "$file")"
done
sed 's/^drift_interval: .*/drift_interval: often/' "$work/agent.yaml" >"$work/wrong.yaml"
grep -q "drift_interval" <(mistakes "$work/wrong.yaml") || fail "the example is not read at all"

# Read through <(): a writer into a pipe that grep has left fails with it.
for page in "$work"/tree/usr/share/man/man*/*; do
  zcat "$page" | preconv -e utf8 2>/dev/null | groff -man -Tutf8 -ww -rLL=100n >/dev/null 2>"$work/out" || fail "$page"
  [ ! -s "$work/out" ] || { cat "$work/out" && fail "${page##*/} is no clean page"; }
done
grep -q '"clusterctl config show"' <(zcat "$work/tree/usr/share/man/man1/clusterctl.1.gz") || fail "clusterctl(1) lacks its commands"
grep -q '^ *\\-\\-ca\\-hash' <(zcat "$work/tree/usr/share/man/man8/clusterd-join.8.gz") || fail "clusterd-join(8) lacks its options"
grep -q '^\\fIservers\[\].hosts' <(zcat "$work/tree/usr/share/man/man5/cluster.yaml.5.gz") || fail "cluster.yaml(5) lacks its keys"
grep -q '^\\fIhooks.fail_open' <(zcat "$work/tree/usr/share/man/man5/agent.yaml.5.gz") || fail "agent.yaml(5) lacks its keys"
grep -q '^\\fIprocesses_per_device' <(zcat "$work/tree/usr/share/man/man5/job.yaml.5.gz") || fail "job.yaml(5) lacks its keys"

# The files that rpm would install, and its scripts.
for package in "$work"/first/*.rpm; do
  command rpm --dbpath "$work/db" --root "$work/root" --nodeps --noscripts --ignorearch -i "$package" 2>"$work/out" ||
    { cat "$work/out" && fail "rpm cannot install ${package##*/}"; }
  command rpm --dbpath "$work/db" --root "$work/root" --nodeps --noscripts -V "$(basename "${package%-*-*}")"
  # rpm cannot purge: daemon/docs/install.md lists the files that stay, and how to remove them.
  if [ -d "$work/root/etc/clusterd" ]; then touch "$work/root/etc/clusterd/agent.yaml"; fi
  command rpm --dbpath "$work/db" --root "$work/root" --nodeps --noscripts -e "$(basename "${package%-*-*}")" || fail "rpm cannot remove ${package##*/}"
  command rpm -qp --scripts "$package" | sed 's/^[a-z]* scriptlet (using .*):$//' | sh -n || fail "scripts of ${package##*/}"
done
left=$(cd "$work/root" && find etc usr -type f)
[ "$left" = etc/clusterd/agent.yaml ] || fail "the removal with rpm: expected agent.yaml to stay alone, found $left"

lintian --allow-root --fail-on error,warning "$work"/first/*.deb || fail "lintian"
rpmlint -c deploy/package/rpmlint.toml "$work"/first/*.rpm >"$work/out" || true
grep -q ' 0 errors, 0 warnings' "$work/out" || { cat "$work/out" && fail "rpmlint"; }
echo "packages of $arch: all well"
