// clusterctl hosts and clusterctl describe: who is attached to the controller,
// and every fact of one host, observed now.
#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/print/hosts_table.h"
#include "config/values/nearest_word.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

class HostsCommand final : public Request {
 public:
  HostsCommand() : Request("hosts") {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  absl::Status Ask(ControllerClient* client) override {
    ASSIGN_OR_RETURN(hosts_,
                     client->Ask(&Controller::Stub::ListHosts, {}, timeout_));
    hosts_.set_schema_version(kReportSchemaVersion);
    return absl::OkStatus();
  }
  int Finish() override {
    if (!hosts_.spec_refused().empty()) {
      Tell(OlderSpecText(hosts_.spec_refused(), "goes"));
    }
    for (const HostEntry& host : hosts_.hosts()) {
      if (host.in_spec() && !host.attached()) return Deliver(kExitNoVerdict);
    }
    return Deliver(kExitPass);
  }
  const google::protobuf::Message& Answer() const override { return hosts_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHostsTable(hosts_, style, session().now(), out);
  }
  std::string Short(bool utf8) const override {
    return HostsShort(hosts_, utf8);
  }

  ListHostsResponse hosts_;
};

// A host may take deadlines.host, 30 s unless the spec says otherwise.
constexpr absl::Duration kDescribeTimeout = absl::Seconds(75);

class DescribeCommand final : public Request {
 public:
  DescribeCommand() : Request("describe") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "HOST", "", host_, "Name of the host, e.g. node07")
        ->required();
    AddOutput(app, "says nothing of one host");
    AddTimeout(app, kDescribeTimeout);
  }

 private:
  void ReadOptions() override {
    if (host_.empty() || host_.find_first_of("[],@ ") != std::string::npos) {
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
