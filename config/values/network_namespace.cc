#include "config/values/network_namespace.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxPathBytes = 1024;
constexpr uint32_t kMaxPid = 4194304;  // PID_MAX_LIMIT of 64-bit kernels.

// A text of another form than `form` is wrong in the words of `row`.
absl::Status CheckForm(absl::string_view kind, const std::string& text,
                       size_t max_bytes, const RE2& form,
                       absl::string_view row) {
  if (text.size() > max_bytes) {
    return WrongValue("value-netns-long", kind, text, text.size(), max_bytes);
  }
  return HasForm(text, form) ? absl::OkStatus() : WrongValue(row, text);
}

absl::Status BadPid(absl::string_view pid) {
  return WrongValue("value-netns-pid", pid, kMaxPid);
}

absl::Status CheckPath(const std::string& path) {
  static const LazyRE2 kOfProcess = {R"(/proc/\d+/ns/net)"};
  static const LazyRE2 kBelowRun = {"/(?:var/)?run/[^[:cntrl:]]*", RE2::Latin1};
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (absl::c_linear_search(parts, "..")) {
    return WrongValue("value-netns-dots", path);
  }
  const bool of_process = absl::StartsWith(path, "/proc/");
  return CheckForm("path", path, kMaxPathBytes,
                   of_process ? *kOfProcess : *kBelowRun,
                   of_process ? "value-netns-proc" : "value-netns-path");
}

HostFacts UnknownHost(const HostFacts& facts,
                      absl::string_view network_namespace) {
  HostFacts unknown;
  unknown.set_host(facts.host());
  unknown.set_elapsed_ms(facts.elapsed_ms());
  unknown.set_observed_at_ms(facts.observed_at_ms());
  unknown.set_simulation(facts.simulation());
  Missing* missing = unknown.mutable_missing();
  missing->set_reason(Missing::NOT_SUPPORTED);
  FindingValue name;
  name.set_text(network_namespace.empty() ? facts.network_namespace()
                                          : std::string(network_namespace));
  const FindingValue why =
      ErrorWords(network_namespace.empty() ? "value-facts-of-namespace"
                                           : "value-facts-of-host",
                 {name});
  *missing->mutable_detail_words() = why;
  missing->set_detail(why.text());
  return unknown;
}

}  // namespace

std::string NetworkNamespaceText(const NetworkNamespace& target) {
  switch (target.target_case()) {
    case NetworkNamespace::kContainer:
      return absl::StrCat(
          "container:",
          absl::Utf8SafeCEscape(target.container().substr(0, kMaxNameBytes)));
    case NetworkNamespace::kPid:
      return absl::StrCat("pid:", target.pid());
    case NetworkNamespace::kPath:
      return absl::StrCat("path:", absl::Utf8SafeCEscape(
                                       target.path().substr(0, kMaxPathBytes)));
    case NetworkNamespace::TARGET_NOT_SET:
      break;
  }
  return "";
}

absl::Status CheckNetworkNamespace(const NetworkNamespace& target) {
  static const LazyRE2 kContainer = {"[A-Za-z0-9][A-Za-z0-9_.-]*"};
  switch (target.target_case()) {
    case NetworkNamespace::kContainer:
      return CheckForm("container", target.container(), kMaxNameBytes,
                       *kContainer, "value-netns-container");
    case NetworkNamespace::kPid:
      if (target.pid() >= 1 && target.pid() <= kMaxPid) break;
      return BadPid(absl::StrCat(target.pid()));
    case NetworkNamespace::kPath:
      return CheckPath(target.path());
    case NetworkNamespace::TARGET_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

absl::StatusOr<NetworkNamespace> ParseNetworkNamespace(absl::string_view text) {
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) {
    return WrongValue("value-netns-form", text);
  }
  const absl::string_view kind = text.substr(0, colon);
  const absl::string_view value = text.substr(colon + 1);
  NetworkNamespace target;
  if (kind == "container") {
    target.set_container(std::string(value));
  } else if (kind == "path") {
    target.set_path(std::string(value));
  } else if (kind == "pid") {
    uint32_t pid = 0;
    if (!ParseDigits(value, &pid)) return BadPid(value);
    target.set_pid(pid);
  } else {
    const std::string nearest = NearestWord(kind, {"container", "pid", "path"});
    return nearest.empty() ? WrongValue("value-netns-kind", kind)
                           : WrongValue("value-netns-near", kind, nearest);
  }
  RETURN_IF_ERROR(CheckNetworkNamespace(target));
  return target;
}

NamespaceFacts::NamespaceFacts(absl::string_view network_namespace,
                               absl::Span<const HostFacts* const> hosts) {
  hosts_.reserve(hosts.size());
  for (const HostFacts* facts : hosts) {
    // A host without facts says why, not where.
    if (facts->has_missing() ||
        facts->network_namespace() == network_namespace) {
      hosts_.push_back(facts);
      continue;
    }
    replaced_.push_back(UnknownHost(*facts, network_namespace));
    hosts_.push_back(&replaced_.back());
  }
}

bool SharesHostNetwork(const HostFacts& facts) {
  return !facts.network_namespace().empty() &&
         facts.kernel().initial_namespace().value();
}

}  // namespace clusterd
