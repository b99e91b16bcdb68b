// clusterctl waive, maintenance, unwaive and waivers: failures that are
// accepted until a moment, and hosts that are out of service until then.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "config/rules/waiver_rules.h"
#include "config/spec/schedule_spec.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxDeviceId = 4095;

// With the id that unwaive takes, first.
std::string WaiverLine(const Waiver& waiver) {
  return absl::StrCat(waiver.id().empty() ? "cluster.yaml" : waiver.id(), ": ",
                      WaivedText(waiver), " ", WaiverText(waiver));
}

// Of waive, and of maintenance, which has no rule and no devices.
class WaiveCommand final : public ClusterRequest {
 public:
  explicit WaiveCommand(bool is_maintenance)
      : ClusterRequest(is_maintenance ? kMaintenanceRule : "waive",
                       kShortTimeout),
        is_maintenance_(is_maintenance) {
    if (is_maintenance) asked_for_.set_rule(kMaintenanceRule);
  }

  void AddOptions(CLI::App& app) override {
    if (!is_maintenance_) {
      AddOption(app, "RULE", "", *asked_for_.mutable_rule(),
                "The rule whose failures are accepted, e.g. link")
          ->required();
    }
    AddHosts(app, is_maintenance_ ? "take out of service" : "accept them on",
             "");
    if (!is_maintenance_) {
      AddOption(app, "--devices", "IDS", devices_,
                "Only these devices of the hosts, e.g. 0-3,7 (default: all, "
                "and the host itself)");
    }
    AddOption(app, "--until", "TIME", until_,
              "When it ends: UTC such as 2026-12-01T10:00Z, or from now, such "
              "as 2h or 30d; at most 90 days")
        ->required();
    AddOption(app, "--reason", "TEXT", *asked_for_.mutable_reason(),
              "Why, for whoever sees it; at most 200 bytes")
        ->required();
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    if (!devices_.empty()) {
      const auto ids = ParseIdList(devices_, kMaxDeviceId);
      if (ids.ok()) {
        asked_for_.mutable_devices()->Add(ids->begin(), ids->end());
      } else {
        AddMistake("--devices: ", ids.status().message());
      }
    }
    ReadUntil();
    FindMistakes();
    if (hosts_.hosts.empty() && hosts_.hostfile.empty() && !hosts_.all) {
      AddMistake("HOSTS: none is named, expected some or --all");
      return;
    }
    ClusterRequest::ReadOptions();
  }

  void ReadUntil() {
    static const LazyRE2 kDays = {R"((\d{1,4})d)"};
    absl::Duration from_now;
    int days = 0;
    if (HasForm(until_, *kDays, &days)) {
      from_now = absl::Hours(24 * days);
    } else if (!absl::ParseDuration(until_, &from_now)) {
      const auto moment = ParseUtcTime(until_);
      if (moment.ok())
        return asked_for_.set_until_ms(absl::ToUnixMillis(*moment));
      AddMistake("--until: ", moment.status().message(),
                 ", or a duration such as 2h or 30d");
      from_now = absl::Minutes(1);
    }
    // The controller's clock counts.
    asked_for_.set_for_ms(static_cast<uint64_t>(std::clamp<int64_t>(
        absl::ToInt64Milliseconds(from_now), 0, INT32_MAX * int64_t{1000})));
  }

  // Names what the controller would refuse, with all other mistakes.
  void FindMistakes() {
    const absl::Time now = session().now();
    Waiver waiver;
    waiver.set_rule(asked_for_.rule());
    waiver.set_reason(asked_for_.reason());
    waiver.set_until_ms(
        asked_for_.until_ms() != 0
            ? asked_for_.until_ms()
            : absl::ToUnixMillis(now +
                                 absl::Milliseconds(asked_for_.for_ms())));
    for (const std::string& mistake : WaiverMistakes(waiver, now)) {
      AddMistake(mistake);
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    for (const std::string& host : named_) asked_for_.add_hosts(host);
    ASSIGN_OR_RETURN(answer_, client->Ask(&Controller::Stub::Waive, asked_for_,
                                          TimeoutOr(kShortTimeout)));
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return answer_; }
  std::string Short(bool utf8) const override {
    return SafeText(WaiverLine(answer_.waiver()), utf8);
  }

  const bool is_maintenance_;
  WaiveRequest asked_for_;
  std::string devices_;
  std::string until_;
  WaiverResponse answer_;
};

class UnwaiveCommand final : public OneCall<EndWaiverRequest, WaiverResponse> {
 public:
  UnwaiveCommand() : OneCall("unwaive", &Controller::Stub::EndWaiver) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "ID", "", *asked_.mutable_id(),
              "Of the waiver, as clusterctl waivers shows it")
        ->required();
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  std::string Short(bool utf8) const override {
    return SafeText(absl::StrCat("ended ", WaiverLine(answer_.waiver())), utf8);
  }
};

class WaiversCommand final
    : public OneCall<ListWaiversRequest, ListWaiversResponse> {
 public:
  WaiversCommand() : OneCall("waivers", &Controller::Stub::ListWaivers) {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  absl::string_view StateOf(const Waiver& waiver) const {
    const absl::Time now = absl::FromUnixMillis(answer_.now_ms());
    if (IsInForce(waiver, now)) return "in force";
    return waiver.until_ms() <= answer_.now_ms() ? "ended" : "too long";
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    for (const Waiver& waiver : answer_.waivers()) {
      out << SafeText(
                 absl::StrCat(WaiverLine(waiver), " (", StateOf(waiver), ")"),
                 style.utf8)
          << "\n";
    }
    if (answer_.waivers().empty()) out << "nothing is waived\n";
  }

  std::string Short(bool /*utf8*/) const override {
    size_t in_force = 0;
    for (const Waiver& waiver : answer_.waivers()) {
      if (StateOf(waiver) == "in force") ++in_force;
    }
    return absl::StrCat(in_force, " in force, ",
                        answer_.waivers_size() - in_force, " not");
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
