#include "config/learn/import.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/launch/rank_table.h"
#include "config/learn/import_lines.h"
#include "config/spec/mistakes.h"
#include "config/spec/network_keys.h"
#include "config/values/address_pattern.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxDevices = 16;  // NPU0 to NPU15 of the Deployer's table.

std::optional<Ipv4Address> ServerAddress(absl::string_view text) {
  const auto address = Ipv4Address::Parse(text);
  if (!address.ok() || !CheckUsableAddress(*address, 32).ok()) return {};
  return *address;
}

struct OpenFile {
  Mistakes mistakes;
  // Ignored lines, by the reason, which has its English text first.
  std::map<std::string, std::pair<FindingValue, std::set<uint32_t>>> left_out;
};

class Importer {
 public:
  explicit Importer(const ImportOptions& options) : options_(options) {
    cluster_.name = options.cluster;
  }

  // Detects the kind from the content, unless the file is a known hosts file.
  void Read(const ImportedFile& file, bool is_hosts = false) {
    OpenFile open = {Mistakes(file.name), {}};
    file_ = &open;
    ReadAs(file, is_hosts);
    for (const auto& [english, each] : open.left_out) {
      const auto& [why, lines] = each;
      Note("spec-note-not-taken", QuoteValue(file.name),
           FoldIds(std::vector<uint32_t>(lines.begin(), lines.end())), why);
    }
    if (!open.mistakes.empty()) AddProblems(open.mistakes.ToStatus());
  }

  absl::Status Problems() const {
    return problems_.empty()
               ? absl::OkStatus()
               : WithWords(absl::InvalidArgumentError(""), Lines(problems_));
  }

  absl::StatusOr<SeenCluster> Finish() {
    RETURN_IF_ERROR(Problems());
    if (cluster_.hosts.empty()) cluster_.hosts = std::move(named_);
    if (cluster_.hosts.empty()) {
      return InvalidWords("msg-learn-no-server");
    }
    for (SeenHost& host : cluster_.hosts) NameHost(&host);
    RETURN_IF_ERROR(SetMasks());
    ASSIGN_OR_RETURN(cluster_.profiles,
                     ChooseProduct(options_.product, cluster_.hosts));
    return std::move(cluster_);
  }

  const std::map<std::string, Ipv4Address>& addresses() const {
    return addresses_;
  }

 private:
  // All three: the words of that row with these values.
  template <typename... Values>
  void Note(absl::string_view row, const Values&... values) {
    cluster_.notes.push_back(Worded(row, values...));
  }
  template <typename... Values>
  void Wrong(const ImportLine& line, absl::string_view row,
             const Values&... values) {
    file_->mistakes.Add(line.position, row, values...);
  }
  // The line might be about a server, so a note of the file names it.
  template <typename... Values>
  void LeaveOut(const ImportLine& line, absl::string_view row,
                const Values&... values) {
    const FindingValue why = Worded(row, values...);
    auto& [kept, lines] = file_->left_out[EnglishText(why)];
    kept = why;
    lines.insert(line.position.line);
  }
  void WrongValue(const ImportLine& line, absl::string_view key,
                  const absl::Status& error) {
    Wrong(line, "spec-of", key, MessageWords(error));
  }

  void AddProblems(const absl::Status& error, absl::string_view file = "") {
    for (const FindingValue& line : MessageLines(error)) {
      problems_.push_back(file.empty() ? line : Worded("spec-of", file, line));
    }
  }

  void ReadAs(const ImportedFile& file, bool is_hosts) {
    const std::vector<ImportLine> lines = SplitLines(file.text);
    const auto of_hccn_conf = absl::c_find_if(lines, IsOfHccnConf);
    const auto of_slurm = absl::c_find_if(lines, IsOfSlurm);
    if (is_hosts) {
      ReadHosts(lines);
    } else if (!lines.empty() && absl::StartsWith(lines[0].words[0], "{")) {
      ReadRankTable(file);
    } else if (absl::c_any_of(lines, IsOfInventory)) {
      ReadInventory(file, lines);
    } else if (of_hccn_conf != lines.end()) {
      Wrong(*of_hccn_conf, "msg-learn-hccn-conf",
            Shown(of_hccn_conf->words[0]));
    } else if (of_slurm != lines.end()) {
      Wrong(*of_slurm, "msg-learn-slurm-conf", Shown(of_slurm->words[0]));
    } else if (!lines.empty() &&
               lines[0].words[0].find_first_of(".:") != std::string::npos &&
               lines[0].words.size() > 1) {
      ReadHosts(lines);
    } else {
      ReadNodeLists(lines);
    }
  }

  void ReadRankTable(const ImportedFile& file) {
    const absl::StatusOr<RankTable> table = ParseRankTable(file.text);
    if (!table.ok()) return AddProblems(table.status(), file.name);
    for (const RankTableServer& server : table->servers) {
      SeenHost host;
      host.name = server.server_id;
      if (!IsHostName(host.name)) {
        problems_.push_back(Worded(
            "spec-of", file.name,
            Worded("msg-learn-host-name", "server_id", QuoteValue(host.name))));
        continue;
      }
      for (const std::string& text : {server.host_ip, server.server_id}) {
        if (!host.address) host.address = ServerAddress(text);
      }
      for (const RankTableDevice& device : server.devices) {
        SeenDevice& seen = host.devices.emplace_back();
        seen.id = device.device_id;
        if (device.device_ips.empty()) continue;
        const auto address = Ipv4Address::Parse(device.device_ips[0]);
        if (address.ok()) {
          seen.address = Ipv4Interface(*address, 32);
        } else {
          problems_.push_back(
              Worded("spec-of", file.name,
                     Worded("msg-learn-address",
                            Worded("spec-device", host.name, seen.id),
                            MessageWords(address.status()))));
        }
      }
      cluster_.hosts.push_back(std::move(host));
    }
  }

  void ReadInventory(const ImportedFile& file,
                     const std::vector<ImportLine>& lines) {
    std::string section;
    bool has_hccn = false;
    std::set<std::string> others;
    for (const ImportLine& line : lines) {
      const std::string& first = line.words[0];
      if (IsSection(first)) {
        section = first;
        has_hccn |= section == "[hccn]";
        if (section == "[hccn:children]") {
          Note("spec-note-groups", QuoteValue(file.name), section);
        }
      } else if (section == "[hccn]") {
        ReadHccnHost(line);
      } else if (section == "[hccn:vars]") {
        ReadHccnVariable(line);
      } else if (!absl::StrContains(section, ':')) {
        ReadHostname(line);
        if (IsHostName(first) && first != "localhost") others.insert(first);
      }
    }
    if (!has_hccn) {
      problems_.push_back(Worded("msg-learn-no-hccn", file.name));
    }
    for (const SeenHost& host : cluster_.hosts) others.erase(host.name);
    if (others.empty()) return;
    Note("spec-note-not-in-hccn", QuoteValue(file.name),
         HostsValue({others.begin(), others.end()}, 100));
  }

  // Addresses separated by commas; if one is not valid, none and a mistake.
  std::vector<Ipv4Address> Addresses(const ImportLine& line,
                                     absl::string_view key,
                                     absl::string_view text) {
    std::vector<Ipv4Address> addresses;
    if (text.empty()) return addresses;
    for (absl::string_view item : absl::StrSplit(text, ',')) {
      item = absl::StripAsciiWhitespace(item);
      const auto address = Ipv4Address::Parse(item);
      if (item.empty()) {
        Wrong(line, "msg-learn-empty-entry", key);
      } else if (address.ok()) {
        addresses.push_back(*address);
      } else if (absl::StrContains(item, ':')) {
        Wrong(line, "msg-learn-address", key, MessageWords(address.status()));
      } else {
        WrongValue(line, key, address.status());
      }
    }
    return addresses;
  }

  void ReadHccnHost(const ImportLine& line) {
    SeenHost host;
    host.name = line.words[0];
    if (!IsHostName(host.name)) {
      return Wrong(line, "msg-learn-host", Shown(host.name));
    }
    host.address = ServerAddress(host.name);
    LeaveOutOthers(line, 1, {"deviceip", "detectip"});
    const auto devices = line.Find("deviceip");
    if (!devices) return Wrong(line, "msg-learn-no-deviceip");
    const auto own = Addresses(line, "deviceip", *devices);
    const auto detects = line.Find("detectip");
    const auto detected = Addresses(line, "detectip", detects.value_or(""));
    if (own.empty() || own.size() > kMaxDevices) {
      return Wrong(line, "msg-learn-deviceip-count", own.size(), kMaxDevices);
    }
    if (!detected.empty() && detected.size() != own.size()) {
      return Wrong(line, "msg-learn-detectip-count", detected.size(),
                   own.size());
    }
    for (size_t k = 0; k < own.size(); ++k) {
      SeenDevice& device = host.devices.emplace_back();
      device.id = static_cast<uint32_t>(k);
      device.address = Ipv4Interface(own[k], 32);
      if (!detected.empty()) device.detect_address = detected[k];
    }
    cluster_.hosts.push_back(std::move(host));
  }

  // Reports settings from word `first` on that are neither known nor Ansible's.
  // A word without "=" is not quoted: it may be part of a password.
  void LeaveOutOthers(const ImportLine& line, size_t first,
                      absl::Span<const absl::string_view> known) {
    for (size_t k = first; k < line.words.size(); ++k) {
      const size_t equals = line.words[k].find('=');
      const std::string key =
          absl::AsciiStrToLower(line.words[k].substr(0, equals));
      if (equals == std::string::npos) {
        LeaveOut(line, "spec-no-equals-sign");
      } else if (!absl::StartsWith(key, "ansible_") &&
                 !absl::c_linear_search(known, key)) {
        LeaveOut(line, "spec-not-of-hccn", QuoteValue(key),
                 DidYouMeanWords(key, known));
      }
    }
  }

  // `key = "value"`, with or without the blanks.
  void ReadHccnVariable(ImportLine line) {
    line.words = {absl::StrJoin(line.words, "")};
    LeaveOutOthers(line, 0,
                   {"netmask", "bitmap", "roce_port", "dscp_tc", "gateways",
                    "common_network"});
    const auto value_of = [&](absl::string_view key) {
      const std::string text = line.Find(key).value_or("");
      if (!absl::StrContains(text, '=')) return text;
      // The value is not quoted: it may be a password.
      Wrong(line, "msg-learn-two-settings", key);
      return std::string();
    };
    const auto take = [&](absl::string_view key, const auto& parse,
                          auto* value) {
      const std::string text = value_of(key);
      if (text.empty()) return;
      const auto parsed = parse(text);
      if (parsed.ok()) {
        *value = *parsed;
      } else {
        WrongValue(line, key, parsed.status());
      }
    };
    take("netmask", ParseNetmask, &prefix_length_);
    take("bitmap", ParsePfc, cluster_.lossless.mutable_pfc());
    take("roce_port", ParseRocePort, &roce_port_);
    // hccn.conf ends the list with a comma.
    take(
        "dscp_tc",
        [](absl::string_view text) {
          absl::ConsumeSuffix(&text, ",");
          return ParseDscpToTc(std::string(text));
        },
        cluster_.lossless.mutable_dscp_to_tc());
    cluster_.lossless.set_roce_port(roce_port_);
    const std::string gateways = value_of("gateways");
    if (!gateways.empty()) gateways_ = Addresses(line, "gateways", gateways);
  }

  void ReadHostname(const ImportLine& line) {
    const auto name = line.Find("set_hostname");
    const auto address = Ipv4Address::Parse(line.words[0]);
    if (!name || !address.ok()) return;
    if (!IsHostName(*name)) {
      return Wrong(line, "msg-learn-host-name", "set_hostname",
                   QuoteValue(*name));
    }
    names_.emplace(address->bits(), *name);
  }

  // A line of a node list without settings may be another file's password.
  bool HasSetting(const ImportLine& line) {
    for (const std::string& word : line.words) {
      if (!absl::StrContains(word, '=')) continue;
      Wrong(line, "msg-learn-setting", Shown(word));
      return true;
    }
    return false;
  }

  void ReadNodeLists(const std::vector<ImportLine>& lines) {
    for (const ImportLine& line : lines) {
      if (HasSetting(line)) continue;
      const auto addresses = absl::c_count_if(
          line.words, [](const auto& word) { return ServerAddress(word); });
      if (addresses > 0 && addresses < ptrdiff_t(line.words.size())) {
        Wrong(line, "msg-learn-mixed");
        continue;
      }
      for (const std::string& word : line.words) {
        const auto names = ExpandHostlist(word);
        if (!names.ok()) {
          file_->mistakes.AddError(line.position, names.status());
          continue;
        }
        for (const std::string& name : *names) {
          cluster_.hosts.emplace_back().name = name;
        }
      }
    }
  }

  void ReadHosts(const std::vector<ImportLine>& lines) {
    for (const ImportLine& line : lines) {
      const std::string& text = line.words[0];
      if (HasSetting(line) || NamesTheMachineItself(line)) continue;
      if (absl::StrContains(text, ':') &&
          absl::c_all_of(text.substr(0, text.find('%')), [](char c) {
            return absl::ascii_isxdigit(c) || c == ':' || c == '.';
          })) {
        LeaveOut(line, "spec-ipv6-not-planned");
        continue;
      }
      const auto address = Ipv4Address::Parse(text);
      if (!address.ok()) {
        file_->mistakes.AddError(line.position, address.status());
        continue;
      }
      if (line.words.size() < 2) Wrong(line, "msg-learn-no-name");
      if (!ServerAddress(text)) {
        LeaveOut(line, "spec-not-an-address-of-servers");
        continue;
      }
      for (size_t k = 1; k < line.words.size(); ++k) {
        const std::string& name = line.words[k];
        if (!IsHostName(name)) {
          Wrong(line, "msg-learn-host-name", "host", QuoteValue(name));
          continue;
        }
        const auto [known, is_first] = addresses_.emplace(name, *address);
        if (known->second != *address) {
          LeaveOut(line, "spec-has-another-address", QuoteValue(name));
        }
        const bool is_new = names_.emplace(address->bits(), name).second;
        if (k > 1 || !is_new || !is_first) continue;
        named_.emplace_back().name = name;
        named_.back().address = *address;
      }
    }
  }

  // Adds the name if only the address is known, or the address to a name.
  void NameHost(SeenHost* host) const {
    const auto address = addresses_.find(host->name);
    if (address != addresses_.end()) {
      host->address = address->second;
    } else if (!host->address.has_value()) {
      host->address = ServerAddress(host->name);
    }
    if (!host->address.has_value()) return;
    const auto name = names_.find(host->address->bits());
    const bool nameless = host->name == host->address->ToString();
    if (nameless && name != names_.end()) host->name = name->second;
  }

  // Sets masks and gateways of the devices, which are in separate lines.
  absl::Status SetMasks() {
    std::vector<SeenDevice*> devices;
    for (SeenHost& host : cluster_.hosts) {
      for (SeenDevice& device : host.devices) {
        if (device.address.has_value()) devices.push_back(&device);
      }
    }
    if (devices.empty()) return absl::OkStatus();
    if (!options_.netmask.empty()) {
      ASSIGN_OR_RETURN(prefix_length_, ParseNetmask(options_.netmask));
    }
    if (prefix_length_ < 1 || prefix_length_ > 30) {
      return InvalidWords("msg-learn-no-netmask");
    }
    for (SeenDevice* device : devices) {
      device->address =
          Ipv4Interface(device->address->address(), prefix_length_);
    }
    for (const Ipv4Address gateway : gateways_) {
      bool is_near = false;
      for (SeenDevice* device : devices) {
        if (!device->address->subnet().Contains(gateway)) continue;
        is_near = true;
        if (!device->gateway) device->gateway = gateway;
      }
      if (is_near) continue;
      Note("spec-note-gateway-outside", gateway.ToString());
    }
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  OpenFile* file_ = nullptr;  // The one being read.
  std::vector<FindingValue> problems_;
  SeenCluster cluster_;
  std::vector<SeenHost> named_;  // From hosts files.
  std::map<std::string, Ipv4Address> addresses_;
  std::map<uint32_t, std::string> names_;
  std::vector<Ipv4Address> gateways_;
  uint32_t roce_port_ = 0;
  int prefix_length_ = 0;
};

}  // namespace

absl::StatusOr<SeenCluster> ImportCluster(absl::Span<const ImportedFile> files,
                                          const ImportOptions& options) {
  Importer importer(options);
  std::vector<std::string> names;
  for (const ImportedFile& file : files) {
    importer.Read(file);
    names.push_back(QuoteValue(file.name));
  }
  ASSIGN_OR_RETURN(SeenCluster cluster, importer.Finish());
  cluster.source = absl::StrJoin(names, ", ");
  return cluster;
}

absl::StatusOr<std::map<std::string, Ipv4Address>> ParseHostsFile(
    const ImportedFile& file) {
  const ImportOptions options;
  Importer importer(options);
  importer.Read(file, /*is_hosts=*/true);
  RETURN_IF_ERROR(importer.Problems());
  return importer.addresses();
}

}  // namespace clusterd
