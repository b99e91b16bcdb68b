// clusterctl hosts: who is attached to the controller.
#include "client/command/request.h"
#include "client/print/hosts_table.h"

namespace clusterd {
namespace {

constexpr char kFooter[] = R"(States:
  attached      the host's clusterd is connected
  not attached  it is not; SINCE is when it was last seen
  not in spec   it is connected, and cluster.yaml does not name it
  conflict      another machine tried to connect under the same name

Drift: values that an apply set and that have moved since, as the host last saw
them. Nothing repairs them unless the spec says enforce and the host allows it;
check judges them.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage.)";

class HostsCommand final : public Request {
 public:
  HostsCommand()
      : Request({"hosts", "Show which hosts are attached, and since when",
                 kFooter}) {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, absl::Seconds(10));
  }

 private:
  absl::Status Ask(ControllerClient* client) override {
    return Take(client->Ask(&Controller::Stub::ListHosts, {}, timeout()),
                hosts_);
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
