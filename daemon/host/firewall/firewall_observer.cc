#include "daemon/host/firewall/firewall_observer.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr absl::string_view kUfw[] = {"/usr/sbin/ufw", "/sbin/ufw"};
constexpr absl::string_view kFirewallCmd[] = {"/usr/bin/firewall-cmd",
                                              "/bin/firewall-cmd"};
// Every backend: the default iptables-save, and both by name.
constexpr absl::string_view kIptablesSaves[] = {
    "/usr/sbin/iptables-save", "/usr/sbin/iptables-nft-save",
    "/usr/sbin/iptables-legacy-save"};
constexpr absl::string_view kNft[] = {"/usr/sbin/nft", "/sbin/nft"};
// Each service costs a command of about 0.2 s.
constexpr size_t kMaxServices = 16;
constexpr int kMaxZones = 16;
constexpr int kMaxDropRules = 64;
// Bounds iptables-save and nft: kube-proxy has five rules of some 200 bytes for
// each service, and a set of nft may hold an address list.
constexpr size_t kMaxRulesBytes = 16 << 20;

// A firewall's program.
class Program {
 public:
  Program(std::string path, const HostAccess& host,
          size_t max_bytes = kMaxStreamBytes)
      : path_(std::move(path)), host_(host), max_bytes_(max_bytes) {}

  // The codes of RunWithin.
  absl::StatusOr<CommandResult> Run(std::vector<std::string> arguments) const {
    const std::string name = Name(arguments);
    arguments.insert(arguments.begin(), path_);
    return RunWithin(*host_.budget, host_.runner, name, std::move(arguments),
                     max_bytes_);
  }

  // Returns the standard output of a run with status 0. For another status
  // PermissionDenied or Unavailable, quoting the program.
  absl::StatusOr<std::string> Read(
      const std::vector<std::string>& arguments) const {
    ASSIGN_OR_RETURN(CommandResult result, Run(arguments));
    if (result.exit_status == 0 && result.signal == 0) {
      return std::move(result.standard_output);
    }
    const std::string said =
        absl::StrCat(result.standard_error, result.standard_output);
    const FindingValue message =
        Worded("about", Name(arguments),
               Worded("fact-status-and", result.exit_status,
                      QuotedText(absl::StripAsciiWhitespace(said))));
    const bool denied = absl::StrContains(said, "need to be root") ||
                        absl::StrContains(said, "Permission denied") ||
                        absl::StrContains(said, "AUTHORIZATION_FAILED");
    return WithWords(
        denied ? absl::PermissionDeniedError("") : absl::UnavailableError(""),
        message);
  }

 private:
  std::string Name(const std::vector<std::string>& arguments) const {
    const absl::string_view name =
        absl::string_view(path_).substr(path_.rfind('/') + 1);
    return absl::StrCat("`", name, " ", absl::StrJoin(arguments, " "), "`");
  }

  const std::string path_;
  const HostAccess& host_;
  const size_t max_bytes_;
};

// Sets `installed` and, for an installed firewall, its start at boot and the
// state that `read_state` reads from the program.
FirewallFacts ReadInstalled(
    const HostAccess& host, absl::Span<const absl::string_view> candidates,
    absl::StatusOr<bool> (*read_at_boot)(const FileReader&),
    void (*read_state)(const Program&, FirewallFacts*)) {
  FirewallFacts facts;
  const absl::StatusOr<std::string> program =
      FindProgram(host.paths.root, candidates);
  const bool installed = !absl::IsNotFound(program.status());
  facts.mutable_installed()->set_value(installed);
  if (!installed) return facts;
  SetFact(read_at_boot(host.files()), facts.mutable_enabled_at_boot());
  if (program.ok()) {
    read_state(Program(*program, host), &facts);
  } else {
    SetMissing(MissingFor(program.status()), facts.mutable_active());
  }
  return facts;
}

void ReadUfwState(const Program& ufw, FirewallFacts* facts) {
  const absl::StatusOr<std::string> status = ufw.Read({"status", "verbose"});
  const absl::StatusOr<bool> active =
      status.ok() ? ParseUfwActive(*status) : status.status();
  SetFact(active, facts->mutable_active());
  if (active.ok() && *active) {
    SetFact(ParseUfwAllowed(*status), facts->mutable_allowed());
    SetMissing(Missing::NOT_SUPPORTED, Worded("fact-ufw-stores"),
               facts->mutable_allowed_permanently());
    SetMissing(Missing::NOT_SUPPORTED, Worded("fact-ufw-no-zones"),
               facts->mutable_other_zones());
  }
}

absl::StatusOr<bool> ReadUfwAtBoot(const FileReader& files) {
  ASSIGN_OR_RETURN(const FileText conf, files.Read("/etc/ufw/ufw.conf"));
  return ParseUfwConf(conf.text);
}

// Ordered by precedence, systemd.unit(5).
constexpr absl::string_view kUnitFolders[] = {
    "/etc/systemd/system", "/run/systemd/system",
    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system"};

bool IsLinkToNull(const FileReader& files, const std::string& path) {
  return files.ReadLink(path).value_or("") == "/dev/null";
}

// Returns whether systemd would start it at boot, from its files alone: works
// without a running systemd, and for a machine below a root folder. A target's
// .wants or .requires folder must link to the unit, which must exist unmasked.
// NotFound without any systemd folder.
absl::StatusOr<bool> ReadFirewalldAtBoot(const FileReader& files) {
  const std::string unit = "/firewalld.service";
  bool any_folder = false;
  bool wanted = false;
  // The first folder that has the unit decides.
  std::optional<bool> loadable;
  for (const absl::string_view folder : kUnitFolders) {
    const absl::StatusOr<std::vector<std::string>> names = files.List(folder);
    if (absl::IsNotFound(names.status())) continue;
    RETURN_IF_ERROR(names.status());
    any_folder = true;
    const std::string file = absl::StrCat(folder, unit);
    if (!loadable.has_value() && files.CheckExists(file).ok()) {
      loadable = !IsLinkToNull(files, file);
    }
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".wants") &&
          !absl::EndsWith(name, ".requires")) {
        continue;
      }
      const std::string link = absl::StrCat(folder, "/", name, unit);
      const absl::Status exists = files.CheckExists(link);
      if (absl::IsPermissionDenied(exists)) return exists;
      if (exists.ok() && !IsLinkToNull(files, link)) wanted = true;
    }
  }
  if (!any_folder) return NotFoundWords("fact-no-units");
  return wanted && loadable.value_or(false);
}

// Reads firewalld's running rules or, with `permanently`, those after a reload
// or reboot: zones and services of the two may differ.
class FirewalldRules {
 public:
  FirewalldRules(const Program& program, bool permanently)
      : program_(program), permanently_(permanently), zones_(ReadZones()) {}

  const absl::StatusOr<std::vector<FirewalldZone>>& zones() const {
    return zones_;
  }

  absl::StatusOr<AllowedFact::Allowed> AllowedIn(const std::string& name) {
    RETURN_IF_ERROR(zones_.status());
    ASSIGN_OR_RETURN(const FirewalldZone* const found,
                     FindFirewalldZone(*zones_, name));
    FirewalldZone base = *found;
    std::map<std::string, std::vector<AllowedPort>> ports;
    // Grows: a service may include others, as samba-client does netbios-ns.
    std::vector<std::string>& services = base.lists["services"];
    for (size_t i = 0; i < services.size(); ++i) {
      if (services.size() > kMaxServices) {
        return InvalidWords("fact-services-over", kMaxServices);
      }
      const std::string service = services[i];
      std::string& text = services_[service];
      if (text.empty()) {
        ASSIGN_OR_RETURN(text, Read(absl::StrCat("--info-service=", service)));
      }
      std::vector<std::string> included;
      ASSIGN_OR_RETURN(ports[service], ParseFirewalldService(text, &included));
      for (std::string& each : included) {
        if (!absl::c_linear_search(services, each)) {
          services.push_back(std::move(each));
        }
      }
    }
    return FirewalldAllowed(*zones_, base, ports);
  }

 private:
  absl::StatusOr<std::string> Read(const std::string& argument) const {
    return permanently_ ? program_.Read({"--permanent", argument})
                        : program_.Read({argument});
  }

  absl::StatusOr<std::vector<FirewalldZone>> ReadZones() const {
    ASSIGN_OR_RETURN(const std::string list, Read("--list-all-zones"));
    return ParseFirewalldZones(list);
  }

  const Program& program_;
  const bool permanently_;
  const absl::StatusOr<std::vector<FirewalldZone>> zones_;
  // Answers about the queried services.
  std::map<std::string, std::string> services_;
};

// Returns the other zones that have interfaces now, such as Docker's.
absl::StatusOr<ZonesFact::Zones> OtherZones(const std::string& default_zone,
                                            FirewalldRules* now,
                                            FirewalldRules* stored) {
  RETURN_IF_ERROR(now->zones().status());
  ZonesFact::Zones zones;
  for (const FirewalldZone& each : *now->zones()) {
    const std::vector<std::string>& interfaces = each.List("interfaces");
    if (each.name == default_zone || interfaces.empty()) continue;
    if (zones.zones_size() == kMaxZones) {
      return InvalidWords("fact-zones-over", kMaxZones);
    }
    FirewallZone* const zone = zones.add_zones();
    zone->set_name(PrintableText(each.name));
    for (const std::string& interface : interfaces) {
      zone->add_interfaces(PrintableText(interface));
    }
    SetFact(now->AllowedIn(each.name), zone->mutable_allowed());
    SetFact(stored->AllowedIn(each.name), zone->mutable_allowed_permanently());
  }
  return zones;
}

void ReadFirewalldState(const Program& program, FirewallFacts* facts) {
  const absl::StatusOr<CommandResult> state = program.Run({"--state"});
  const absl::StatusOr<bool> active =
      state.ok() ? ParseFirewalldState(*state) : state.status();
  SetFact(active, facts->mutable_active());
  if (!active.ok() || !*active) return;
  // One value for both: setting it changes the running and the stored zone.
  const absl::StatusOr<std::string> zone = program.Read({"--get-default-zone"});
  if (!zone.ok()) {
    return SetAllMissing(MissingFor(zone.status()), facts->mutable_allowed(),
                         facts->mutable_allowed_permanently(),
                         facts->mutable_other_zones());
  }
  const std::string name(absl::StripAsciiWhitespace(*zone));
  FirewalldRules now(program, false);
  FirewalldRules stored(program, true);
  SetFact(now.AllowedIn(name), facts->mutable_allowed());
  SetFact(stored.AllowedIn(name), facts->mutable_allowed_permanently());
  SetFact(OtherZones(name, &now, &stored), facts->mutable_other_zones());
}

// Returns one entry with all ports of the unlisted rules.
DropRule SumOf(const std::vector<DropRule>& rules) {
  DropRule sum;
  PortSet ports;
  PortSet surely;
  bool any = false;
  for (const DropRule& rule : rules) {
    const absl::StatusOr<PortSet> own = PortSet::Parse(rule.ports());
    any |= rule.ports().empty() || !own.ok();
    if (own.ok()) ports.Add(*own);
    surely.Add(PortSet::Parse(rule.surely_ports()).value_or(PortSet()));
  }
  sum.set_text(absl::StrCat(rules.size(), " more rules that may drop packets"));
  if (!any) sum.set_ports(ports.ToString());
  sum.set_surely_ports(surely.ToString());
  return sum;
}

// Returns whether this iptables-save, with output `text`, reads nftables.
bool IsOfNft(const HostAccess& host, absl::string_view save,
             absl::string_view text) {
  return absl::StrContains(save, "-nft-") ||
         absl::StrContains(text, " (nf_tables) on ") ||
         absl::StrContains(host.files().ReadLink(save).value_or(""), "-nft-");
}

OwnAddresses OwnAddressesOf(const InterfacesFact& interfaces) {
  OwnAddresses own;
  for (const HostInterface& each : interfaces.value().interfaces()) {
    for (const std::string& text : each.addresses()) {
      const auto address = Ipv4Address::Parse(text);
      if (address.ok() && !absl::StartsWith(text, "127.")) {
        own.push_back(*address);
      }
    }
  }
  return own;
}

// Returns every rule once: two backends may be the same.
absl::StatusOr<DropRulesFact::Rules> FindDropRules(const HostAccess& host,
                                                   const OwnAddresses& own) {
  std::vector<DropRule> found;
  SavedTables saved;
  for (const absl::string_view save : kIptablesSaves) {
    const auto path = FindProgram(host.paths.root, {save});
    if (absl::IsNotFound(path.status())) continue;
    RETURN_IF_ERROR(path.status());
    ASSIGN_OR_RETURN(const std::string text,
                     Program(*path, host, kMaxRulesBytes).Read({}));
    ASSIGN_OR_RETURN(const auto drops, FindIptablesDrops(text, own));
    if (IsOfNft(host, save, text)) saved = FindSavedTables(text);
    found.insert(found.end(), drops.begin(), drops.end());
  }
  const auto nft = FindProgram(host.paths.root, kNft);
  if (nft.ok()) {
    ASSIGN_OR_RETURN(
        const std::string text,
        Program(*nft, host, kMaxRulesBytes).Read({"-n", "list", "ruleset"}));
    ASSIGN_OR_RETURN(const auto drops, FindNftDrops(text, saved.whole, own));
    found.insert(found.end(), drops.begin(), drops.end());
  } else if (!absl::IsNotFound(nft.status())) {
    return nft.status();
  } else if (!saved.in_part.empty()) {
    return UnavailableWords("fact-needs-nft", *saved.in_part.begin());
  }
  DropRulesFact::Rules rules;
  std::vector<DropRule> rest;
  std::set<std::string> seen;
  for (DropRule& rule : found) {
    if (!seen.insert(rule.text()).second) continue;
    if (rules.rules_size() < kMaxDropRules) {
      *rules.add_rules() = std::move(rule);
    } else {
      rest.push_back(std::move(rule));
    }
  }
  if (!rest.empty()) *rules.add_rules() = SumOf(rest);
  return rules;
}

constexpr uint32_t kMaxPort = 65535;

absl::Status Malformed(absl::string_view want, absl::string_view text) {
  return InvalidWords("fact-firewall-text", QuotedText(text), Worded(want));
}

// "10.77.0.0/16", "10.77.0.0/255.255.0.0" or one address.
std::optional<Ipv4Subnet> SubnetOf(absl::string_view text) {
  static const LazyRE2 kSubnet = {R"(([0-9.]+)(?:/(?:(\d{1,2})|([0-9.]+)))?)"};
  absl::string_view address_text;
  std::optional<int> length;
  absl::string_view netmask;
  if (!HasForm(text, *kSubnet, &address_text, &length, &netmask)) return {};
  if (!netmask.empty()) length = ParseNetmask(netmask).value_or(-1);
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(address_text);
  const int prefix_length = length.value_or(32);
  if (!address.ok() || prefix_length < 0 || prefix_length > 32) return {};
  return Ipv4Subnet(*address, prefix_length);
}

// Returns the source of an AllowedPort; "" is everywhere.
std::optional<Ipv4Subnet> SourceOf(const AllowedPort& port) {
  return port.source().empty() ? Ipv4Subnet() : SubnetOf(port.source());
}

}  // namespace

FirewallFacts ReadUfw(const HostAccess& host) {
  return ReadInstalled(host, kUfw, ReadUfwAtBoot, ReadUfwState);
}

FirewallFacts ReadFirewalld(const HostAccess& host) {
  return ReadInstalled(host, kFirewallCmd, ReadFirewalldAtBoot,
                       ReadFirewalldState);
}

DropRulesFact ReadDropRules(const HostAccess& host,
                            const InterfacesFact& interfaces) {
  return MakeFact<DropRulesFact>(
      FindDropRules(host, OwnAddressesOf(interfaces)));
}

AllowedPort MakeAllowedPort(uint32_t first, uint32_t last,
                            absl::string_view protocol,
                            absl::string_view source) {
  AllowedPort port;
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(std::string(protocol));
  port.set_source(std::string(source));
  return port;
}

AllowedPort AllAllowedPorts(absl::string_view protocol,
                            absl::string_view source) {
  return MakeAllowedPort(0, kMaxPort, protocol, source);
}

absl::StatusOr<std::vector<AllowedPort>> ParseAllowedPorts(
    absl::string_view text, char range, absl::string_view source) {
  static const LazyRE2 kPorts = {R"(([^/]*)(?:/(tcp|udp))?)"};
  static const LazyRE2 kPart = {R"((\d{1,5})(?:([:-])(\d{1,5}))?)"};
  const absl::Status malformed = Malformed("want-firewall-ports", text);
  absl::string_view parts;
  absl::string_view protocol;
  if (!HasForm(text, *kPorts, &parts, &protocol)) return malformed;
  std::vector<AllowedPort> ports;
  for (const absl::string_view part : absl::StrSplit(parts, ',')) {
    uint32_t first = 0;
    absl::string_view sign;
    std::optional<uint32_t> end;
    if (!HasForm(part, *kPart, &first, &sign, &end)) return malformed;
    const uint32_t last = end.value_or(first);
    if (first > last || last > kMaxPort ||
        (!sign.empty() && sign[0] != range)) {
      return malformed;
    }
    ports.push_back(MakeAllowedPort(first, last, protocol, source));
  }
  return ports;
}

absl::StatusOr<std::string> ParseAllowedSource(absl::string_view text) {
  const std::optional<Ipv4Subnet> subnet = SubnetOf(text);
  if (!subnet.has_value()) return Malformed("want-subnet", text);
  if (subnet->prefix_length() == 0) return std::string();
  if (subnet->prefix_length() == 32) return subnet->network().ToString();
  return subnet->ToString();
}

std::optional<std::vector<AllowedPort>> MinusAllowedPort(
    const AllowedPort& allowed, const AllowedPort& taken) {
  const bool other_ports = allowed.last_port() < taken.first_port() ||
                           taken.last_port() < allowed.first_port();
  const bool other_protocol = !allowed.protocol().empty() &&
                              !taken.protocol().empty() &&
                              allowed.protocol() != taken.protocol();
  const std::optional<Ipv4Subnet> source = SourceOf(allowed);
  const std::optional<Ipv4Subnet> taken_source = SourceOf(taken);
  if (!source.has_value() || !taken_source.has_value()) return {};
  if (other_ports || other_protocol || !taken_source->Overlaps(*source)) {
    return std::vector<AllowedPort>{allowed};
  }
  if (taken_source->prefix_length() > source->prefix_length()) return {};
  std::vector<AllowedPort> left;
  const auto keep = [&](int64_t first, int64_t last,
                        absl::string_view protocol) {
    if (first > last) return;
    left.push_back(MakeAllowedPort(static_cast<uint32_t>(first),
                                   static_cast<uint32_t>(last), protocol,
                                   allowed.source()));
  };
  std::string protocol = allowed.protocol();
  if (protocol.empty() && !taken.protocol().empty()) {
    protocol = taken.protocol();
    keep(allowed.first_port(), allowed.last_port(),
         protocol == "tcp" ? "udp" : "tcp");
  }
  keep(allowed.first_port(), int64_t{taken.first_port()} - 1, protocol);
  keep(int64_t{taken.last_port()} + 1, allowed.last_port(), protocol);
  return left;
}

}  // namespace clusterd
