#!/usr/bin/env bash
# Makes packages of clusterd, clusterd-controller and clusterctl, .deb and .rpm.
# The same programs, packed on the same Debian, give the same bytes: names and
# times are the commit's.
# shellcheck disable=SC2317  # functions that a table names
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  cat <<'EOT'
usage: deploy/package.sh [--arch A] [--format F] [--out DIR] [--release N] [--programs DIR]

Builds clusterd, clusterd-controller and clusterctl and packs each as .deb and .rpm.

  --arch A        amd64 or arm64 (default: this machine's). arm64 on an amd64 machine
                  needs `deploy/install-deps.sh package arm64`
  --format F      deb or rpm (default: both)
  --out DIR       folder of the packages (default: .cache/packages); existing files of
                  the same name are replaced
  --release N     release of the package, if only the packaging has changed
                  (default 1)
  --programs DIR  packs the programs of this folder, and builds nothing

All files have the time SOURCE_DATE_EPOCH, or that of the last commit without it.
Exit status: 0 success, 1 failure, 3 wrong usage.
EOT
}

wrong() {
  echo "deploy/package.sh: $*" >&2
  echo "deploy/package.sh --help lists the options" >&2
  exit 3
}
die() {
  echo "deploy/package.sh: $*" >&2
  exit 1
}

# Everything that is missing is reported at once.
lacks=()
lack() { lacks+=("$*"); }
have() { command -v "$1" >/dev/null; }
tell_lacks() {
  [ ${#lacks[@]} -gt 0 ] || return 0
  printf 'deploy/package.sh: %s\n' "${lacks[@]}" >&2
  exit 1
}

have dpkg || lack "dpkg: missing; packages are made on Debian"
machine=$(dpkg --print-architecture 2>/dev/null || uname -m | sed "s/x86_64/amd64/; s/aarch64/arm64/")
arch=$machine
formats=(deb rpm)
out=$repo/.cache/packages
release=1
programs=
while [ $# -gt 0 ]; do
  case $1 in
    --arch | --format | --out | --release | --programs)
      [ $# -ge 2 ] || wrong "$1 needs a value"
      case $1 in
        --arch) arch=$2 ;;
        --format) formats=("$2") ;;
        --out) out=$2 ;;
        --release) release=$2 ;;
        --programs) programs=$2 ;;
      esac
      shift
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *) wrong "unknown option \"$1\"" ;;
  esac
  shift
done
case $arch in
  amd64) rpm_arch=x86_64 strip=x86_64-linux-gnu-strip ;;
  arm64) rpm_arch=aarch64 strip=aarch64-linux-gnu-strip ;;
  *) wrong "--arch \"$arch\", expected amd64 or arm64" ;;
esac
case ${formats[*]} in
  deb | rpm | "deb rpm") ;;
  *) wrong "--format \"${formats[*]}\", expected deb or rpm" ;;
esac
[[ $release =~ ^[1-9][0-9]{0,8}$ ]] || wrong "--release \"$release\", expected a number from 1"
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [ -n "$programs" ] && [ ! -d "$programs" ]; then
  lack "--programs $programs: is not a folder"
elif [ -n "$programs" ]; then
  programs=$(cd "$programs" && pwd)
  for program in clusterd clusterd-controller clusterctl; do
    [ -x "$programs/$program" ] || lack "$programs/$program: is not a program, expected one of --programs"
  done
fi
cd "$repo"

if [ -z "${SOURCE_DATE_EPOCH-}" ]; then
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null) || {
    lack "this is not a git checkout: set SOURCE_DATE_EPOCH to the time of the packages"
    SOURCE_DATE_EPOCH=0
  }
fi
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
VERSION=$(sed -n 's/.*kClusterdVersion\[\] = "\(.*\)";/\1/p' config/values/version.h)
DATE=$(date -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
export VERSION DATE

# --- The programs, and how those of another machine are run. ------------------

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() {
  # The options of deploy/quickstart.sh, so that one build serves both.
  local -a flags=(-c opt --config=joined)
  [ "$arch" = "$machine" ] || flags+=(--config=arm64)
  bazel build "${flags[@]}" --noshow_progress --ui_event_filters=-info \
    //daemon/agent:clusterd //daemon/controller:clusterd-controller //client:clusterctl >&2 || exit 1
  local folder
  folder=$(bazel info "${flags[@]}" bazel-bin 2>/dev/null)
  programs=$work/programs
  mkdir "$programs"
  cp "$folder"/daemon/agent/clusterd "$folder"/daemon/controller/clusterd-controller \
    "$folder"/client/clusterctl "$programs/"
}
if [ -z "$programs" ]; then
  [ "$arch" = "$machine" ] || [ "$arch" = arm64 ] ||
    lack "packages of $arch are built on a machine of $arch, this one is $machine"
  tell_lacks
  deploy/install-deps.sh build package
  [ "$arch" = "$machine" ] || deploy/install-deps.sh arm64
fi
have "$strip" || strip="strip"
tools=("$strip" gzip md5sum)
[[ ${formats[*]} != *deb* ]] || tools+=(dpkg-deb xz)
[[ ${formats[*]} != *rpm* ]] || tools+=(rpmbuild)
[ "$arch" = "$machine" ] || tools+=("qemu-$rpm_arch-static")
for tool in "${tools[@]}"; do
  have "$tool" || lack "$tool: missing; deploy/install-deps.sh package arm64 installs it"
done
# The linked packages; they have the same names on another architecture.
linked=()
if deploy/sbom >"$work/sbom"; then
  mapfile -t linked < <(sed -n 's/^ *"packageFileName": "\(.*\)",$/\1/p' "$work/sbom")
  [ ${#linked[@]} -gt 0 ] || lack "deploy/sbom names nothing that is linked in"
else
  lack "deploy/sbom: what is linked in is not known"
fi
for package in "${linked[@]}"; do
  [ -s "/usr/share/doc/$package/copyright" ] ||
    lack "/usr/share/doc/$package/copyright: missing, and $package is linked in"
done
tell_lacks
[ -n "$programs" ] || build

# Prints the words that run the program here.
runs() {
  [ "$arch" = "$machine" ] || printf 'qemu-%s-static ' "$rpm_arch"
  printf '%s' "$programs/$1"
}

# --- What each package holds. ------------------------------------------------------

# put MODE TARGET FILE...: into the tree; a TARGET ending in / is a folder.
put() {
  local mode=$1 target=$tree/$2
  shift 2
  mkdir -p "$(dirname "${target}x")"
  install -m "$mode" "$@" "$target"
}
program() {
  put 755 "$1" "$programs/${1##*/}"
  "$strip" --strip-all --remove-section=.comment "$tree/$1"
}
# page SECTION VERB NAME ...: a page of the manual, made by man.sh.
page() {
  local section=$1
  shift
  mkdir -p "$tree/usr/share/man/man$section"
  deploy/package/man.sh "$@" | gzip -9n >"$tree/usr/share/man/man$section/$2.$section.gz"
}
unit() { put 644 "$units/" "deploy/systemd/$1.service"; }

of_clusterd() {
  program usr/sbin/clusterd
  unit clusterd
  page 8 program clusterd 8 "the daemon of a host of an Ascend training cluster" "$(runs clusterd)"
  page 8 program clusterd-join 8 "joins a host to its cluster" "$(runs clusterd) join"
  page 5 keys agent.yaml "settings of clusterd on a host" daemon/docs/agent-yaml.md
  put 644 "$doc/examples/" deploy/package/agent.yaml
  mkdir -p "$tree/etc/clusterd"
}

of_clusterd_controller() {
  program usr/sbin/clusterd-controller
  unit clusterd-controller
  put 644 usr/lib/sysusers.d/clusterd-controller.conf deploy/package/clusterd.sysusers
  page 8 program clusterd-controller 8 "checks an Ascend training cluster before jobs" "$(runs clusterd-controller)"
  page 5 keys cluster.yaml "what an Ascend training cluster should be" daemon/docs/cluster-yaml.md daemon/docs/addresses.md
  put 644 "$doc/examples/" config/examples/*.yaml deploy/package/controller.env
  put 644 "$doc/examples/monitoring/" deploy/monitoring/*
  put 755 usr/share/clusterd-controller/certificates.sh deploy/certificates.sh
  put 755 usr/share/clusterd-controller/notify/ deploy/notify/*
  chmod 644 "$tree/usr/share/clusterd-controller/notify/lib.sh"
  mkdir -p "$tree/etc/clusterd"
}

of_clusterctl() {
  local text folder
  local -a pages=()
  program usr/bin/clusterctl
  for text in client/command/help/*.txt; do
    text=$(basename "$text" .txt)
    [ "$text" = clusterctl ] || pages+=("${text/-/ }")
  done
  page 5 keys job.yaml "a job, as clusterctl check --job reads it" daemon/docs/job-yaml.md
  page 1 program clusterctl 1 "checks whether an Ascend training cluster is ready" "$(runs clusterctl)" "${pages[@]}"
  put 644 usr/share/bash-completion/completions/clusterctl client/command/help/completion.bash
  put 644 "$zsh/_clusterctl" client/command/help/completion.zsh
  put 644 usr/share/fish/vendor_completions.d/clusterctl.fish client/command/help/completion.fish
  put 644 "$doc/" proto/report.schema.json
  for folder in slurm pbs lsf kubernetes; do
    put 644 "$doc/examples/$folder/" "deploy/$folder"/*
  done
  # Schedulers run these.
  chmod 755 "$tree/$doc"/examples/slurm/*pro* "$tree/$doc"/examples/slurm/{epilog,health-check} \
    "$tree/$doc"/examples/lsf/pre-exec
}

# Prints licences of linked libraries from the packages that contain them.
licences() {
  local package version
  cat <<EOT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: clusterd
Source: this package's README.md

Files: *
Copyright: the authors of clusterd
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
Comment:
 Linked statically, of Debian's packages with these notices:
EOT
  for package in "${linked[@]}"; do
    # For another architecture arm64.bzl fetches the newest version.
    version=
    [ "$arch" != "$machine" ] || version=$(dpkg-query -W -f '${Version}\n' "$package" | sed -n 1p)
    printf ' .\n == %s\n' "$package${version:+ $version}"
    sed -e 's/[[:space:]]*$//' -e 's/^$/./' -e 's/^/ /' "/usr/share/doc/$package/copyright"
  done
}

# --- The packages. ----------------------------------------------------------------

declare -A summaries=(
  [clusterd]="daemon of a host of an Ascend training cluster"
  [clusterd-controller]="checks an Ascend training cluster before jobs"
  [clusterctl]="checks whether an Ascend training cluster is ready"
)
declare -A descriptions=(
  [clusterd]=" clusterd reads the settings of an Ascend NPU server, reports them to the
 controller of its cluster, and changes what the administrator of the server
 permits. A journal allows every change to be rolled back. It is not the
 component of MindCluster of that name."
  [clusterd-controller]=" clusterd-controller asks the daemons of all hosts at once and judges rules
 that span servers: subnets, unique addresses, uniform settings, reserved
 ports, backlogs, firewalls. It plans what is to change, and keeps a history."
  [clusterctl]=" clusterctl asks the controller of a cluster, prints one verdict with what
 was found, what was expected and what to do, and is what schedulers call
 before a job."
)
# Files of /etc/clusterd that an administrator or joining a cluster creates.
declare -A configuration=(
  [clusterd]="agent.yaml host.crt host.key identity"
  [clusterd-controller]="cluster.yaml controller.env controller.crt controller.key ca"
)
declare -A users=([clusterd]="" [clusterd-controller]=clusterd)
packages=(clusterd clusterd-controller clusterctl)

# plant PACKAGE: makes the tree of its files.
plant() {
  local package=$1
  tree=$work/$1/tree
  doc=usr/share/doc/$package
  rm -rf "$tree"
  mkdir -p "$tree/$doc"
  "of_${package//-/_}"
  put 644 "$doc/" README.md README.zh-CN.md
  # Targets of the README's links.
  put 644 "$doc/daemon/docs/" daemon/docs/*.md
  put 644 "$doc/daemon/docs/zh/" daemon/docs/zh/*.md
  licences >"$tree/$doc/copyright"
  gzip -9nc CHANGELOG.md >"$tree/$doc/changelog.gz"
}

# Sets all times to one; the packers take care of order and owners.
settle() { find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

# fill FILE PACKAGE: replaces the words between at signs.
fill() {
  sed -e "s|@PACKAGE@|$2|g" -e "s|@FILES@|${configuration[$2]}|" -e "s|@USER@|${users[$2]}|" "$1"
}

deb() {
  local package=$1 script depends="" file
  local version=$VERSION-$release
  units=lib/systemd/system zsh=usr/share/zsh/vendor-completions
  plant "$package"
  printf 'clusterd (%s) unstable; urgency=medium\n\n  * CHANGELOG.md of clusterd %s.\n\n -- %s  %s\n' \
    "$version" "$VERSION" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" |
    sed "1s/^clusterd /$package /" | gzip -9n >"$tree/$doc/changelog.Debian.gz"
  put 644 "usr/share/lintian/overrides/$package" "deploy/package/lintian/$package"
  mkdir "$tree/DEBIAN"
  if [ -n "${configuration[$package]-}" ]; then
    for script in postinst prerm postrm; do
      fill "deploy/package/scripts/$script" "$package" >"$tree/DEBIAN/$script"
      chmod 755 "$tree/DEBIAN/$script"
    done
    depends="Depends: systemd"
  fi
  (cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
  cat >"$tree/DEBIAN/control" <<EOT
Package: $package
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$tree" | cut -f1)
${depends:+$depends
}Section: admin
Priority: optional
Description: ${summaries[$package]}
${descriptions[$package]}
EOT
  settle
  file=$out/${package}_${version}_$arch.deb
  dpkg-deb --root-owner-group -Zxz -z3 --build "$tree" "$file" >/dev/null
  echo "$file"
}

rpm() {
  local package=$1 scripts=/dev/null requires="" file
  units=usr/lib/systemd/system zsh=usr/share/zsh/site-functions
  plant "$package"
  put 644 "$doc/LICENSE" LICENSE
  settle
  if [ -n "${configuration[$package]-}" ]; then
    scripts=$work/$package/scripts
    fill deploy/package/scripts/rpm "$package" >"$scripts"
    requires="Requires(post): systemd"
  fi
  local list=$work/$package/list
  {
    echo "%defattr(-,root,root,-)"
    [ ! -d "$tree/etc/clusterd" ] || echo "%dir /etc/clusterd"
    echo "%dir /$doc"
    (cd "$tree" && find . \( -path "./$doc/*" -o -path "./usr/share/$package*" \) -type d -printf '%%dir /%P\n' &&
      find . -path "./$doc/*" -type f -printf '%%doc /%P\n' && find . ! -path "./$doc/*" -type f -printf '/%P\n') | sort
  } >"$list"
  printf '%s\n' "${descriptions[$package]}" | sed 's/^ //' >"$work/$package/description"
  awk -v scripts="$scripts" -v description="$work/$package/description" '
    function copy(file,  line) { while ((getline line <file) > 0) print line }
    /^@SCRIPTS@$/ { copy(scripts); next }
    /^@DESCRIPTION@$/ { copy(description); next }
    { print }' deploy/package/clusterd.spec |
    sed -e "s|@PACKAGE@|$package|g" -e "s|@VERSION@|$VERSION|g" -e "s|@RELEASE@|$release|g" \
      -e "s|@SUMMARY@|${summaries[$package]^}|g" -e "s|@REQUIRES@|$requires|g" \
      -e "s|@PACKAGER@|$maintainer|g" -e "s|@DATE@|$(date -d "@$SOURCE_DATE_EPOCH" "+%a %b %d %Y")|g" \
      -e "s|@TREE@|$tree|g" -e "s|@LIST@|$list|g" >"$work/$package/spec"
  rpmbuild --quiet -bb --target "$rpm_arch-linux" --define "_topdir $work/$package/rpm" \
    --define "_rpmdir $out" --define "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm" \
    --define "_buildhost clusterd" --define "use_source_date_epoch_as_buildtime 1" \
    --define "clamp_mtime_to_source_date_epoch 1" --define "debug_package %{nil}" \
    --define "_binary_payload w3.xzdio" --define "__os_install_post %{nil}" \
    --define "_build_id_links none" "$work/$package/spec" >"$work/$package/rpmbuild" 2>&1 ||
    { cat "$work/$package/rpmbuild" >&2 && die "rpmbuild could not pack $package"; }
  echo "$out/$package-$VERSION-$release.$rpm_arch.rpm"
}

# Packagers set their name in the two variables that Debian's own tools use.
maintainer="${DEBFULLNAME:-clusterd} <${DEBEMAIL:-clusterd@localhost}>"
# make PACKAGE: one format after the other, since they share its tree.
make() {
  local format
  for format in "${formats[@]}"; do "$format" "$1"; done
}
pids=()
for package in "${packages[@]}"; do
  make "$package" &
  pids+=($!)
done
# Waits for all of them even if one has failed: they use the folder.
status=0
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
[ "$status" -eq 0 ] || exit 1
