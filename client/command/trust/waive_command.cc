// clusterctl waive, maintenance, unwaive and waivers: failures that are
// accepted until a given time, and hosts that are out of service until then.
#include <memory>
#include <string>

#include "client/command/request.h"
#include "config/words/quoted_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

// Begins with the id that unwaive takes.
std::string WaiverLine(const Waiver& waiver) {
  return Say("waiver-line", waiver.id().empty() ? "cluster.yaml" : waiver.id(),
             WaivedWords(waiver), WaiverWords(waiver));
}

// Commands waive and maintenance. The latter has no rule and no devices.
class WaiveCommand final : public OneCall<WaiveRequest, WaiverResponse> {
 public:
  explicit WaiveCommand(bool is_maintenance)
      : OneCall(is_maintenance ? kMaintenanceRule : "waive",
                &Controller::Stub::Waive),
        is_maintenance_(is_maintenance) {}

  void AddOptions(CLI::App& app) override {
    if (!is_maintenance_) {
      AddArgument(app, "RULE", *asked_.mutable_rule());
    }
    AddArgument(app, "HOSTS", *asked_.mutable_hosts());
    if (!is_maintenance_) {
      AddOption(app, "--devices", "IDS", *asked_.mutable_devices());
    }
    AddOption(app, "--until", "TIME", *asked_.mutable_until())->required();
    AddOption(app, "--reason", "TEXT", *asked_.mutable_reason())->required();
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    if (is_maintenance_) asked_.set_rule(kMaintenanceRule);
  }
  std::string Short() const override { return WaiverLine(answer_.waiver()); }

  const bool is_maintenance_;
};

class UnwaiveCommand final : public OneCall<EndWaiverRequest, WaiverResponse> {
 public:
  UnwaiveCommand() : OneCall("unwaive", &Controller::Stub::EndWaiver) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "ID", *asked_.mutable_id());
    Request::AddOptions(app);
  }

 private:
  std::string Short() const override {
    return Say("waiver-ended", WaiverLine(answer_.waiver()));
  }
};

class WaiversCommand final
    : public OneCall<ListWaiversRequest, ListWaiversResponse> {
 public:
  WaiversCommand() : OneCall("waivers", &Controller::Stub::ListWaivers) {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app, "ctl-not-of-a-list");
    AddTimeout(app, kShortTimeout);
  }

 private:
  absl::string_view StateOf(const Waiver& waiver) const {
    const absl::Time now = absl::FromUnixMillis(answer_.now_ms());
    if (IsInForce(waiver, now)) return "waivers-in-force";
    return waiver.until_ms() <= answer_.now_ms() ? "waivers-ended"
                                                 : "waivers-too-long";
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    for (const Waiver& waiver : answer_.waivers()) {
      out << SafeText(Say(StateOf(waiver), WaiverLine(waiver)), style.utf8)
          << "\n";
    }
    if (answer_.waivers().empty()) out << Say("waivers-none") << "\n";
  }
};

}  // namespace

void AddWaiverCommands(CommandList& commands) {
  commands.push_back(std::make_unique<WaiveCommand>(false));
  commands.push_back(std::make_unique<WaiveCommand>(true));
  commands.push_back(std::make_unique<WaiversCommand>());
  commands.push_back(std::make_unique<UnwaiveCommand>());
}

}  // namespace clusterd
