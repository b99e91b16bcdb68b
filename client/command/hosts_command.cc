// clusterctl hosts and clusterctl describe: who is attached to the controller,
// and every fact of one host, observed now.
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "client/command/request.h"
#include "client/print/hosts_table.h"
#include "config/values/nearest_word.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

bool IsOneName(absl::string_view host) {
  return !host.empty() &&
         host.find_first_of("[],@ ") == absl::string_view::npos;
}

class HostsCommand final : public Request {
 public:
  HostsCommand() : Request("hosts") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "--state", "STATE", state_text_,
              absl::StrCat("List only these: ",
                           absl::StrJoin(HostStateNames(), ", ")));
    AddOption(app, "--forget", "HOST", forget_,
              "Have the controller forget a host that has left (operators)");
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    if (!state_text_.empty()) {
      state_ = ReadChoice("--state", state_text_, HostStateNames());
    }
    if (!forget_.empty() && !IsOneName(forget_)) {
      AddMistake("--forget: \"", forget_, "\", expected the name of one host");
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    if (!forget_.empty()) RETURN_IF_ERROR(Forget(*client));
    ASSIGN_OR_RETURN(hosts_,
                     client->Ask(&Controller::Stub::ListHosts, {}, timeout_));
    hosts_.set_schema_version(kReportSchemaVersion);
    return absl::OkStatus();
  }
  absl::Status Forget(ControllerClient& client) {
    ForgetHostRequest request;
    request.set_host(forget_);
    ASSIGN_OR_RETURN(
        const ForgetHostResponse forgotten,
        client.Ask(&Controller::Stub::ForgetHost, request, timeout_));
    Tell(forgotten.host(), ": forgotten",
         forgotten.in_spec()
             ? "; it stays expected, since cluster.yaml names it: take it out "
               "there, too"
             : "; it is listed again if its clusterd attaches once more");
    return absl::OkStatus();
  }

  int Finish() override {
    if (!hosts_.spec_refused().empty()) {
      Tell(OlderSpecText(hosts_.spec_refused(), "goes"));
    }
    const bool away = absl::c_any_of(hosts_.hosts(), [](const auto& host) {
      return host.in_spec() && !host.attached();
    });
    if (state_.has_value()) KeepHostsInState(*state_, &hosts_);
    // Who forgets a host wants to know whether that was done.
    return Deliver(away && forget_.empty() ? kExitNoVerdict : kExitPass);
  }
  const google::protobuf::Message& Answer() const override { return hosts_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHostsTable(hosts_, style, session().now(), out);
  }
  std::string Short(bool utf8) const override {
    return HostsShort(hosts_, utf8, state_);
  }

  std::string state_text_;
  std::string forget_;
  std::optional<size_t> state_;  // In HostStateNames.
  ListHostsResponse hosts_;
};

// A host may take deadlines.host, 30 s unless the spec says otherwise.
constexpr absl::Duration kDescribeTimeout = absl::Seconds(75);

class DescribeCommand final : public Request {
 public:
  DescribeCommand() : Request("describe") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "HOST", "", host_,
              "Name of the host, e.g. node07, or its address")
        ->required();
    AddOutput(app, "says nothing of one host");
    AddTimeout(app, kDescribeTimeout);
  }

 private:
  void ReadOptions() override {
    if (!IsOneName(host_)) {
      AddMistake("HOST: \"", host_, "\", expected the name of one host");
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    DescribeHostRequest request;
    request.set_host(host_);
    absl::StatusOr<DescribeHostResponse> answer =
        client->Ask(&Controller::Stub::DescribeHost, request, timeout_);
    if (absl::IsNotFound(answer.status())) {
      return WithNearestHost(answer.status(), *client);
    }
    ASSIGN_OR_RETURN(answer_, std::move(answer));
    answer_.set_schema_version(kReportSchemaVersion);
    return absl::OkStatus();
  }

  // Puts the nearest known name behind "not found".
  absl::Status WithNearestHost(const absl::Status& error,
                               ControllerClient& client) {
    const absl::StatusOr<ListHostsResponse> known =
        client.Ask(&Controller::Stub::ListHosts, {}, kShortTimeout);
    if (!known.ok()) return error;
    std::vector<absl::string_view> names;
    for (const HostEntry& entry : known->hosts()) names.push_back(entry.host());
    return absl::NotFoundError(
        absl::StrCat(error.message(), DidYouMean(host_, names)));
  }

  int Finish() override {
    const bool answered = answer_.has_facts() && !answer_.facts().has_missing();
    return Deliver(answered ? kExitPass : kExitNoVerdict);
  }
  const google::protobuf::Message& Answer() const override { return answer_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHostFacts(answer_, style, session().now(), out);
  }

  std::string host_;
  DescribeHostResponse answer_;
};

}  // namespace

void AddHostCommands(CommandList& commands) {
  commands.push_back(std::make_unique<HostsCommand>());
  commands.push_back(std::make_unique<DescribeCommand>());
}

}  // namespace clusterd
