#include "config/words/fact_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/values/change_kind.h"
#include "config/values/number_list.h"
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

Lines OrNone(Lines lines, const char* none) {
  if (lines.empty()) lines.emplace_back(none);
  return lines;
}

// A line for each item.
template <typename Items, typename LineOf>
Lines Listed(const Items& items, const char* none, const LineOf& line_of) {
  return OrNone(Each<std::string>(items, line_of), none);
}

Lines Describe(const DeviceAddressFact::Settings& value) {
  return Listed(value.settings(), "none set", [](const Ipv4Setting& setting) {
    return absl::StrCat(setting.address(), ", netmask ", setting.netmask());
  });
}

Lines Describe(const DeviceIdsFact::Ids& value) {
  const std::string devices =
      DevicesText({value.ids().begin(), value.ids().end()});
  return {
      absl::StrCat(devices.empty() ? "none" : devices, " (", value.source(),
                   ")", value.npu_ids().empty() ? "" : ", NPU IDs of npu-smi ",
                   value.npu_ids().empty()
                       ? ""
                       : FoldIds(std::vector<uint32_t>(
                             value.npu_ids().begin(), value.npu_ids().end())))};
}

Lines Describe(const LldpNeighbour& value) {
  if (!value.heard()) return {"no neighbour heard"};
  const std::string text =
      JoinParts(", ", {Part("system ", value.system_name()),
                       Part("port ", value.port_id()),
                       Part("chassis ", value.chassis_id()),
                       Part("management address ", value.management_address()),
                       value.peer() == LldpNeighbour::SWITCH ? "a switch" : "",
                       value.peer() == LldpNeighbour::NPU ? "another NPU" : "",
                       value.truncated() ? "answer cut by the tool" : ""});
  return {text.empty() ? "a neighbour without name" : text};
}

Lines Describe(const TlsFact::Switch& value) {
  return {
      absl::StrCat(value.enabled() ? "on" : "off", " (", value.source(), ")")};
}

Lines Describe(const HccnConf& value) {
  Lines lines;
  for (const HccnConf::Problem& problem : value.problems()) {
    lines.push_back(absl::StrCat(
        problem.line() == 0 ? "" : absl::StrCat("line ", problem.line(), ": "),
        ProblemWords(problem.kind()), Part(": ", problem.text())));
  }
  for (const HccnConf::Entry& entry : value.entries()) {
    lines.push_back(absl::StrCat(
        "line ", entry.line(), ": ", entry.key(),
        entry.has_device() ? absl::StrCat("_", entry.device()) : "", "=",
        entry.value()));
  }
  lines.push_back(absl::StrFormat("mode %04o", value.mode()));
  return lines;
}

Lines Describe(const PersistentValue& value) {
  Lines lines;
  for (const PersistentValue::Assignment& assignment : value.assignments()) {
    lines.push_back(absl::StrCat(assignment.value(), " (", assignment.file(),
                                 ":", assignment.line(), ")"));
  }
  if (lines.size() > 1) absl::StrAppend(&lines.back(), " wins");
  return OrNone(std::move(lines), "set by no file");
}

Lines Describe(const SocketsFact::Sockets& value) {
  return Listed(
      value.sockets(), "none in the HCCL range", [](const BoundSocket& socket) {
        return absl::StrCat(
            socket.protocol(), " ", socket.address(), " port ", socket.port(),
            " ", socket.state(), socket.state().empty() ? "" : " ",
            socket.pid() == 0
                ? "owner not visible"
                : absl::StrCat("pid ", socket.pid(), " ", socket.command()),
            socket.count() > 1 ? absl::StrCat(", ", socket.count(), " of them")
                               : "");
      });
}

Lines Describe(const NpuProcessesFact::Processes& value) {
  return Listed(value.processes(), "none", [](const NpuProcess& process) {
    return absl::StrCat(
        "pid ", process.pid(), " ", process.command(), " uses ",
        DevicesText({process.devices().begin(), process.devices().end()}));
  });
}

Lines Describe(const DriftFact::Drifts& value) {
  Lines lines;
  if (!value.unfinished().empty()) lines.push_back(value.unfinished());
  for (const AppliedDrift& drift : value.drifts()) {
    lines.push_back(DriftText(drift));
  }
  for (const AppliedDrift& drift : value.untold()) {
    lines.push_back(absl::StrCat("not judged: ", DriftText(drift)));
  }
  if (value.left_out() > 0) {
    lines.push_back(absl::StrCat(value.left_out(), " more not listed"));
  }
  return OrNone(std::move(lines), "none");
}

Lines Describe(const AllowedFact::Allowed& value) {
  return Listed(value.ports(), "none", [](const AllowedPort& port) {
    return absl::StrCat(port.first_port(),
                        port.last_port() == port.first_port()
                            ? ""
                            : absl::StrCat("-", port.last_port()),
                        Part("/", port.protocol()),
                        Part(" from ", port.source()));
  });
}

Lines Describe(const DropRulesFact::Rules& value) {
  return Listed(value.rules(), "none",
                [](const DropRule& rule) { return rule.text(); });
}

Lines Describe(const ChipHealth& value) {
  const std::string health = ChipHealth::Health_Name(value.health());
  return {JoinParts(
      ", ",
      {Words(health), Part("codes ", absl::StrJoin(value.error_codes(), " ")),
       value.information()})};
}

Lines Describe(const MemoryErrors& value) {
  return {absl::StrCat(value.double_bit(), " double bit errors, ",
                       value.isolated_pages(), " pages isolated, ",
                       value.next_isolated_pages(), " to come")};
}

Lines Describe(const HccsLinks& value) {
  return {absl::StrCat(value.ok() ? "ok" : "not ok",
                       Part(", lanes ", absl::StrJoin(value.lanes(), " ")))};
}

Lines Describe(const SuperPodPlace& value) {
  return {absl::StrCat("SDID ", value.sdid(), ", super pod ",
                       value.super_pod_id(), " of size ", value.size(),
                       ", server index ", value.server_index())};
}

Lines Describe(const VnicFact::Vnic& value) {
  return {JoinParts(
      ", ", {value.up() ? "up" : "down", Part("", value.setting().address()),
             Part("netmask ", value.setting().netmask())})};
}

Lines Describe(const OpticalFact::Module& value) {
  if (!value.present()) return {"no module"};
  return Listed(value.alarms(), "a module without alarm",
                [](const OpticalAlarm& alarm) {
                  return absl::StrCat(alarm.name(), " ", alarm.value(),
                                      Part(", limits ", alarm.limits()));
                });
}

Lines Describe(const LinkHistoryFact::History& value) {
  Lines lines = {absl::StrCat("up ", Count(value.ups(), "time"))};
  if (value.has_downs()) {
    absl::StrAppend(&lines[0], ", down ", Count(value.downs(), "time"));
  }
  for (const auto& change : value.changes()) {
    lines.push_back(absl::StrCat(
        change.up() ? "up " : "down ",
        DurationText(absl::Seconds(change.seconds_ago())), " ago"));
  }
  return lines;
}

Lines Describe(const InterfacesFact::Interfaces& value) {
  return Listed(value.interfaces(), "none has an IPv4 address",
                [](const HostInterface& each) {
                  return absl::StrCat(each.name(), " ",
                                      absl::StrJoin(each.addresses(), " "),
                                      each.up() ? "" : ", link down");
                });
}

Lines Describe(const AddressesFact::Addresses& value) {
  return OrNone({value.addresses().begin(), value.addresses().end()},
                "resolves to no address");
}

Lines Describe(const EnvironmentFact::Variables& value) {
  return Listed(value.variables(), "no variable of HCCL set for every login",
                [](const EnvironmentVariable& each) {
                  return absl::StrCat(each.name(), "=", each.value(), " (",
                                      each.file(), ":", each.line(), ")");
                });
}

Lines Describe(const CounterRisesFact::Rises& value) {
  if (!value.has_seconds()) {
    return {absl::StrCat("not compared: ", value.not_compared())};
  }
  Lines lines = Listed(
      value.rises(), "no error counter rose", [](const CounterRise& each) {
        return absl::StrCat(each.name(), " rose by ", each.rise());
      });
  absl::StrAppend(&lines[0], " in ",
                  DurationText(absl::Seconds(value.seconds())));
  return lines;
}

Lines Describe(const OpenFilesFact::Limits& value) {
  return Listed(value.limits(), "no known program that starts jobs runs",
                [](const OpenFilesLimit& each) {
                  return absl::StrCat(each.program(), " (pid ", each.pid(),
                                      ") ", LimitText(each.soft()),
                                      ", at most ", LimitText(each.hard()));
                });
}

Lines Describe(const ClockFact::Clock& value) {
  return {absl::StrCat("between ", value.ahead_at_least_ms(), " and ",
                       value.ahead_at_most_ms(),
                       " ms ahead of the controller's")};
}

Lines Describe(const RootsFact::Roots& value) {
  return {absl::StrCat(absl::StrJoin(value.hashes(), " "), ", of bundle ",
                       value.bundle())};
}

Lines Describe(const ZonesFact::Zones& value) {
  return Listed(value.zones(), "none with interfaces",
                [](const FirewallZone& zone) {
                  return absl::StrCat(zone.name(), ": ",
                                      absl::StrJoin(zone.interfaces(), " "));
                });
}

Lines Describe(const SshFact::Ssh& value) {
  Lines lines;
  for (const SshServer& server : value.servers()) {
    const std::string listens =
        server.command().empty()
            ? "no process listens"
            : absl::StrCat(server.command(), " (pid ", server.pid(),
                           ") listens", server.answers() ? " and answers" : "");
    lines.push_back(absl::StrCat("port ", server.port(), ": ", listens));
  }
  int working = 0;
  for (const SshLogin& login : value.logins()) {
    if (login.works()) {
      ++working;
      continue;
    }
    lines.push_back(absl::StrCat("to ", login.host(), " port ", login.port(),
                                 ": ", login.error()));
  }
  lines.push_back(absl::StrCat(working, " of ",
                               Count(value.logins_size(), "login"), " as ",
                               value.user(), " work"));
  if (value.not_exported_size() > 0) {
    lines.push_back(absl::StrCat("not exported: ",
                                 absl::StrJoin(value.not_exported(), " ")));
  }
  return lines;
}

Lines Describe(const DeviceOwnersFact::Owners& value) {
  return Listed(
      value.owners(), "no container owns a device",
      [](const DeviceOwner& owner) {
        return absl::StrCat(
            "pid ", owner.pid(), Part(" ", owner.command()),
            Part(", container ", owner.identity()), " owns ",
            DevicesText({owner.devices().begin(), owner.devices().end()}),
            owner.privileged() ? ", with every capability" : "",
            owner.uses_device() ? ", in use" : ", not in use");
      });
}

Lines Describe(const HostMemoryFact::Memory& value) {
  Lines lines = {absl::StrCat(value.total_bytes() >> 20, " MiB, ",
                              value.available_bytes() >> 20, " MiB available")};
  for (const MemoryLimit& limit : value.limits()) {
    lines.push_back(
        absl::StrCat(limit.slice(), " may use ", limit.bytes() >> 20, " MiB"));
  }
  for (const OutOfMemory& kill : value.kills()) {
    lines.push_back(
        absl::StrCat("the kernel killed pid ", kill.pid(), " (", kill.command(),
                     ") for lack of memory ",
                     DurationText(absl::Seconds(kill.seconds_ago())), " ago"));
  }
  return lines;
}

Lines Describe(const PeerNamesFact::Names& value) {
  return Listed(value.names(), "no peer was looked up",
                [](const NameOfPeer& peer) {
                  return absl::StrCat(
                      peer.address(),
                      peer.answered() ? ": answer after " : ": no answer in ",
                      peer.elapsed_ms(), " ms");
                });
}

Lines Describe(const PathsFact::Paths& value) {
  return OrNone({value.paths().begin(), value.paths().end()}, "none");
}

Lines Describe(const PythonFact::Python& value) {
  Lines lines = {absl::StrCat("Python ", value.version())};
  for (const PythonPackage& package : value.packages()) {
    lines.push_back(absl::StrCat(package.name(), " ", package.version()));
  }
  return lines;
}

Lines Describe(const DeviceMemory& value) {
  return {absl::StrCat(
      value.used_mb(), " of ", value.total_mb(), " MB used, ",
      value.pids().empty()
          ? "by no process"
          : absl::StrCat("by pid ", absl::StrJoin(value.pids(), " ")))};
}

// Tries one type after the other; protobuf prints one of a newer .proto.
template <typename... Types>
Lines DescribeAs(const Message& value) {
  Lines lines;
  const auto describe = [&](const auto* typed) {
    if (typed != nullptr) lines = Describe(*typed);
  };
  (describe(DynamicCastToGenerated<const Types>(&value)), ...);
  return OrNone(std::move(lines), value.ShortDebugString().c_str());
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
      return {text.empty() ? "none" : text};
    }
    case FieldDescriptor::CPPTYPE_UINT64:
      return {absl::StrCat(reflection.GetUInt64(fact, &field))};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {reflection.GetBool(fact, &field) ? "yes" : "no"};
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
  return now.empty() ? Worded("plan-say-lacks", fact, was)
                     : Worded("plan-say-drifted", fact, now, was);
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
    return Worded("plan-say-allow-correct", allows.mistake());
  }
  const std::string line = AllowLine(kinds);
  return allows.file().empty()
             ? Worded("plan-say-allow-start", line)
             : Worded("plan-say-allow-put", line, allows.file());
}

std::string DriftText(const AppliedDrift& drift) {
  FindingValue what =
      ToFindingValue(drift.why().empty() ? drift.change() : drift.why());
  if (!drift.fact().empty()) {
    what = DriftWords(drift.fact(), drift.now(), drift.was());
  }
  return Say(
      drift.applied_by().empty() ? "plan-say-of-apply" : "plan-say-of-apply-by",
      what, drift.apply_id(), ActorName(drift.applied_by()));
}

std::string ProblemWords(HccnConf::Problem::Kind kind) {
  return Words(HccnConf::Problem::Kind_Name(kind));
}

std::string EnumWords(const EnumValueDescriptor& value) {
  return Words(value.name());
}

}  // namespace clusterd
