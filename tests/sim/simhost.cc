// Makes and breaks simulated servers:
//   simhost create --root DIR --spec cluster.yaml --host server0 --fault
//   3:link=DOWN simhost set --root DIR 5:address=10.0.0.9 simhost fault-keys
// Exit status: 0 done, 1 could not be done, 3 wrong usage, spec or fault.
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "tests/sim/fault.h"
#include "tests/sim/simulated_host.h"

namespace clusterd {
namespace sim {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 3;

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  const bool usage =
      absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return usage ? kWrongUsage : kFailed;
}

absl::StatusOr<ClusterSpec> ReadSpec(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  std::stringstream text;
  text << file.rdbuf();
  return LoadSpec(path, text.str());
}

// The tool that the spec's product has, where the build or an installation put
// it.
std::string ToolBesideMe(const ClusterSpec& spec) {
  std::error_code error;
  const auto folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (!HasAscend950Tool(spec)) return folder / "hccn_tool";
  const auto built = folder / "ascend950" / "hccn_tool_950";
  return std::filesystem::exists(built, error) ? built
                                               : folder / "hccn_tool_950";
}

int Create(const std::string& spec_path, SimulatedHostOptions options) {
  auto spec = ReadSpec(spec_path);
  if (!spec.ok()) return Report(spec.status());
  if (options.tool.empty()) options.tool = ToolBesideMe(*spec);
  return Report(CreateSimulatedHost(*spec, options));
}

int PrintFaultKeys() {
  for (bool of_device : {true, false}) {
    printf("%s\n", of_device ? "DEVICE:KEY=VALUE" : "host:KEY=VALUE");
    for (const FaultKey& key : FaultKeys()) {
      if (key.of_device != of_device) continue;
      printf("  %s=%s\n      %s\n", key.key.c_str(), key.values.c_str(),
             key.meaning.c_str());
    }
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Simulated Ascend servers");
  app.require_subcommand(1);
  SimulatedHostOptions options;
  std::string spec_path;
  CLI::App* create =
      app.add_subcommand("create", "Build a server's root folder");
  create->add_option("--root", options.root, "New folder")->required();
  create->add_option("--spec", spec_path, "cluster.yaml")->required();
  create->add_option("--host", options.host, "Server of the spec")->required();
  create->add_option("--fault", options.faults, "DEVICE:KEY=VALUE, repeatable");
  create->add_option("--tool", options.tool,
                     "Simulated hccn_tool; the product's unless given");
  create->add_flag("--of-other-cluster", options.of_other_cluster,
                   "As another cluster left it: nothing of the spec is set");
  create->add_option("--marker", options.marker,
                     "What reports say about where facts come from");
  CLI::App* set = app.add_subcommand("set", "Add faults to a server");
  set->add_option("--root", options.root, "Its folder")->required();
  set->add_option("faults", options.faults, "DEVICE:KEY=VALUE")->required();
  CLI::App* keys = app.add_subcommand("fault-keys", "What can be wrong");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (*create) return Create(spec_path, options);
  if (*set) return Report(AddFaults(options.root, options.faults));
  return *keys ? PrintFaultKeys() : kWrongUsage;
}

}  // namespace
}  // namespace sim
}  // namespace clusterd

int main(int argc, char** argv) { return clusterd::sim::Main(argc, argv); }
