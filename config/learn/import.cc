#include "config/learn/import.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/launch/rank_table.h"
#include "config/spec/mistakes.h"
#include "config/values/address_pattern.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr size_t kMaxDevices = 16;  // NPU0 to NPU15 of the Deployer's table.

// The words of a line, without its comment. Quotes hold a word together and
// are taken off.
struct Line {
  TextPosition position;
  std::vector<std::string> words;

  // The value of `key=value`, keys in any case as in slurm.conf; nullopt: there
  // is none.
  std::optional<std::string> Find(absl::string_view key) const {
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      if (equals != std::string::npos &&
          absl::EqualsIgnoreCase(word.substr(0, equals), key)) {
        return word.substr(equals + 1);
      }
    }
    return std::nullopt;
  }
};

Line SplitLine(absl::string_view text, int number) {
  Line line;
  line.position.line = number;
  char quote = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = quote == 0 && absl::ascii_isspace(c);
    if (!inside && (c == '#' || c == ';')) break;
    if (blank) {
      inside = false;
      continue;
    }
    if (!inside) line.words.emplace_back();
    inside = true;
    if (c == quote || (quote == 0 && (c == '"' || c == '\''))) {
      quote = c == quote ? 0 : c;
    } else {
      line.words.back() += c;
    }
  }
  // What the Deployer's documentation puts behind a line to explain it.
  const auto comment = absl::c_find_if(line.words, [](const auto& word) {
    return absl::StartsWith(word, "//");
  });
  line.words.erase(comment, line.words.end());
  return line;
}

std::vector<Line> SplitLines(absl::string_view text) {
  std::vector<Line> lines;
  int number = 0;
  std::string joined;
  for (absl::string_view part : absl::StrSplit(text, '\n')) {
    ++number;
    part = absl::StripTrailingAsciiWhitespace(part);
    // slurm.conf goes on behind a backslash.
    if (absl::ConsumeSuffix(&part, "\\")) {
      absl::StrAppend(&joined, part, " ");
      continue;
    }
    Line line = SplitLine(absl::StrCat(joined, part), number);
    joined.clear();
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

bool IsServerAddress(const absl::StatusOr<Ipv4Address>& address) {
  return address.ok() && CheckUsableAddress(*address, 32).ok();
}

class Importer {
 public:
  explicit Importer(const ImportOptions& options) : options_(options) {
    cluster_.name = options.cluster;
  }

  void Read(const ImportedFile& file) {
    Mistakes mistakes(file.name);
    mistakes_ = &mistakes;
    const std::vector<Line> lines = SplitLines(file.text);
    const auto has = [&lines](absl::string_view first, bool prefix) {
      return absl::c_any_of(lines, [&](const Line& line) {
        return prefix ? absl::StartsWithIgnoreCase(line.words[0], first)
                      : line.words[0] == first;
      });
    };
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(file.text), "{")) {
      ReadRankTable(file);
    } else if (has("[hccn]", false)) {
      ReadInventory(lines);
    } else if (has("NodeName=", true)) {
      for (const Line& line : lines) ReadNodeLine(line);
    } else if (!lines.empty() &&
               lines[0].words[0].find_first_of(".:") != std::string::npos &&
               lines[0].words.size() > 1) {
      ReadHosts(lines);
    } else {
      ReadNodeLists(lines);
    }
    Keep(mistakes.ToStatus());
  }

  absl::StatusOr<SeenCluster> Finish() {
    if (!problems_.empty()) {
      return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
    }
    if (cluster_.hosts.empty()) cluster_.hosts = std::move(named_);
    if (cluster_.hosts.empty()) {
      return absl::InvalidArgumentError("no file names a server");
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
  const std::vector<std::string>& problems() const { return problems_; }

  void ReadHostsOf(const ImportedFile& file) {
    Mistakes mistakes(file.name);
    mistakes_ = &mistakes;
    ReadHosts(SplitLines(file.text));
    Keep(mistakes.ToStatus());
  }

 private:
  void Keep(const absl::Status& status) {
    if (!status.ok()) problems_.emplace_back(status.message());
  }

  template <typename... Parts>
  void Wrong(const Line& line, const Parts&... parts) {
    mistakes_->Add(line.position, parts...);
  }

  void ReadRankTable(const ImportedFile& file) {
    const absl::StatusOr<RankTable> table = ParseRankTable(file.text);
    if (!table.ok()) {
      for (absl::string_view mistake :
           absl::StrSplit(table.status().message(), '\n')) {
        problems_.push_back(absl::StrCat(file.name, ": ", mistake));
      }
      return;
    }
    for (const RankTableServer& server : table->servers) {
      SeenHost host;
      host.name = server.server_id;
      if (!IsHostName(host.name)) {
        problems_.push_back(absl::StrCat(file.name, ": server_id ",
                                         QuoteValue(host.name),
                                         " is no host name"));
        continue;
      }
      for (const std::string& text : {server.host_ip, server.server_id}) {
        const auto address = Ipv4Address::Parse(text);
        if (!host.address && IsServerAddress(address)) host.address = *address;
      }
      for (const RankTableDevice& device : server.devices) {
        SeenDevice& seen = host.devices.emplace_back();
        seen.id = device.device_id;
        if (device.device_ips.empty()) continue;
        const auto address = Ipv4Address::Parse(device.device_ips[0]);
        if (address.ok()) {
          seen.address = Ipv4Interface(*address, 32);
        } else {
          problems_.push_back(absl::StrCat(
              file.name, ": ", host.name, " device ", seen.id, ": ",
              address.status().message(), "; IPv6 is not planned"));
        }
      }
      absl::c_sort(host.devices, [](const SeenDevice& a, const SeenDevice& b) {
        return a.id < b.id;
      });
      cluster_.hosts.push_back(std::move(host));
    }
  }

  void ReadInventory(const std::vector<Line>& lines) {
    std::string section;
    for (const Line& line : lines) {
      if (absl::StartsWith(line.words[0], "[")) {
        section = line.words[0];
      } else if (section == "[hccn]") {
        ReadHccnHost(line);
      } else if (section == "[hccn:vars]") {
        ReadHccnVariable(line);
      } else if (section == "[worker]" || section == "[master]") {
        ReadHostname(line);
      }
    }
  }

  // Addresses by commas; nothing, and a mistake, if one is none.
  std::vector<Ipv4Address> Addresses(const Line& line, absl::string_view key,
                                     absl::string_view text) {
    std::vector<Ipv4Address> addresses;
    for (absl::string_view item :
         absl::StrSplit(text, ',', absl::SkipWhitespace())) {
      item = absl::StripAsciiWhitespace(item);
      const auto address = Ipv4Address::Parse(item);
      if (address.ok()) {
        addresses.push_back(*address);
      } else {
        Wrong(line, key, ": ", address.status().message(),
              absl::StrContains(item, ':') ? "; IPv6 is not planned" : "");
      }
    }
    return addresses;
  }

  void ReadHccnHost(const Line& line) {
    SeenHost host;
    host.name = line.words[0];
    const auto address = Ipv4Address::Parse(host.name);
    if (!IsHostName(host.name)) {
      return Wrong(line, "host ", QuoteValue(host.name),
                   " is no address and no host name");
    }
    if (IsServerAddress(address)) host.address = *address;
    const auto devices = line.Find("deviceip");
    if (!devices) {
      return Wrong(line,
                   "has no deviceip=, expected the addresses of NPU 0 on");
    }
    const auto own = Addresses(line, "deviceip", *devices);
    const auto detects = line.Find("detectip");
    const auto detected = Addresses(line, "detectip", detects.value_or(""));
    if (own.empty() || own.size() > kMaxDevices) {
      return Wrong(line, "deviceip has ", own.size(),
                   " addresses, expected 1 to ", kMaxDevices);
    }
    if (!detected.empty() && detected.size() != own.size()) {
      return Wrong(line, "detectip has ", detected.size(),
                   " addresses, expected ", own.size(), ", as deviceip");
    }
    for (size_t k = 0; k < own.size(); ++k) {
      SeenDevice& device = host.devices.emplace_back();
      device.id = static_cast<uint32_t>(k);
      device.address = Ipv4Interface(own[k], 32);
      if (!detected.empty()) device.detect_address = detected[k];
    }
    cluster_.hosts.push_back(std::move(host));
  }

  void ReadHccnVariable(const Line& line) {
    if (const auto mask = line.Find("netmask")) {
      const auto length = ParseNetmask(*mask);
      if (length.ok()) {
        prefix_length_ = *length;
      } else {
        Wrong(line, "netmask: ", length.status().message());
      }
    }
    if (const auto gateways = line.Find("gateways")) {
      gateways_ = Addresses(line, "gateways", *gateways);
    }
  }

  void ReadHostname(const Line& line) {
    const auto name = line.Find("set_hostname");
    const auto address = Ipv4Address::Parse(line.words[0]);
    if (!name || !address.ok()) return;
    if (!IsHostName(*name)) {
      return Wrong(line, "set_hostname: ", QuoteValue(*name),
                   " is no host name");
    }
    names_.emplace(address->bits(), *name);
  }

  void ReadNodeLine(const Line& line) {
    const auto nodes = line.Find("NodeName");
    if (!nodes || absl::EqualsIgnoreCase(*nodes, "DEFAULT")) return;
    const auto where = line.Find("NodeAddr");
    const auto names = ExpandHostlist(*nodes);
    if (!names.ok()) return Wrong(line, "NodeName: ", names.status().message());
    std::vector<std::string> addresses;
    if (where.has_value()) {
      const auto expanded = ExpandHostlist(*where);
      if (!expanded.ok()) {
        return Wrong(line, "NodeAddr: ", expanded.status().message());
      }
      addresses = *expanded;
      if (addresses.size() != names->size()) {
        return Wrong(line, "NodeAddr has ", addresses.size(),
                     " addresses, expected ", names->size(), ", one per node");
      }
    }
    for (size_t k = 0; k < names->size(); ++k) {
      SeenHost& host = cluster_.hosts.emplace_back();
      host.name = (*names)[k];
      if (addresses.empty()) continue;
      const auto address = Ipv4Address::Parse(addresses[k]);
      if (IsServerAddress(address)) host.address = *address;
    }
  }

  void ReadNodeLists(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
      for (const std::string& word : line.words) {
        const auto names = ExpandHostlist(word);
        if (!names.ok()) {
          Wrong(line, names.status().message());
          continue;
        }
        for (const std::string& name : *names) {
          cluster_.hosts.emplace_back().name = name;
        }
      }
    }
  }

  void ReadHosts(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
      const std::string& text = line.words[0];
      if (absl::StrContains(text, ':')) continue;
      const auto address = Ipv4Address::Parse(text);
      if (!address.ok()) {
        Wrong(line, address.status().message());
        continue;
      }
      if (line.words.size() < 2) Wrong(line, "has no name behind the address");
      if (!IsServerAddress(address)) continue;
      for (size_t k = 1; k < line.words.size(); ++k) {
        const std::string& name = line.words[k];
        if (!IsHostName(name)) {
          Wrong(line, QuoteValue(name), " is no host name");
          continue;
        }
        addresses_.emplace(name, *address);
        const bool is_new = names_.emplace(address->bits(), name).second;
        if (k > 1 || !is_new) continue;
        named_.emplace_back().name = name;
        named_.back().address = *address;
      }
    }
  }

  // By its name where only its address is known, and the other way round.
  void NameHost(SeenHost* host) const {
    const auto address = addresses_.find(host->name);
    if (address != addresses_.end()) host->address = address->second;
    if (!host->address.has_value()) return;
    const auto name = names_.find(host->address->bits());
    const bool nameless = host->name == host->address->ToString();
    if (nameless && name != names_.end()) host->name = name->second;
  }

  // Masks and gateways of the devices, which stand apart from them.
  absl::Status SetMasks() {
    const bool any = absl::c_any_of(cluster_.hosts, [](const SeenHost& host) {
      return absl::c_any_of(host.devices, [](const SeenDevice& device) {
        return device.address.has_value();
      });
    });
    if (!any) return absl::OkStatus();
    if (!options_.netmask.empty()) {
      ASSIGN_OR_RETURN(prefix_length_, ParseNetmask(options_.netmask));
    }
    if (prefix_length_ < 1 || prefix_length_ > 30) {
      return absl::InvalidArgumentError(
          "--netmask: no file has the netmask of the devices, expected e.g. "
          "--netmask 255.255.255.0");
    }
    for (SeenHost& host : cluster_.hosts) {
      for (SeenDevice& device : host.devices) {
        if (!device.address.has_value()) continue;
        device.address =
            Ipv4Interface(device.address->address(), prefix_length_);
        for (const Ipv4Address gateway : gateways_) {
          const bool inside = device.address->subnet().Contains(gateway);
          if (inside && !device.gateway) device.gateway = gateway;
        }
      }
    }
    return absl::OkStatus();
  }

  const ImportOptions& options_;
  Mistakes* mistakes_ = nullptr;  // Of the file that is read.
  std::vector<std::string> problems_;
  SeenCluster cluster_;
  std::vector<SeenHost> named_;  // Of hosts files.
  std::map<std::string, Ipv4Address> addresses_;
  std::map<uint32_t, std::string> names_;
  std::vector<Ipv4Address> gateways_;
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
  importer.ReadHostsOf(file);
  if (importer.problems().empty()) return importer.addresses();
  return absl::InvalidArgumentError(absl::StrJoin(importer.problems(), "\n"));
}

}  // namespace clusterd
