// clusterctl hosts lists the attached and missing hosts. clusterctl describe
// prints every fact of one host, observed now.
#include <optional>

#include "absl/algorithm/container.h"
#include "client/command/request.h"
#include "client/print/hosts_table.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

bool IsOneName(absl::string_view host) {
  return !host.empty() &&
         host.find_first_of("[],@ ") == absl::string_view::npos;
}

class HostsCommand final : public OneCall<ListHostsRequest, ListHostsResponse> {
 public:
  HostsCommand() : OneCall("hosts", &Controller::Stub::ListHosts) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "--state", "STATE", state_text_);
    AddOption(app, "--forget", "HOST", forget_);
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    if (!state_text_.empty()) {
      state_ = ReadChoice("--state", state_text_, HostStateNames());
    }
    if (!forget_.empty() && !IsOneName(forget_)) {
      AddMistake("msg-host-not-one-name", "--forget", forget_);
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    if (!forget_.empty()) RETURN_IF_ERROR(Forget(*client));
    return OneCall::Ask(client);
  }
  absl::Status Forget(ControllerClient& client) {
    ForgetHostRequest request;
    request.set_host(forget_);
    ASSIGN_OR_RETURN(
        const ForgetHostResponse forgotten,
        client.Ask(&Controller::Stub::ForgetHost, request, timeout_));
    Tell(forgotten.in_spec() ? "ctl-host-forgotten-expected"
                             : "ctl-host-forgotten",
         forgotten.host());
    return absl::OkStatus();
  }

  int Finish() override {
    if (!answer_.spec_refused().empty()) {
      Tell("headed", "", OlderSpecWords(answer_.spec_refused(), "ctl-goes"));
    }
    const bool away = absl::c_any_of(answer_.hosts(), [](const auto& host) {
      return host.in_spec() && !host.attached();
    });
    if (state_.has_value()) KeepHostsInState(*state_, &answer_);
    // With --forget only that decides the status.
    return Deliver(away && forget_.empty() ? kExitNoVerdict : kExitPass);
  }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHostsTable(answer_, style, session().now(), out);
  }
  std::string Short() const override { return HostsShort(answer_, state_); }

  std::string state_text_;
  std::string forget_;
  std::optional<size_t> state_;  // Index in HostStateNames.
};

// A host may take deadlines.host, 30 s unless the spec sets it.
constexpr absl::Duration kDescribeTimeout = absl::Seconds(75);

class DescribeCommand final
    : public OneCall<DescribeHostRequest, DescribeHostResponse> {
 public:
  DescribeCommand() : OneCall("describe", &Controller::Stub::DescribeHost) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "HOST", *asked_.mutable_host());
    AddOutput(app, "ctl-not-of-one-host");
    AddTimeout(app, kDescribeTimeout);
  }

 private:
  void ReadOptions() override {
    if (!IsOneName(asked_.host())) {
      AddMistake("msg-host-not-one-name", "HOST", asked_.host());
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    const absl::Status asked = OneCall::Ask(client);
    return absl::IsNotFound(asked) ? WithNearestHost(asked, *client) : asked;
  }

  // Adds the nearest known name to "not found".
  absl::Status WithNearestHost(const absl::Status& error,
                               ControllerClient& client) {
    const absl::StatusOr<ListHostsResponse> known =
        client.Ask(&Controller::Stub::ListHosts, {}, kShortTimeout);
    if (!known.ok()) return error;
    const auto names =
        Each<absl::string_view>(known->hosts(), &HostEntry::host);
    return NotFoundWords("headed", MessageWords(error),
                         DidYouMeanWords(asked_.host(), names));
  }

  int Finish() override {
    const bool answered = answer_.has_facts() && !answer_.facts().has_missing();
    return Deliver(answered ? kExitPass : kExitNoVerdict);
  }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHostFacts(answer_, style, session().now(), out);
  }
};

}  // namespace

void AddHostCommands(CommandList& commands) {
  AddCommands<HostsCommand, DescribeCommand>(commands);
}

}  // namespace clusterd
