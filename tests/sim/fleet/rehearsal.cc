// Queries of deploy/rehearse.sh about a cluster.yaml and a rehearsal's reports:
//   rehearsal prepare cluster.yaml DIR   "NAME PRODUCT", or every mistake
//   rehearsal judge DIR --faulted HOST   the table, and whether all went well
// Exit status: 0 as it should be, 1 not so, 3 wrong usage or spec.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "config/plan/make_plan.h"
#include "config/spec/spec_loader.h"
#include "google/protobuf/util/json_util.h"
#include "tests/sim/fleet/rehearsal_judge.h"

namespace clusterd {
namespace {

constexpr int kNotSo = 1;
constexpr int kWrongUsage = 3;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

// DIR gets cluster.yaml, and hosts with a line "HOST ADDRESS" each. Schedules
// and notifiers are left out: a rehearsal notifies no one.
int Prepare(const std::string& path, const std::string& folder) {
  const std::string text = ReadText(path);
  auto spec = LoadSpec(path, text);
  if (!spec.ok()) {
    std::fprintf(stderr, "%s\n", std::string(spec.status().message()).c_str());
    return kWrongUsage;
  }
  const bool acts = spec->schedule_size() + spec->notify_size() > 0;
  spec->clear_schedule();
  spec->clear_notify();
  std::ofstream(folder + "/cluster.yaml") << (acts ? SpecToYaml(*spec) : text);
  std::ofstream hosts(folder + "/hosts");
  for (const ServerSpec& server : spec->servers()) {
    hosts << server.host() << " "
          << (server.address().empty() ? "-" : server.address()) << "\n";
  }
  hosts.close();
  if (!hosts) {
    std::fprintf(stderr, "%s/hosts: cannot be written\n", folder.c_str());
    return kNotSo;
  }
  std::printf("%s %s\n", spec->name().c_str(), spec->product().c_str());
  return 0;
}

// Empty where clusterctl wrote none.
template <typename Message>
Message Read(const std::string& folder, const std::string& file) {
  Message message;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const std::string text = ReadText(absl::StrCat(folder, "/", file, ".json"));
  if (text.empty()) return message;
  const auto status =
      google::protobuf::util::JsonStringToMessage(text, &message, options);
  if (!status.ok()) {
    std::fprintf(stderr, "%s.json: %s\n", file.c_str(),
                 status.ToString().c_str());
  }
  return message;
}

std::string StepText(const ClusterPlan& plan) {
  return plan.hosts_size() == 0 ? "no plan" : PlanCountsText(CountPlan(plan));
}

int Judge(const std::string& folder, const std::vector<std::string>& faulted) {
  Rehearsal of;
  of.faulted.insert(faulted.begin(), faulted.end());
  of.fresh = Read<Report>(folder, "fresh");
  of.faulty = faulted.empty() ? of.fresh : Read<Report>(folder, "faulty");
  of.plan = Read<ClusterPlan>(folder, "plan");
  of.apply = Read<ApplyReport>(folder, "apply");
  of.after = Read<Report>(folder, "after");
  of.rollback = Read<ApplyReport>(folder, "rollback");
  of.back = Read<Report>(folder, "back");
  // A line "STEP SECONDS" each.
  std::ifstream times(folder + "/times");
  std::printf("%-24s %9s  %s\n", "step", "seconds", "result");
  for (std::string step, seconds; times >> step >> seconds;) {
    const auto print = [&](const char* name, const std::string& what) {
      std::printf("%-24s %9s  %s\n", name, seconds.c_str(), what.c_str());
    };
    if (step == "attach") print("hosts attach", "");
    if (step == "fresh") print("check, at first", StepText(of.fresh));
    if (step == "faulty") print("check, with the faults", StepText(of.faulty));
    if (step == "plan") print("plan", StepText(of.plan));
    if (step == "apply") print("apply", StepText(of.apply));
    if (step == "wave") print("  a wave of it", "");
    if (step == "after") print("check, after the apply", StepText(of.after));
    if (step == "rollback") print("rollback", StepText(of.rollback));
    if (step == "back") print("check, after the rollback", StepText(of.back));
  }
  const RehearsalVerdict verdict = JudgeRehearsal(of);
  if (!verdict.notes.empty()) std::printf("\nGood to know:\n");
  for (const std::string& line : verdict.notes) {
    std::printf("  %s\n", line.c_str());
  }
  if (!verdict.wrong.empty()) std::printf("\nFailures:\n");
  for (const std::string& line : verdict.wrong) {
    std::printf("  %s\n", line.c_str());
  }
  return verdict.wrong.empty() ? 0 : kNotSo;
}

int Main(int argc, char** argv) {
  CLI::App app("What deploy/rehearse.sh asks", "rehearsal");
  app.require_subcommand(1);
  std::string spec;
  std::string folder;
  std::vector<std::string> faulted;
  CLI::App* const prepare =
      app.add_subcommand("prepare", "Check the spec and list its servers");
  prepare->add_option("spec", spec, "cluster.yaml")->required();
  prepare->add_option("folder", folder, "Gets its copy")->required();
  CLI::App* const judge = app.add_subcommand("judge", "Whether all went well");
  judge->add_option("folder", folder, "Has the reports")->required();
  judge->add_option("--faulted", faulted, "Server with a fault, repeatable");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return *prepare ? Prepare(spec, folder) : Judge(folder, faulted);
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) { return clusterd::Main(argc, argv); }
