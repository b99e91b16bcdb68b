// clusterctl hosts: who is attached to the controller.
#include "client/command/request.h"
#include "client/print/hosts_table.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

class HostsCommand final : public Request {
 public:
  HostsCommand() : Request("hosts") {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, absl::Seconds(10));
  }

 private:
  absl::Status Ask(ControllerClient* client) override {
    ASSIGN_OR_RETURN(hosts_,
                     client->Ask(&Controller::Stub::ListHosts, {}, timeout()));
    return absl::OkStatus();
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

}  // namespace

std::unique_ptr<Command> MakeHostsCommand() {
  return std::make_unique<HostsCommand>();
}

}  // namespace clusterd
