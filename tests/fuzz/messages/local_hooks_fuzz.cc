// Any request on a host's own socket has an answer or a reason.
#include <memory>
#include <string>

#include "daemon/agent/hooks/hook_service.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {
namespace {

constexpr int kMaxHooks = 4;

class AwayController final : public ControllerLine {
 public:
  absl::StatusOr<SignedVerdict> AskJob(JobQuestion, absl::Duration) override {
    return absl::UnavailableError("the controller is away");
  }
  absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion, absl::Duration) override {
    return absl::UnavailableError("the controller is away");
  }
};

// A host that finds a failure in itself.
struct Host {
  Host() { files.PutFolder("/state"); }

  // A program that is there; the runner runs none.
  static HookSettings Settings() {
    HookSettings settings;
    settings.scontrol = "/bin/sh";
    return settings;
  }

  static Report Judge(const HostFacts&, const JobSpec*) {
    Report report;
    RuleResult* const result = report.add_rules();
    result->set_rule("link");
    result->set_state(FAIL);
    Finding* const finding = result->add_findings();
    finding->set_rule("link");
    finding->set_state(FAIL);
    finding->add_subjects()->set_host("node1");
    return report;
  }

  FakeClock clock;
  FakeFileSystem files;
  FakeCommandRunner runner{&clock};
  CapturedLog log;
  AwayController controller;
  VerdictStore verdicts{
      {"/state/verdicts", "test",
       []() -> absl::StatusOr<std::string> { return std::string(); }},
      &files,
      &clock};
  Drainer drainer{&runner, &log};
  HookService hook{{"node1", [](absl::Duration) { return HostFacts(); }, &Judge,
                    &Settings, &controller, &verdicts, &drainer, &clock, &log}};
};

FUZZ_MESSAGE(local_hooks, 1, LocalInput,
             "tests/testdata/messages/local-*.txtpb") {
  Host host;
  for (int i = 0; i < input.hooks_size() && i < kMaxHooks; ++i) {
    HookRequest request = input.hooks(i);
    if (i < input.jobs_size()) {
      *request.mutable_job() = input.jobs(i).SerializeAsString();
    }
    const auto answer = host.hook.Answer(request, [] { return false; });
    Require(answer.ok() ? answer->decision() != HookAnswer::DECISION_UNSPECIFIED
                        : !answer.status().message().empty());
    host.drainer.Settle();
  }
  // A caller's name becomes a word of scontrol's, never an option of it.
  for (const std::string& command : host.runner.commands()) {
    Require(command.find(" -o -") == std::string::npos &&
            command.find("node -") == std::string::npos);
  }
}

}  // namespace
}  // namespace clusterd
