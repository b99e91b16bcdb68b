// Judges the text of a job's training script, which is never run. Calls are
// found in the text, without comments and strings, so an unusual script is not
// understood rather than misjudged.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShown = 6;
// More are a text that is made to take time.
constexpr size_t kMaxFound = 64;
constexpr size_t kMaxCalls = 1 << 20;
constexpr size_t kMaxIndent = 32;
constexpr size_t kMaxDepth = 8;  // Calls in arguments of calls.

struct Pattern {
  absl::string_view name;   // A finding, if the text is wrong as it stands.
  absl::string_view where;  // "always" or on "several" servers; "-": see name.
  absl::string_view form;   // Matched with CallsOf if it begins with an @.
};

constexpr Pattern kPatterns[] = {
#include "config/rules/texts/script_patterns.inc"
};

constexpr char kDdp[] = "DistributedDataParallel";

// The form of that name, with texts in place of words.
std::string Form(absl::string_view name,
                 const std::map<std::string, std::string>& words = {}) {
  const auto is_it = [name](const Pattern& each) {
    return each.name == name && each.where == "-";
  };
  return absl::StrReplaceAll(absl::c_find_if(kPatterns, is_it)->form, words);
}

// The lines of the script as "\n16:loader = DataLoader(data)", without
// comments. Of texts only single words are left, such as 'hccl' and
// 'npu:{rank}', in single quotes.
std::string CodeOf(absl::string_view script) {
  static const LazyRE2 kTexts = {
      R"re((?s)(#[^\n]*)|"""(?:([\w:.,/{}-]{0,64})"""|(?:\\.|[^\\])*?(?:"""|\z)))re"
      R"re(|'''(?:([\w:.,/{}-]{0,64})'''|(?:\\.|[^\\])*?(?:'''|\z)))re"
      R"re(|"(?:([\w:.,/{}-]{0,64})"|(?:\\.|[^"\\\n])*"?))re"
      R"re(|'(?:([\w:.,/{}-]{0,64})'|(?:\\.|[^'\\\n])*'?))re"};
  std::string code;
  int line = 0;
  for (const absl::string_view each : absl::StrSplit(script, '\n')) {
    absl::StrAppend(&code, "\n", ++line, ":", each);
  }
  RE2::GlobalReplace(&code, *kTexts, R"(\1'\2\3\4\5')");
  RE2::GlobalReplace(&code, "#[^\n]*", "");
  return code;
}

// The number before the line of such a text in which `part` of it stands.
int LineOf(const std::string& text, const re2::StringPiece& part) {
  const auto at = static_cast<size_t>(part.data() - text.data());
  return std::atoi(&text[text.rfind('\n', at - 1) + 1]);
}

// The code's calls that are judged, without what stands before the last dot,
// each as "\n16@DataLoader data, batch_size=32".
std::string CallsOf(const std::string& code) {
  std::string alias = kDdp;
  RE2::PartialMatch(code, R"(\bDistributedDataParallel\s+as\s+(\w+))", &alias);
  // Texts have no parentheses.
  std::string arguments = "[^()]*";
  for (size_t i = 0; i < kMaxDepth; ++i) {
    arguments = absl::StrCat(R"((?:[^()]|\()", arguments, R"(\))*)");
  }
  const RE2 form(Form("call", {{"ALIAS", alias}, {"ARGUMENTS", arguments}}));
  re2::StringPiece rest(code), inner;
  std::string calls, definition, name;
  while (calls.size() < kMaxCalls &&
         RE2::FindAndConsume(&rest, form, &definition, &name, &inner)) {
    // There are calls in the arguments, too.
    rest = {inner.data(), code.size() - (inner.data() - code.data())};
    if (!definition.empty()) continue;
    arguments = inner.as_string();
    RE2::GlobalReplace(&arguments, R"(\n\d+:|\s)", " ");
    absl::StrAppend(&calls, "\n", LineOf(code, inner), "@",
                    name == alias ? kDdp : name, " ", arguments);
  }
  return calls;
}

// Without what stands below "if rank == 0:", which not every rank does.
std::string ForEveryRank(std::string code) {
  for (size_t i = 0; i < kMaxIndent; ++i) {
    const std::string indent = absl::StrCat(i);
    RE2::GlobalReplace(&code, Form("some-ranks", {{"INDENT", indent}}), "\\1");
  }
  return code;
}

// The calls with a literal for each name that has this value alone.
std::string Resolved(const std::string& code, std::string calls) {
  const RE2 literal(Form("literal-name"));
  re2::StringPiece rest(code);
  std::string name, value;
  for (size_t i = 0; i < kMaxFound; ++i) {
    if (!RE2::FindAndConsume(&rest, literal, &name, &value)) break;
    absl::StrReplaceAll({{"_", "[-_]"}}, &name);
    const RE2 bound(Form("bound", {{"NAME", name}}));
    std::string everywhere = code, given = calls;
    // Arguments of the calls have the same form.
    if (RE2::GlobalReplace(&everywhere, bound, "") ==
        RE2::GlobalReplace(&given, bound, "") + 1) {
      RE2::GlobalReplace(&calls, Form("value", {{"NAME", name}}),
                         absl::StrCat("\\1", value, "\\2"));
    }
  }
  return calls;
}

class ScriptJudge {
 public:
  ScriptJudge(const ClusterView& view, RuleReport& report)
      : view_(view), report_(report), code_(CodeOf(view.job()->script())) {
    const uint64_t each = std::max(1u, view.job()->processes_per_device());
    for (const ServerSpec& server : view.spec().servers()) {
      const auto devices = static_cast<uint64_t>(server.devices_size());
      ranks_ += devices * each;
      most_ = std::max(most_, devices * each);
    }
  }

  uint64_t ranks() const { return ranks_; }

  // Why its text is not understood; empty if it is.
  std::string WhyNot() const {
    if (!Has(Form("import"))) return "the text has no import";
    std::string name = view_.job()->framework();
    if (!Has(Form("torch"))) {
      RE2::PartialMatch(code_, Form("other-framework"), &name);
    }
    return name.empty() || name == "pytorch" ? "" : "a script of " + name;
  }

  bool Has(absl::string_view form) const {
    return RE2::PartialMatch(TextOf(form), absl::StrCat("(?m)", form));
  }

  void Judge() {
    const bool is_one = view_.spec().servers_size() == 1;
    for (const Pattern& each : kPatterns) {
      if (each.where == "always" || (each.where == "several" && !is_one)) {
        Warn(each.name, each.form);
      }
    }
    // Beside another call one for machines without NPUs is right.
    WarnUnless(Has("transfer_to_npu") || Has("@init_process_group .*(?i:hccl)"),
               "backend", Form("backend"), Has(Form("backend-variable")),
               "which backend is used");
    if (!is_one) JudgeRankAsDevice();
    const std::string& method = view_.job()->method();
    const bool has_option = Has(Form("local-rank-option"));
    // Only that launcher gives its ranks the option.
    WarnUnless(Has(Form("local-rank")) || (is_one && Has(Form("rank"))) ||
                   (has_option && method == "torch-distributed-launch"),
               "no-local-rank", Form("init"),
               Has(Form("device-elsewhere")) || method == "mp-spawn" ||
                   (has_option && !absl::StartsWith(method, "torch")),
               "which device a rank takes");
    JudgeModel();
    JudgeNumbers();
    if (untold_.empty()) return;
    report_.AddNote("the text does not tell ", FirstOf(untold_, kMaxShown));
  }

 private:
  const std::string& TextOf(absl::string_view form) const {
    return form[0] == '@' ? calls_ : code_;
  }

  // Calls visit(line, group, group) where that form is found.
  template <typename Visit>
  void ForEach(absl::string_view form, Visit visit) const {
    const RE2 compiled(absl::StrCat("(?m)", form, "()()"));
    const std::string& text = TextOf(form);
    re2::StringPiece first, second, rest(text);
    for (size_t i = 0; i < kMaxFound; ++i) {
      if (!RE2::FindAndConsume(&rest, compiled, &first, &second)) return;
      visit(LineOf(text, first), first.as_string(), second.as_string());
    }
  }

  template <typename... Values>
  void WarnAt(int line, absl::string_view finding, const Values&... values) {
    report_.Add(report_.Text(
        finding,
        absl::StrCat(PrintableText(view_.job()->script_file()), ":", line),
        values...));
  }

  void Warn(absl::string_view finding, absl::string_view form) {
    ForEach(form, [&](int line, const auto& first, const auto& second) {
      WarnAt(line, finding, first, second);
    });
  }

  // Unless it is right, or not told since something else may do it.
  void WarnUnless(bool is_right, absl::string_view finding,
                  absl::string_view form, bool may_be_elsewhere,
                  const char* untold) {
    if (is_right) return;
    if (!may_be_elsewhere && Has(form) && Has(Form("init"))) {
      Warn(finding, form);
    } else {
      untold_.push_back(untold);
    }
  }

  // The device by a variable that is set from RANK, without a division.
  void JudgeRankAsDevice() {
    ForEach(Form("device-name"), [&](int line, const auto& name, const auto&) {
      if (Has(Form("from-rank", {{"NAME", name}}))) {
        WarnAt(line, "global-rank", name);
      }
    });
  }

  void JudgeModel() {
    const bool has_wrapper = Has(Form("wrapper"));
    const bool has_sampler = Has(Form("sampler"));
    const bool is_given = Has(Form("sampler-given"));
    WarnUnless(Has("@DistributedDataParallel "), "no-wrapper", Form("init"),
               has_wrapper, "what wraps the model");
    const RE2 device(Form("device-ids"));
    ForEach("@DistributedDataParallel (.*)",
            [&](int line, const auto& arguments, const auto&) {
              if (RE2::PartialMatch(arguments, device)) return;
              WarnAt(line, "no-device-ids");
            });
    constexpr char kShared[] = "how the data are shared out";
    WarnUnless(has_sampler, "no-sampler", Form("loader"),
               is_given || has_wrapper, kShared);
    WarnUnless(is_given || !has_sampler, "sampler-unused", Form("sampler"),
               !Has(Form("loader")), kShared);
  }

  // The script's own number of devices, against that of the job.
  void JudgeNumbers() {
    std::vector<std::string> scaled;
    ForEach(Form("scaled"), [&](int line, const auto& name, const auto& value) {
      scaled.push_back(absl::StrCat(name, " ", value, " in line ", line));
    });
    bool is_told = false;
    ForEach(
        Form("devices"), [&](int line, const auto& name, const auto& value) {
          const uint64_t number = std::stoul(value);
          const uint64_t has = HasForm(name, "(?i).*node.*") ? most_ : ranks_;
          // A script has 1 until its launch gives it another number.
          is_told |= number > 1 && has > 0;
          if (number <= has || has == 0) return;
          WarnAt(line, "fewer-devices", name, value, has,
                 scaled.empty() ? "not found" : FirstOf(scaled, kMaxShown));
        });
    if (is_told) return;
    untold_.push_back("for how many devices batch size and learning rate are");
  }

  const ClusterView& view_;
  RuleReport& report_;
  const std::string code_;
  const std::string calls_ = Resolved(code_, CallsOf(ForEveryRank(code_)));
  std::vector<std::string> untold_;
  uint64_t ranks_ = 0;
  uint64_t most_ = 0;  // On one server.
};

}  // namespace

void CheckJobScript(const ClusterView& view, RuleReport& report) {
  const JobSpec& job = *view.job();
  if (job.script().empty()) {
    return report.ExplainSkip("the job names no script");
  }
  ScriptJudge judge(view, report);
  if (judge.ranks() == 1) return report.ExplainSkip("the job has one rank");
  const std::string why = judge.WhyNot();
  if (!why.empty()) return report.ExplainSkip("not understood: ", why);
  report.JudgedCluster(absl::StrCat("read ", PrintableText(job.script_file())));
  judge.Judge();
}

}  // namespace clusterd
