// Every rule by name: its input, its function, and its texts, those behind
// `clusterctl explain` and the headings of a report. The rows are data in
// texts/*.textproto, from which the build makes the table. Which finding
// explains which, and which rules an error code of HCCL's leads to.
#ifndef CONFIG_RULES_CATALOGUE_H_
#define CONFIG_RULES_CATALOGUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/plan/make_plan.h"
#include "config/words/terminal.h"
#include "proto/finding.pb.h"

namespace clusterd {

class ClusterView;
class RuleReport;

// The input of a rule; texts/rule_row.proto explains each.
enum class RuleScope { kNamespace, kHost, kDevice, kCluster, kSpec, kAnswers };

struct RuleText {
  absl::string_view title;  // One line: what holds when it passes.
  absl::string_view fails_when;
  absl::string_view why;     // The effect on training.
  absl::string_view fix;     // How to repair it.
  absl::string_view level;   // "fail", "warn", or when which.
  absl::string_view source;  // Public paper or source.
  // The action of a hook with the controller's verdict, without it, and the
  // reason for the latter.
  absl::string_view with_controller;
  absl::string_view alone;
  absl::string_view alone_why;
};

// A finding in words, with $0, $1, … for values; see texts/rule_row.proto.
struct FindingText {
  absl::string_view observed;
  absl::string_view expected;
  absl::string_view why;
  absl::string_view fix;
  absl::string_view fix_without_command;
  absl::string_view short_fix;
};

struct RuleFinding {
  absl::string_view name;
  absl::string_view values;  // Their names: "what/reason".
  State state;
  FindingText english;
  FindingText chinese;
  absl::string_view device_command;
  absl::string_view caused_by;
  absl::string_view explained_by;  // "link/detect-address".
  absl::string_view moving;        // "age/counter".
  bool by_hand;
  bool holds_alone;
  bool fix_names_tool;  // A command line of hccn_tool.

  const FindingText& text() const {
    return CurrentLanguage() == Language::kChinese ? chinese : english;
  }
};

struct Rule {
  absl::string_view name;      // A contract with users: never renamed.
  absl::string_view category;  // "host", "device", …, "cluster" or "job".
  RuleScope scope;
  State level;  // The worst that it says about what it could judge.
  void (*check)(const ClusterView& view, RuleReport& report);
  RuleText english;
  RuleText chinese;
  absl::Span<const RuleFinding> findings;
  // Settings of a plan, "address/gateway": those that fix the rule where it is
  // found, and those that may fix it when set elsewhere.
  absl::string_view fixed_by;
  absl::string_view possible_causes;
  absl::string_view codes;  // Error codes that it leads to: "EI0006/EI0014".
  // It is about the devices' RoCE ports.
  bool needs_roce;
  // It is about the judged job.
  bool needs_job;
  // For hooks; see texts/rule_row.proto.
  bool of_job;
  bool holds_alone;

  const RuleText& text() const {
    return CurrentLanguage() == Language::kChinese ? chinese : english;
  }
  // True if it can judge one host alone.
  bool JudgesOneHost() const;
  // True if it can judge a network namespace other than the host's own.
  bool JudgesNamespaces() const;
  // False: it is only about the spec or the job.
  bool JudgesHosts() const { return scope != RuleScope::kSpec; }
};

// Reports follow this order.
absl::Span<const Rule> RuleCatalogue();

// Findings of several rules.
absl::Span<const RuleFinding> SharedFindings();

// nullptr if there is none.
const Rule* FindRule(absl::string_view name);

std::vector<absl::string_view> RuleNames();

// Arguments of `clusterctl plan --only`: kinds of change that plans have, and
// rules that a step fixes.
std::vector<std::string> StepWords();

// Steps of these kinds, and those that fix these rules; a word that is both is
// the kind. InvalidArgument, a line for each word that is not in StepWords,
// with the nearest.
absl::StatusOr<PlanSelection> SelectSteps(std::vector<std::string> words);

// The meaning of HCCL's code, "EI0006", in one sentence; the same for the name
// of a rule that logs lead to. Empty: not known. The rows are those of
// config/words/texts/codes.textproto; releases have renumbered some codes.
std::string ErrorCodeMeaning(absl::string_view code);

// The rules whose failure leads to the code, as their rows say, and the rule of
// that name; in the catalogue's order.
std::vector<const Rule*> RulesOfErrorCode(absl::string_view code);

// Explains findings that disappear once all devices have planned addresses.
inline constexpr absl::string_view kPlannedAddressRule = "device-ip-planned";

// True if that cause can explain a finding of the rule; empty: any cause.
bool IsExplained(const Rule& rule, absl::string_view cause = "");

// The length of the longest chain of rules, each explained by the one before,
// that ends in this one: 0 if no other explains it.
int CausesBefore(const Rule& rule);

// Finds which finding explains which: link DOWN is why the same device's health
// probe gets no answer, and a wrong netmask why its subnets overlap.
// `explained_by` of the rows in texts/ has the possible causes; this class has
// the actual ones, findings of the catalogue's rules about devices. Different
// threads may note findings of different rules, and ask about rules whose notes
// are complete.
class Causes {
 public:
  Causes();

  struct Place {
    uint32_t host_order = 0;
    std::optional<uint32_t> device = std::nullopt;  // Unset: the host itself.
  };

  void Note(absl::string_view rule, absl::Span<const Place> places,
            State state);
  bool Has(absl::string_view rule) const { return !rules_.at(rule).empty(); }
  // True if the rule found something about the place. A finding about a host is
  // about its devices, too, and the reverse.
  bool HasAt(absl::string_view rule, const Place& place) const;

  // The first rule of "link/detect-address" that found an equally bad thing, or
  // a worse one, about one of the places; empty: none. A device's address does
  // not explain findings of `rule` that `as_planned` still has there.
  std::string Explaining(absl::string_view rule, absl::string_view explained_by,
                         absl::Span<const Place> places, State state,
                         const Causes* as_planned) const;

 private:
  // Each place's worst, and each host's with its devices (kAnyDevice); keyed by
  // one number for fast look-ups.
  using Worst = absl::flat_hash_map<uint64_t, State>;
  static constexpr uint64_t kAnyDevice = (uint64_t{1} << 33) - 1;
  static uint64_t KeyOf(const Place& place) {
    // A host may claim any 32 bits as the id of a device.
    const uint64_t device =
        place.device.has_value() ? uint64_t{1} + *place.device : 0;
    return uint64_t{place.host_order} << 33 | device;
  }
  bool HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                State at_least) const;

  // Has every rule of the catalogue from the beginning.
  absl::flat_hash_map<absl::string_view, Worst> rules_;
};

}  // namespace clusterd

#endif  // CONFIG_RULES_CATALOGUE_H_
