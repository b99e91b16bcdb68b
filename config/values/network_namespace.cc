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

namespace clusterd {
namespace {

constexpr absl::string_view kForms =
    "container:NAME, pid:NUMBER or path:/run/netns/NAME";
constexpr size_t kMaxNameBytes = 128;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxQuotedBytes = 80;
constexpr uint32_t kMaxPid = 4194304;  // PID_MAX_LIMIT of 64-bit kernels.

std::string Quote(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::Utf8SafeCEscape(text.substr(0, kMaxQuotedBytes)), "\"");
}

absl::Status Bad(absl::string_view what, absl::string_view expected) {
  return InvalidArgument("network namespace: ", what, ", expected ", expected);
}

// `form` is what `expected` describes; another one is not a valid `noun`.
absl::Status CheckForm(absl::string_view kind, absl::string_view noun,
                       const std::string& text, size_t max_bytes,
                       const RE2& form, absl::string_view expected) {
  const std::string subject = absl::StrCat(kind, " ", Quote(text));
  if (text.size() > max_bytes) {
    return Bad(absl::StrCat(subject, " has ", text.size(), " bytes"),
               absl::StrCat("at most ", max_bytes));
  }
  if (HasForm(text, form)) return absl::OkStatus();
  return Bad(absl::StrCat(subject, " is not a valid ", noun), expected);
}

absl::Status BadPid(absl::string_view pid) {
  return Bad(absl::StrCat("pid ", Quote(pid), " is not a process ID"),
             absl::StrCat("1 to ", kMaxPid));
}

absl::Status CheckPath(const std::string& path) {
  static const LazyRE2 kOfProcess = {R"(/proc/\d+/ns/net)"};
  static const LazyRE2 kBelowRun = {"/(?:var/)?run/[^[:cntrl:]]*", RE2::Latin1};
  constexpr absl::string_view kExpected =
      "a file below /run or /var/run such as /run/netns/NAME";
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (absl::c_linear_search(parts, "..")) {
    return Bad(absl::StrCat("path ", Quote(path), " has \"..\""), kExpected);
  }
  if (absl::StartsWith(path, "/proc/")) {
    return CheckForm("path", "namespace", path, kMaxPathBytes, *kOfProcess,
                     "/proc/PID/ns/net");
  }
  return CheckForm("path", "namespace", path, kMaxPathBytes, *kBelowRun,
                   kExpected);
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
  missing->set_detail(
      network_namespace.empty()
          ? absl::StrCat("it sent facts of network namespace ",
                         facts.network_namespace(), " instead of its own")
          : absl::StrCat("its clusterd sent the host's own facts instead of "
                         "those of network namespace ",
                         network_namespace,
                         "; bring it to the controller's version"));
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
      return CheckForm(
          "container", "name", target.container(), kMaxNameBytes, *kContainer,
          "a letter or digit, then letters, digits, \"_\", \".\" and \"-\"");
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
    return Bad(absl::StrCat(Quote(text), " does not say what it names"),
               kForms);
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
    return Bad(absl::StrCat(Quote(kind), " is not a kind of target"),
               nearest.empty() ? std::string(kForms)
                               : absl::StrCat("\"", nearest, "\""));
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
