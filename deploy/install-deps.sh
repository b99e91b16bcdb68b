#!/usr/bin/env bash
# Installs the missing Debian packages for one kind of work.
#   deploy/install-deps.sh build|test|slurm|package|arm64|lint ...
# If all are installed it changes nothing and needs neither root nor a network.
set -euo pipefail

build=(
  bazel-bootstrap bazel-rules-java bazel-rules-proto g++ pkg-config
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler
  libabsl-dev libyaml-cpp-dev libpugixml-dev libctemplate-dev libevent-dev libcli11-dev libre2-dev libssl-dev zlib1g-dev
  libsqlite3-dev libutf8proc-dev libgoogle-perftools-dev libgtest-dev libgmock-dev libbenchmark-dev openssl git
  ca-certificates iproute2 procps util-linux
)
# Further packages of tests: shells with completion; real firewalls, sshd and
# systemd, run inside namespaces and separate machines; Ansible; promtool, which
# reads metrics; a browser, which opens reports; curl of notifiers.
test=(
  ufw iptables nftables systemd-container debootstrap bsdutils zsh fish openssh-server openssh-client ansible-core
  promtool chromium-headless-shell curl
)
# A complete Slurm on one machine, for tests and `deploy/quickstart.sh --slurm`.
slurm=(slurmctld slurmd slurm-client munge util-linux)
# Builds and checks .deb and .rpm.
package=(dpkg-dev binutils rpm lintian rpmlint xz-utils)
# Compiler and emulator for arm64; deploy/bazel/arm64.bzl fetches its libraries.
arm64=(g++-aarch64-linux-gnu qemu-user-static)
lint=(universal-ctags clang clang-format clang-tidy libclang-rt-14-dev shellcheck npm)

usage() {
  echo "usage: deploy/install-deps.sh build|test|slurm|package|arm64|lint ..." >&2
  exit 3
}

[ $# -gt 0 ] || usage
wanted=()
for group in "$@"; do
  case $group in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}" "${slurm[@]}") ;;
    slurm) wanted+=("${slurm[@]}") ;;
    package) wanted+=("${package[@]}") ;;
    arm64) wanted+=("${arm64[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    *) usage ;;
  esac
done

missing=()
programs=()
for package in "${wanted[@]}"; do
  # npm may also belong to a Node.js from elsewhere.
  if [ "$package" = npm ] && command -v npm >/dev/null; then continue; fi
  # Debian's package would start a server: only promtool is unpacked below.
  if [ "$package" = promtool ]; then
    command -v promtool >/dev/null || programs=(promtool)
    continue
  fi
  status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  case $status in ii*) ;; *) missing+=("$package") ;; esac
done
[ ${#missing[@]} -gt 0 ] || [ ${#programs[@]} -gt 0 ] || exit 0

coming=("${missing[@]}" "${programs[@]}")
echo "installing ${#coming[@]} Debian packages: ${coming[*]}" >&2
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "deploy/install-deps.sh: not root and no sudo; as root run:" >&2
    echo "  $0 $*" >&2
    exit 1
  fi
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Unpacks promtool from the package prometheus.
take_promtool() {
  local folder status=0
  folder=$(mktemp -d)
  (cd "$folder" && apt-get download prometheus && dpkg-deb -x prometheus_*.deb .) >>"$log" 2>&1 &&
    "${as_root[@]}" install -D -m 0755 "$folder/usr/bin/promtool" /usr/local/bin/promtool || status=1
  rm -rf "$folder"
  return $status
}
install_all() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1 &&
    { [ ${#programs[@]} -eq 0 ] || take_promtool; }
}
# An outdated package list is the usual cause of a first failure.
if ! install_all; then
  "${as_root[@]}" apt-get update >/dev/null
  if ! install_all; then
    tail -n 20 "$log" >&2
    echo "deploy/install-deps.sh: apt-get could not install what is missing" >&2
    exit 1
  fi
fi
