#include "config/words/fact_text.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "config/values/change_kind.h"
#include "config/values/number_list.h"
#include "config/values/setting.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DynamicCastToGenerated;
using ::google::protobuf::EnumValueDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using Lines = std::vector<std::string>;

// "NET_HEALTH_SOCKET_FAIL" of enum NetHealth, or "TIMED_OUT", for people.
std::string Words(const std::string& name) {
  return absl::AsciiStrToLower(
      absl::StrReplaceAll(name, {{"NET_HEALTH_", ""}, {"_", " "}}));
}

// The row `none` is said of no line.
Lines OrNone(Lines lines, absl::string_view none) {
  if (lines.empty()) lines.push_back(Say(none));
  return lines;
}

// A line for each item.
template <typename Items, typename LineOf>
Lines Listed(const Items& items, absl::string_view none,
             const LineOf& line_of) {
  return OrNone(Each<std::string>(items, line_of), none);
}

Lines Describe(const DeviceAddressFact::Settings& value) {
  return Listed(
      value.settings(), "is-none-set", [](const Ipv4Setting& setting) {
        return JoinParts(
            ", ", {setting.address(), Say("is-netmask", setting.netmask())});
      });
}

Lines Describe(const DeviceIdsFact::Ids& value) {
  const std::string devices =
      DevicesText({value.ids().begin(), value.ids().end()});
  const std::vector<uint32_t> npu_ids(value.npu_ids().begin(),
                                      value.npu_ids().end());
  return {JoinParts(
      ", ", {Say("is-from", devices.empty() ? Say("is-none") : devices,
                 value.source()),
             npu_ids.empty() ? "" : Say("is-npu-ids", FoldIds(npu_ids))})};
}

Lines Describe(const LldpNeighbour& value) {
  if (!value.heard()) return {Say("is-no-neighbour")};
  std::string text = JoinParts(
      ", ", {SayPart("is-system", value.system_name()),
             SayPart("is-port", value.port_id()),
             SayPart("is-chassis", value.chassis_id()),
             SayPart("is-management-address", value.management_address()),
             value.peer() == LldpNeighbour::SWITCH ? Say("is-switch") : "",
             value.peer() == LldpNeighbour::NPU ? Say("is-other-npu") : "",
             value.truncated() ? Say("is-cut-by-tool") : ""});
  return OrNone(text.empty() ? Lines() : Lines{std::move(text)},
                "is-nameless-neighbour");
}

Lines Describe(const TlsFact::Switch& value) {
  return {Say("is-from", Say(value.enabled() ? "is-on" : "is-off"),
              value.source())};
}

Lines Describe(const HccnConf& value) {
  Lines lines;
  for (const HccnConf::Problem& problem : value.problems()) {
    lines.push_back(JoinParts(
        ": ", {problem.line() == 0 ? "" : Say("is-line", problem.line()),
               ValueText(Term(ProblemWords(problem.kind()))), problem.text()}));
  }
  for (const HccnConf::Entry& entry : value.entries()) {
    lines.push_back(JoinParts(
        ": ", {Say("is-line", entry.line()),
               absl::StrCat(
                   entry.key(),
                   entry.has_device() ? absl::StrCat("_", entry.device()) : "",
                   "=", entry.value())}));
  }
  lines.push_back(Say("is-mode", absl::StrFormat("%04o", value.mode())));
  return lines;
}

Lines Describe(const PersistentValue& value) {
  Lines lines;
  for (const PersistentValue::Assignment& assignment : value.assignments()) {
    lines.push_back(
        Say("is-from", assignment.value(),
            absl::StrCat(assignment.file(), ":", assignment.line())));
  }
  if (lines.size() > 1) lines.back() = Say("is-winner", lines.back());
  return OrNone(std::move(lines), "is-set-by-no-file");
}

Lines Describe(const SocketsFact::Sockets& value) {
  return Listed(value.sockets(), "is-no-socket", [](const BoundSocket& socket) {
    const std::string text =
        Say("is-socket", absl::StrCat(socket.protocol(), " ", socket.address()),
            socket.port(), Part(" ", socket.state()),
            socket.pid() == 0
                ? Say("is-owner-hidden")
                : absl::StrCat("pid ", socket.pid(), " ", socket.command()));
    return socket.count() > 1 ? Say("is-several", text, socket.count()) : text;
  });
}

Lines Describe(const NpuProcessesFact::Processes& value) {
  return Listed(value.processes(), "is-none", [](const NpuProcess& process) {
    return Say(
        "is-npu-process", process.pid(), process.command(),
        DevicesText({process.devices().begin(), process.devices().end()}));
  });
}

Lines Describe(const DriftFact::Drifts& value) {
  Lines lines;
  if (!value.unfinished().empty()) {
    lines.push_back(value.has_unfinished_words()
                        ? ValueText(value.unfinished_words())
                        : value.unfinished());
  }
  for (const AppliedDrift& drift : value.drifts()) {
    lines.push_back(DriftText(drift));
  }
  for (const AppliedDrift& drift : value.unknown()) {
    lines.push_back(Say("is-not-judged", DriftText(drift)));
  }
  if (value.left_out() > 0) {
    lines.push_back(Say("is-more-not-listed", value.left_out()));
  }
  return OrNone(std::move(lines), "is-none");
}

Lines Describe(const AllowedFact::Allowed& value) {
  return Listed(value.ports(), "is-none", [](const AllowedPort& port) {
    const std::string ports =
        absl::StrCat(port.first_port(),
                     port.last_port() == port.first_port()
                         ? ""
                         : absl::StrCat("-", port.last_port()),
                     Part("/", port.protocol()));
    return port.source().empty() ? ports
                                 : Say("is-allowed", ports, port.source());
  });
}

Lines Describe(const DropRulesFact::Rules& value) {
  return Listed(value.rules(), "is-none",
                [](const DropRule& rule) { return rule.text(); });
}

Lines Describe(const ChipHealth& value) {
  const std::string health = ChipHealth::Health_Name(value.health());
  return {JoinParts(
      ", ", {ValueText(Term(Words(health))),
             SayPart("is-codes", absl::StrJoin(value.error_codes(), " ")),
             value.information()})};
}

Lines Describe(const MemoryErrors& value) {
  return {Say("is-memory-errors", value.double_bit(), value.isolated_pages(),
              value.next_isolated_pages())};
}

Lines Describe(const HccsLinks& value) {
  return {JoinParts(", ",
                    {Say(value.ok() ? "is-ok" : "is-not-ok"),
                     SayPart("is-lanes", absl::StrJoin(value.lanes(), " "))})};
}

Lines Describe(const SuperPodPlace& value) {
  return {Say("is-in-super-pod", value.sdid(), value.super_pod_id(),
              value.size(), value.server_index())};
}

Lines Describe(const VnicFact::Vnic& value) {
  return {
      JoinParts(", ", {value.up() ? "up" : "down", value.setting().address(),
                       SayPart("is-netmask", value.setting().netmask())})};
}

Lines Describe(const OpticalFact::Module& value) {
  if (!value.present()) return {Say("is-no-module")};
  return Listed(
      value.alarms(), "is-module-without-alarm", [](const OpticalAlarm& alarm) {
        return JoinParts(", ", {absl::StrCat(alarm.name(), " ", alarm.value()),
                                SayPart("is-limits", alarm.limits())});
      });
}

Lines Describe(const LinkHistoryFact::History& value) {
  Lines lines = {JoinParts(
      ", ",
      {Say("is-times", "up", Count(value.ups(), "time")),
       value.has_downs() ? Say("is-times", "down", Count(value.downs(), "time"))
                         : ""})};
  for (const auto& change : value.changes()) {
    lines.push_back(Say("is-ago", change.up() ? "up" : "down",
                        DurationText(absl::Seconds(change.seconds_ago()))));
  }
  return lines;
}

Lines Describe(const InterfacesFact::Interfaces& value) {
  return Listed(value.interfaces(), "is-no-interface",
                [](const HostInterface& each) {
                  return JoinParts(
                      ", ", {absl::StrCat(each.name(), " ",
                                          absl::StrJoin(each.addresses(), " ")),
                             each.up() ? "" : Say("is-link-down")});
                });
}

Lines Describe(const AddressesFact::Addresses& value) {
  return OrNone({value.addresses().begin(), value.addresses().end()},
                "is-no-address");
}

Lines Describe(const EnvironmentFact::Variables& value) {
  return Listed(
      value.variables(), "is-no-variable", [](const EnvironmentVariable& each) {
        return Say("is-from", absl::StrCat(each.name(), "=", each.value()),
                   absl::StrCat(each.file(), ":", each.line()));
      });
}

Lines Describe(const CounterRisesFact::Rises& value) {
  if (!value.has_seconds()) {
    return {Say("is-not-compared", value.has_not_compared_words()
                                       ? value.not_compared_words()
                                       : ToFindingValue(value.not_compared()))};
  }
  Lines lines =
      Listed(value.rises(), "is-no-rise", [](const CounterRise& each) {
        return Say("is-risen", each.name(), each.rise());
      });
  lines[0] =
      Say("is-within", lines[0], DurationText(absl::Seconds(value.seconds())));
  return lines;
}

Lines Describe(const OpenFilesFact::Limits& value) {
  return Listed(value.limits(), "is-no-launcher",
                [](const OpenFilesLimit& each) {
                  return Say("is-limit", each.program(), each.pid(),
                             LimitText(each.soft()), LimitText(each.hard()));
                });
}

Lines Describe(const ClockFact::Clock& value) {
  return {Say("is-ahead", value.ahead_at_least_ms(), value.ahead_at_most_ms())};
}

Lines Describe(const RootsFact::Roots& value) {
  return {
      Say("is-of-bundle", absl::StrJoin(value.hashes(), " "), value.bundle())};
}

Lines Describe(const ZonesFact::Zones& value) {
  return Listed(value.zones(), "is-no-zone", [](const FirewallZone& zone) {
    return JoinParts(": ",
                     {zone.name(), absl::StrJoin(zone.interfaces(), " ")});
  });
}

Lines Describe(const SshFact::Ssh& value) {
  Lines lines;
  for (const SshServer& server : value.servers()) {
    lines.push_back(
        server.command().empty()
            ? Say("is-no-listener", server.port())
            : Say(server.answers() ? "is-answering" : "is-listening",
                  server.port(), server.command(), server.pid()));
  }
  int working = 0;
  for (const SshLogin& login : value.logins()) {
    if (login.works()) {
      ++working;
      continue;
    }
    lines.push_back(Say("is-login", login.host(), login.port(), login.error()));
  }
  lines.push_back(Say("is-logins", working, Count(value.logins_size(), "login"),
                      value.user()));
  if (value.not_exported_size() > 0) {
    lines.push_back(
        Say("is-not-exported", absl::StrJoin(value.not_exported(), " ")));
  }
  return lines;
}

Lines Describe(const DeviceOwnersFact::Owners& value) {
  return Listed(value.owners(), "is-no-owner", [](const DeviceOwner& owner) {
    return JoinParts(
        ", ",
        {Say("is-owner",
             JoinParts(", ", {absl::StrCat("pid ", owner.pid(),
                                           Part(" ", owner.command())),
                              SayPart("is-of-container", owner.identity())}),
             DevicesText({owner.devices().begin(), owner.devices().end()})),
         owner.privileged() ? Say("is-privileged") : "",
         Say(owner.uses_device() ? "is-in-use" : "is-not-in-use")});
  });
}

Lines Describe(const HostMemoryFact::Memory& value) {
  Lines lines = {Say("is-memory", value.total_bytes() >> 20,
                     value.available_bytes() >> 20)};
  for (const MemoryLimit& limit : value.limits()) {
    lines.push_back(Say("is-memory-limit", limit.slice(), limit.bytes() >> 20));
  }
  for (const OutOfMemory& kill : value.kills()) {
    lines.push_back(Say("is-killed", kill.pid(), kill.command(),
                        DurationText(absl::Seconds(kill.seconds_ago()))));
  }
  return lines;
}

Lines Describe(const PeerNamesFact::Names& value) {
  return Listed(value.names(), "is-no-peer", [](const NameOfPeer& peer) {
    return Say(peer.answered() ? "is-answer-after" : "is-no-answer-in",
               peer.address(), peer.elapsed_ms());
  });
}

Lines Describe(const PathsFact::Paths& value) {
  return OrNone({value.paths().begin(), value.paths().end()}, "is-none");
}

Lines Describe(const PythonFact::Python& value) {
  Lines lines = {absl::StrCat("Python ", value.version())};
  for (const PythonPackage& package : value.packages()) {
    lines.push_back(absl::StrCat(package.name(), " ", package.version()));
  }
  return lines;
}

Lines Describe(const DeviceMemory& value) {
  return {Say("is-used", value.used_mb(), value.total_mb(),
              value.pids().empty()
                  ? Say("is-by-no-process")
                  : Say("is-by-process", absl::StrJoin(value.pids(), " ")))};
}

// Tries one type after the other; protobuf prints one of a newer .proto.
template <typename... Types>
Lines DescribeAs(const Message& value) {
  Lines lines;
  const auto describe = [&](const auto* typed) {
    if (typed != nullptr) lines = Describe(*typed);
  };
  (describe(DynamicCastToGenerated<const Types>(&value)), ...);
  return lines.empty() ? Lines{value.ShortDebugString()} : lines;
}

Lines DescribeMessage(const Message& value) {
  return DescribeAs<
      DeviceAddressFact::Settings, DeviceIdsFact::Ids, LldpNeighbour,
      TlsFact::Switch, HccnConf, PersistentValue, SocketsFact::Sockets,
      AllowedFact::Allowed, DriftFact::Drifts, DropRulesFact::Rules,
      NpuProcessesFact::Processes, ChipHealth, MemoryErrors, HccsLinks,
      SuperPodPlace, VnicFact::Vnic, OpticalFact::Module,
      LinkHistoryFact::History, InterfacesFact::Interfaces,
      AddressesFact::Addresses, EnvironmentFact::Variables, ClockFact::Clock,
      ZonesFact::Zones, OpenFilesFact::Limits, CounterRisesFact::Rises,
      SshFact::Ssh, RootsFact::Roots, DeviceOwnersFact::Owners,
      HostMemoryFact::Memory, PeerNamesFact::Names, PathsFact::Paths,
      PythonFact::Python, DeviceMemory>(value);
}

Lines DescribeValue(const Message& fact, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *fact.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = reflection.GetString(fact, &field);
      return {text.empty() ? Say("is-none") : text};
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return {absl::StrCat(reflection.GetUInt64(fact, &field))};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {Say(reflection.GetBool(fact, &field) ? "is-yes" : "is-no")};
    case FieldDescriptor::CPPTYPE_ENUM:
      return {EnumWords(*reflection.GetEnum(fact, &field))};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return DescribeMessage(reflection.GetMessage(fact, &field));
    default:
      return {fact.ShortDebugString()};
  }
}

}  // namespace

std::string WhyMissing(const Missing* missing) {
  return ValueText(MissingWords(missing));
}

const DeviceFacts* FindDevice(const HostFacts& host, uint32_t id) {
  return FirstWith(host.devices(), &DeviceFacts::id, id);
}

const HostInterface* FindInterface(const HostFacts& facts,
                                   absl::string_view address) {
  for (const HostInterface& each : facts.interfaces().value().interfaces()) {
    if (absl::c_linear_search(each.addresses(), address)) return &each;
  }
  return nullptr;
}

absl::StatusOr<const FirewallZone*> FindOtherZone(const HostFacts& facts,
                                                  absl::string_view address) {
  const ZonesFact& zones = facts.firewalld().other_zones();
  if (!zones.has_value()) {
    return UnavailableWords("value-no-zones");
  }
  if (zones.value().zones().empty()) return nullptr;
  if (!facts.interfaces().has_value()) {
    return UnavailableWords("value-no-interfaces");
  }
  const HostInterface* const interface = FindInterface(facts, address);
  if (interface == nullptr) {
    return NotFoundWords("value-no-interface-of", address);
  }
  for (const FirewallZone& zone : zones.value().zones()) {
    for (absl::string_view pattern : zone.interfaces()) {
      // "br-+" is every interface whose name begins with "br-"
      // (firewall-cmd(1)).
      const bool named = absl::ConsumeSuffix(&pattern, "+")
                             ? absl::StartsWith(interface->name(), pattern)
                             : interface->name() == pattern;
      if (named) return &zone;
    }
  }
  return nullptr;
}

bool IsFact(const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
  const Descriptor& type = *field.message_type();
  const FieldDescriptor* missing = type.FindFieldByName("missing");
  return type.FindOneofByName("state") != nullptr && missing != nullptr &&
         missing->message_type() == Missing::descriptor();
}

FactText DescribeFact(const Message& fact) {
  const Descriptor& type = *fact.GetDescriptor();
  const FieldDescriptor* set = fact.GetReflection()->GetOneofFieldDescriptor(
      fact, type.FindOneofByName("state"));
  if (set == nullptr) return {false, {WhyMissing(nullptr)}};
  if (set->name() != "missing") return {true, DescribeValue(fact, *set)};
  const auto* missing = DynamicCastToGenerated<const Missing>(
      &fact.GetReflection()->GetMessage(fact, set));
  return {false, {Say("fact-missing", MissingWords(missing))}};
}

FindingValue DriftWords(absl::string_view fact, absl::string_view now,
                        absl::string_view was) {
  return now.empty()
             ? Worded("plan-say-lacks", Term(fact), Term(was))
             : Worded("plan-say-drifted", Term(fact), Term(now), Term(was));
}

FindingValue MistakeWords(const HostAllows& allows) {
  constexpr size_t kMaxMistakeBytes = 4000;
  const size_t bytes = allows.mistake_words().ByteSizeLong();
  return allows.has_mistake_words() && bytes <= kMaxMistakeBytes
             ? PrintableWords(allows.mistake_words())
             : ToFindingValue(
                   PrintableText(allows.mistake(), kMaxWordsTextBytes));
}

FindingValue WhatIsAllowed(const HostAllows& allows) {
  const std::string kinds = KindsText(AllowedKinds(allows));
  if (!allows.mistake().empty()) return Worded("plan-say-allows-until", kinds);
  return kinds.empty() ? Worded("plan-say-allows-nothing")
                       : Worded("plan-say-allows", kinds);
}

FindingValue HowToAllow(const HostAllows& allows,
                        const std::set<ChangeKind>& kinds) {
  if (!allows.mistake().empty()) {
    return Worded("plan-say-allow-correct", MistakeWords(allows));
  }
  const std::string line = AllowLine(kinds);
  return allows.file().empty()
             ? Worded("plan-say-allow-start", line)
             : Worded("plan-say-allow-put", line, allows.file());
}

std::string DriftText(const AppliedDrift& drift) {
  FindingValue what =
      ToFindingValue(drift.why().empty() ? drift.change() : drift.why());
  if (drift.has_fact()) {
    what = DriftWords(FactKeyText(drift.fact()), SettingText(drift.now()),
                      SettingText(drift.was()));
  }
  return Say(
      drift.applied_by().empty() ? "plan-say-of-apply" : "plan-say-of-apply-by",
      what, drift.apply_id(), ActorName(drift.applied_by()));
}

std::string ProblemWords(HccnConf::Problem::Kind kind) {
  return Words(HccnConf::Problem::Kind_Name(kind));
}

std::string EnumWords(const EnumValueDescriptor& value) {
  return ValueText(Term(Words(value.name())));
}

}  // namespace clusterd
