#include "tests/sim/run_setup.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/sim/tool/product.h"

namespace clusterd::sim {
namespace {

constexpr uid_t kNobody = 65534;
// The code of "Init", which a device of the records reports by default.
constexpr char kHealthInit[] = "6";
// Records hold this many characters of a value at most.
constexpr size_t kRecordedValueChars = 120;

using Match = std::smatch;

// One condition in words: a pattern, and its effect on the setup.
struct Condition {
  std::regex pattern;
  void (*apply)(const Match&, RunSetup*);
};

void Nothing(const Match&, RunSetup*) {}

std::vector<Condition> UserConditions() {
  return {
      {std::regex("^(?:as )?root$"), Nothing},
      {std::regex("user nobody"),
       [](const Match&, RunSetup* setup) { setup->uid = kNobody; }},
      {std::regex("uid ([0-9]+), not in passwd"),
       [](const Match& match, RunSetup* setup) {
         setup->uid = strtoul(match[1].str().c_str(), nullptr, 10);
         setup->in_passwd = false;
       }},
  };
}

std::vector<Condition> FileConditions() {
  return {
      {std::regex("hccn\\.conf (?:mode )?(0[0-7]{3})"),
       [](const Match& match, RunSetup* setup) {
         setup->conf_mode = strtoul(match[1].str().c_str(), nullptr, 8);
       }},
      // The record's "before" has it as well.
      {std::regex("hccn\\.conf (?:is )?(?:absent|missing|empty)"), Nothing},
      {std::regex("hccn\\.conf on a read-only mount"),
       [](const Match&, RunSetup* setup) { setup->conf_read_only = true; }},
      {std::regex("hccn\\.conf is a directory"),
       [](const Match&, RunSetup* setup) {
         setup->conf_kind = RunSetup::ConfKind::kDirectory;
       }},
      {std::regex("hccn\\.conf is a (?:dangling )?sym(?:bolic )?link"),
       [](const Match&, RunSetup* setup) {
         setup->conf_kind = RunSetup::ConfKind::kSymlink;
       }},
      {std::regex("/var/log read-only"),
       [](const Match&, RunSetup* setup) { setup->log_read_only = true; }},
      {std::regex("/var/log(?:/hccn_tool (?:absent|missing)| read-only, no "
                  "hccn_tool in it)"),
       [](const Match&, RunSetup* setup) {
         setup->log_folder = RunSetup::LogFolder::kAbsent;
       }},
      {std::regex("/var/log/hccn_tool is a regular file"),
       [](const Match&, RunSetup* setup) {
         setup->log_folder = RunSetup::LogFolder::kRegularFile;
       }},
      {std::regex("/etc/hccn\\.conf -> "),
       [](const Match&, RunSetup* setup) {
         setup->conf_kind = RunSetup::ConfKind::kSymlink;
       }},
      {std::regex("ascend_install\\.info (?:absent|missing)"),
       [](const Match&, RunSetup* setup) { setup->install_info = false; }},
  };
}

std::vector<Condition> CompanyConditions() {
  return {
      {std::regex("holds (?:an? )?(?:exclusive )?(shared )?(?:flock|lock)"),
       [](const Match& match, RunSetup* setup) {
         setup->lock = match[1].matched ? RunSetup::Lock::kShared
                                        : RunSetup::Lock::kExclusive;
       }},
      {std::regex("never releases its (?:flock|lock)"),
       [](const Match&, RunSetup* setup) {
         setup->lock = RunSetup::Lock::kExclusive;
       }},
      {std::regex("for ?ever|until the end|never release[ds]"),
       [](const Match&, RunSetup* setup) { setup->lock_for_ever = true; }},
      // The record's status has it as well.
      {std::regex("killed after [0-9]+ s"), Nothing},
      {std::regex("renames it over"),
       [](const Match&, RunSetup* setup) {
         setup->renamed_while_waiting = true;
       }},
      {std::regex("([0-9]+) devices set at the same time, ([0-9]+) rounds"),
       [](const Match& match, RunSetup* setup) {
         setup->devices_at_once = atoi(match[1].str().c_str());
         setup->rounds = atoi(match[2].str().c_str());
       }},
      {std::regex("two runs started together"),
       [](const Match&, RunSetup* setup) { setup->with_partner = true; }},
      {std::regex("needs [0-9]+ s per set call"),
       [](const Match&, RunSetup* setup) {
         setup->state.Set("delay.set.ms", absl::StrCat(kShortDelayMs));
       }},
      {std::regex("never returns \\((hang\\.[A-Za-z0-9_.]+)\\)"),
       [](const Match& match, RunSetup* setup) {
         setup->state.Set(match[1].str(), "1");
       }},
      {std::regex("SIG(TERM|INT|KILL|HUP) after [0-9]+ s"),
       [](const Match& match, RunSetup* setup) {
         const std::string name = match[1].str();
         setup->signal = name == "TERM"  ? SIGTERM
                         : name == "INT" ? SIGINT
                         : name == "HUP" ? SIGHUP
                                         : SIGKILL;
       }},
  };
}

std::vector<Condition> DeviceConditions() {
  return {
      // Said again by the keys beside them.
      {std::regex("devices [0-9]+-[0-9]+ have "), Nothing},
      {std::regex("vNIC addresses moved"), Nothing},
      {std::regex("board id (0x[0-9a-f]+)"),
       [](const Match& match, RunSetup* setup) {
         setup->state.Set("board_id", match[1].str());
       }},
      {std::regex("health call fails for ([0-9.]+) s"),
       [](const Match& match, RunSetup* setup) {
         // It is asked once a second.
         const double seconds = strtod(match[1].str().c_str(), nullptr);
         setup->state.Set("booting.0", absl::StrCat(std::ceil(seconds)));
       }},
      {std::regex("health call always fails"),
       [](const Match&, RunSetup* setup) {
         setup->state.Set("rc.health", "1");
       }},
      {std::regex("two cards, ids ([0-9]+) and ([0-9]+)"),
       [](const Match& match, RunSetup* setup) {
         setup->state.Set("devices",
                          absl::StrCat(match[1].str(), ",", match[2].str()));
       }},
  };
}

const std::vector<Condition>& Conditions() {
  static const auto* const conditions = [] {
    auto* all = new std::vector<Condition>;
    for (auto& group : {UserConditions(), FileConditions(), CompanyConditions(),
                        DeviceConditions()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
    return all;
  }();
  return *conditions;
}

void ApplyWords(absl::string_view all, RunSetup* setup) {
  // "root, hccn.conf ...": the user does not affect the rest.
  absl::string_view rest = all;
  if (absl::ConsumePrefix(&rest, "root,")) {
    rest = absl::StripLeadingAsciiWhitespace(rest);
  }
  const std::string words(rest);
  bool understood = false;
  for (const Condition& condition : Conditions()) {
    Match match;
    if (!std::regex_search(words, match, condition.pattern)) continue;
    condition.apply(match, setup);
    understood = true;
  }
  if (!understood) setup->not_understood.emplace_back(all);
}

// A long text is cut in the record's precondition. If the output shows it, its
// continuation there is the rest: the tool adds one newline.
std::string Completed(const std::string& value, const CaptureRecord& record) {
  const size_t at = record.standard_output.find(value);
  if (value.empty() || at == std::string::npos) return value;
  std::string whole = record.standard_output.substr(at);
  if (!whole.empty() && whole.back() == '\n') whole.pop_back();
  return whole;
}

bool IsKeyAndValue(const std::string& piece) {
  const size_t equals = piece.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  return std::all_of(piece.begin(), piece.begin() + equals, [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.';
  });
}

// Names of keys without the device: those in README.md, and further ones of the
// records.
bool IsKnownKey(const std::string& key) {
  static const std::regex kNames(
      "(product|devices|board_id|mainboard_id|server_id|hccs_ok|tls_ncert|"
      "tls_start|tls_end|tls_cert|tls_issuer[01]|ca_files|root_uid|nodriver|"
      "opt_[tr]x_lo[sl]|spelling\\.netdetect|retry\\.ms|conf_empty\\.ms|"
      "delay\\.set\\.ms|delay\\.[0-9]+\\.ms|"
      "(ip|mask|gateway|netdetect|mtu|mac|tls|ip6|prefix|link|vnic_link|"
      "process|net_health|lldp|local_lldp|dscp_tc|booting|ping|routes|route_"
      "text|status_text|arp_text|"
      "vnic_ip|"
      "vnic_mask|speed|duplex|fec|firmware|cfg_status|link_cnt|ls_n|ls_up|"
      "ls_down|opt_kind|opt_present|opt_access_failed|bond_ip|bond_mask|"
      "bw_limit|bitmap|roce_port|udp_mode|udp_ports|prio_tc|tls_ncert|health|"
      "busy|lies|say|hang)"
      "\\.[0-9]+|"
      "(res|rc|hang)\\.0x[0-9a-f]+(\\.[0-9]+)?|"
      "(rc|hang)\\.(get_ip|set_ip|health|mainboard|board|spod|net_health|tls|"
      "idmap|"
      "set|mailbox)(\\.[0-9]+)?)");
  return std::regex_match(key, kNames);
}

void ApplyKey(const std::string& piece, const CaptureRecord& record,
              RunSetup* setup) {
  std::string cut = piece;
  const size_t equals = piece.find('=');
  const bool is_cut = piece.size() - equals - 1 >= kRecordedValueChars;
  // Half an escape at the cut.
  if (is_cut && cut.back() == '\\') cut.pop_back();
  const DeviceState parsed = DeviceState::Parse(cut);
  for (const auto& [key, value] : parsed.values()) {
    if (!IsKnownKey(key)) setup->unknown_keys.push_back(key);
    setup->state.Set(key, is_cut ? Completed(value, record) : value);
  }
}

}  // namespace

bool RunSetup::NeedsPrivilege() const {
  return uid.has_value() || conf_read_only || log_read_only;
}

RunSetup SetupOf(const CaptureRecord& record) {
  RunSetup setup;
  Product product;
  if (!FindProduct(record.product, &product)) {
    setup.not_understood.push_back("product " + record.product);
  }
  setup.state.Set("product", record.product);
  setup.state.Set("retry.ms", "0");
  const std::vector<std::string> pieces =
      absl::StrSplit(record.precondition, ';');
  for (std::string piece : pieces) {
    piece = std::string(absl::StripLeadingAsciiWhitespace(piece));
    if (piece.empty()) continue;
    if (IsKeyAndValue(piece)) {
      ApplyKey(piece, record, &setup);
    } else {
      ApplyWords(piece, &setup);
    }
  }
  // No device of the records judged its own health.
  for (int id : product.devices) {
    const std::string key = DeviceKey("net_health", id);
    if (!setup.state.Find(key)) setup.state.Set(key, kHealthInit);
  }
  // The permission records name their user in words, one only in its name.
  if (absl::EndsWith(record.name, "-nonroot")) setup.uid = kNobody;
  // The records about locks and booting name no address; it had this one.
  const bool unnamed =
      setup.lock != RunSetup::Lock::kNone || setup.state.Find("booting.0");
  if (unnamed && !setup.state.Find("ip.0")) {
    setup.state.Set("ip.0", "10.0.0.1");
    setup.state.Set("mask.0", "255.255.255.0");
  }
  return setup;
}

bool IsKnownStateKey(const std::string& key) { return IsKnownKey(key); }

}  // namespace clusterd::sim
