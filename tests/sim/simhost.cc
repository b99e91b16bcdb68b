// Makes and breaks simulated servers:
//   simhost create --root DIR --spec cluster.yaml --host server0
//     --fault 3:link=DOWN
//   simhost set --root DIR 5:address=10.0.0.9
//   simhost fault-keys     what can be wrong, for a terminal
//   simhost fault-page     the same as fault/faults.md has it
// Exit status: 0 done, 1 could not be done, 3 wrong usage, spec or fault.
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/spec/spec_loader.h"
#include "tests/sim/fault.h"
#include "tests/sim/simulated_host.h"

namespace clusterd::sim {
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

// The check's finding about the fault, "link: fail".
std::string NoticedAs(const FaultKey& key) {
  if (key.noticed.rule.empty()) return "nothing";
  return absl::StrCat(key.noticed.rule, ": ",
                      absl::AsciiStrToLower(State_Name(key.noticed.state)));
}

std::string ExampleOf(const FaultKey& key) {
  return absl::StrCat(key.of_device ? "3:" : "host:", key.key, "=",
                      key.noticed.value);
}

// The places where a fault of the kind is refused, with the reason.
std::vector<std::string> RefusedWhere(const FaultKey& key) {
  std::vector<std::string> lines;
  if (!key.not_side_by_side.empty() &&
      key.not_side_by_side == key.not_in_namespaces) {
    lines.push_back("everywhere: " + key.not_side_by_side);
  } else if (!key.not_side_by_side.empty()) {
    lines.push_back("side by side: " + key.not_side_by_side);
  } else if (!key.not_in_namespaces.empty()) {
    lines.push_back("in namespaces: " + key.not_in_namespaces);
  }
  if (!key.program.empty()) {
    lines.push_back("in namespaces: without " + key.program +
                    " on this machine");
  }
  const std::string servers = NotOn(key.servers);
  if (!servers.empty()) lines.push_back("on " + servers);
  return lines;
}

int PrintFaultKeys() {
  for (bool of_device : {true, false}) {
    printf("%s\n", of_device ? "DEVICE:KEY=VALUE" : "host:KEY=VALUE");
    for (const FaultKey& key : FaultKeys()) {
      if (key.of_device != of_device) continue;
      printf("  %s=%s\n      %s\n      e.g. %s, noticed by %s\n",
             key.key.c_str(), key.values.c_str(), key.meaning.c_str(),
             ExampleOf(key).c_str(), NoticedAs(key).c_str());
      for (const std::string& line : RefusedWhere(key)) {
        printf("      refused %s\n", line.c_str());
      }
    }
  }
  return 0;
}

constexpr char kPageHead[] =
    R"(# Faults of simulated servers

`simhost fault-page` writes this page from the table of `fault.h`, and a test
compares them. Each example is injected into one of three servers of an Atlas A3
super pod, side by side and in namespaces; the test wants the rule to say so of
that server. For `lies` and `conf_empty` a change of the device comes first.
A fault that cannot act is refused with the reason, and nothing is written.

| fault | what is wrong | example | noticed by | refused |
|---|---|---|---|---|
)";

int PrintFaultPage() {
  std::string page = kPageHead;
  for (const FaultKey& key : FaultKeys()) {
    const std::string values = absl::StrReplaceAll(key.values, {{"|", "\\|"}});
    absl::StrAppend(&page, "| `", key.of_device ? "DEVICE" : "host", ":",
                    key.key, "=", values, "` | ", key.meaning, " | `",
                    ExampleOf(key), "` | ", NoticedAs(key), " | ",
                    absl::StrJoin(RefusedWhere(key), "; "), " |\n");
  }
  fputs(page.c_str(), stdout);
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
  create->add_flag("--namespaces", options.namespaces,
                   "For namespaces.sh, which then applies the faults inside");
  create->add_option("--marker", options.marker,
                     "What reports say about where facts come from");
  CLI::App* set = app.add_subcommand("set", "Add faults to a server");
  set->add_option("--root", options.root, "Its folder")->required();
  set->add_option("faults", options.faults, "DEVICE:KEY=VALUE")->required();
  CLI::App* keys = app.add_subcommand("fault-keys", "What can be wrong");
  CLI::App* page = app.add_subcommand("fault-page", "The same in Markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (*create) return Create(spec_path, options);
  if (*set) return Report(AddFaults(options.root, options.faults));
  if (*page) return PrintFaultPage();
  return *keys ? PrintFaultKeys() : kWrongUsage;
}

}  // namespace
}  // namespace clusterd::sim

int main(int argc, char** argv) { return clusterd::sim::Main(argc, argv); }
