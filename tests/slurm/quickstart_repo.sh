# shellcheck shell=bash
# To be sourced in the folder of a program's runfiles.
#   quickstart_repo FOLDER  a copy of what deploy/quickstart.sh --slurm needs, with
#                           programs that are built already
quickstart_repo() {
  local repo=$1 bin=$1/.cache/quickstart/bin program
  mkdir -p "$bin" "$repo"/{proto,config,daemon,client,tests/sim,deploy/bazel}
  touch "$repo"/{WORKSPACE,BUILD.bazel,.bazelrc}
  cp -rL tests/slurm "$repo/tests/"
  cp -rL deploy/certificates.sh deploy/quickstart.sh deploy/quickstart_slurm.sh deploy/simulation.sh deploy/slurm "$repo/deploy/"
  # tests/run.sh has installed the packages.
  printf '#!/bin/sh\n' >"$repo/deploy/install-deps.sh"
  chmod +x "$repo/deploy/install-deps.sh"
  for program in daemon/agent/clusterd daemon/controller/clusterd-controller client/clusterctl \
    tests/sim/hccn_tool tests/sim/simhost; do
    ln -s "$PWD/$program" "$bin/"
  done
  touch "$bin/.built"
}
