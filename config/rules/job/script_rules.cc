// Judges the text of a job's training script, which is never run. Calls are
// found in the text, without comments and strings, so an unusual script is not
// understood rather than misjudged.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// A text with more is made to take time.
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

// The form of that name, with texts in place of words.
std::string Form(absl::string_view name,
                 const std::map<std::string, std::string>& words = {}) {
  const auto is_it = [name](const Pattern& each) {
    return each.name == name && each.where == "-";
  };
  return absl::StrReplaceAll(absl::c_find_if(kPatterns, is_it)->form, words);
}

// The lines of the script as "\n16:loader = DataLoader(data)", without
// comments. Keeps only texts of a single word, such as 'hccl' and 'npu:{rank}',
// in single quotes; {os.environ["RANK"]} in one is {RANK}.
std::string CodeOf(absl::string_view script) {
  static const LazyRE2 kTexts = {
      R"re((?s)(#[^\n]*)|(?:\b[fFrRbBuU]{1,2})?(?:)re"
      R"re("""(?:([\w:.,/{}-]{0,64})"""|(?:\\.|[^\\])*?(?:"""|\z)))re"
      R"re(|'''(?:([\w:.,/{}-]{0,64})'''|(?:\\.|[^\\])*?(?:'''|\z)))re"
      R"re(|"(?:([\w:.,/{}-]{0,64})"|(?:\\.|[^"\\\n])*"?))re"
      R"re(|'(?:([\w:.,/{}-]{0,64})'|(?:\\.|[^'\\\n])*'?)))re"};
  std::string code;
  int line = 0;
  for (const absl::string_view each : absl::StrSplit(script, '\n')) {
    absl::StrAppend(&code, "\n", ++line, ":", each);
  }
  RE2::GlobalReplace(&code, Form("variable-in-text"), R"({\1\2})");
  RE2::GlobalReplace(&code, *kTexts, R"(\1'\2\3\4\5')");
  RE2::GlobalReplace(&code, "#[^\n]*", "");
  return code;
}

// The number before the line of such a text that contains `part` of it.
int LineOf(const std::string& text, const re2::StringPiece& part) {
  const auto at = static_cast<size_t>(part.data() - text.data());
  return std::atoi(&text[text.rfind('\n', at - 1) + 1]);
}

// Leaves out the code below conditions of these forms, at any indentation.
std::string Without(const std::vector<absl::string_view>& forms,
                    std::string code) {
  for (size_t i = 0; i < kMaxIndent; ++i) {
    std::map<std::string, std::string> words = {{"INDENT", absl::StrCat(i)}};
    words["BODY"] = Form("body", words);
    for (const absl::string_view each : forms) {
      RE2::GlobalReplace(&code, Form(each, words), "\\1");
    }
  }
  return code;
}

// Renames calls through an alias, as after "import DataLoader as Loader".
std::string WithoutAliases(const std::string& code) {
  const RE2 form(Form("alias"));
  re2::StringPiece rest(code);
  std::string renamed = code, name, alias, left, right;
  for (size_t i = 0; i < kMaxFound; ++i) {
    if (!RE2::FindAndConsume(&rest, form, &name, &alias, &left, &right)) break;
    RE2::GlobalReplace(&renamed, absl::StrCat("\\b", alias, left, R"((\s*\())"),
                       absl::StrCat(name, right, "\\1"));
  }
  return renamed;
}

// The judged calls of the code, without the part before the last dot, each as
// "\n16@DataLoader name=loader, data, batch_size=32"; others have no name.
std::string CallsOf(const std::string& code) {
  // Texts have no parentheses.
  std::string arguments = "[^()]*";
  for (size_t i = 0; i < kMaxDepth; ++i) {
    arguments = absl::StrCat(R"((?:[^()]|\()", arguments, R"(\))*)");
  }
  const RE2 form(Form("call", {{"ARGUMENTS", arguments}}));
  re2::StringPiece rest(code), inner;
  std::string calls, left, definition, name;
  while (calls.size() < kMaxCalls &&
         RE2::FindAndConsume(&rest, form, &left, &definition, &name, &inner)) {
    // There are calls in the arguments, too.
    rest = {inner.data(), code.size() - (inner.data() - code.data())};
    if (!definition.empty()) continue;
    if (name == "DataLoader") absl::StrAppend(&name, " name=", left, ",");
    arguments = inner.as_string();
    RE2::GlobalReplace(&arguments, R"(\n\d+:|\s)", " ");
    absl::StrAppend(&calls, "\n", LineOf(code, inner), "@", name, " ",
                    arguments);
  }
  return calls;
}

// The calls with a literal for each name that has only this value.
std::string Resolved(const std::string& code, std::string calls) {
  const RE2 literal(Form("literal-name"));
  re2::StringPiece rest(code);
  // A name may stand in the value of a later one, which comes first here.
  std::vector<std::pair<std::string, std::string>> literals;
  for (std::string name, value;
       literals.size() < kMaxFound &&
       RE2::FindAndConsume(&rest, literal, &name, &value);) {
    literals.insert(literals.begin(), {name, value});
  }
  for (auto& [name, value] : literals) {
    absl::StrReplaceAll({{"_", "[-_]"}}, &name);
    const RE2 bound(Form("bound", {{"NAME", name}}));
    std::string everywhere = code, given = calls;
    // Arguments of the calls have the same form.
    if (RE2::GlobalReplace(&everywhere, bound, "") ==
        RE2::GlobalReplace(&given, bound, "") + 1) {
      RE2::GlobalReplace(&calls, Form("value", {{"NAME", name}}),
                         absl::StrCat("\\1", value, "\\2"));
      RE2::GlobalReplace(&calls, Form("value-in-text", {{"NAME", name}}),
                         absl::StrReplaceAll(value, {{"'", ""}}));
    }
  }
  return calls;
}

// The calls' arguments with the names from the signatures.
std::string Named(const std::string& calls) {
  std::string named;
  for (absl::string_view line :
       absl::StrSplit(calls, '\n', absl::SkipEmpty())) {
    const std::string call = absl::StrCat(line, ",");
    const size_t at = call.find('@') + 1, blank = call.find(' ');
    const std::vector<std::string> names =
        absl::StrSplit(Form(call.substr(at, blank - at)), ',');
    absl::StrAppend(&named, "\n", call.substr(0, blank), " ");
    size_t place = 0, begin = blank, depth = 0;
    bool in_text = false;
    for (size_t i = blank; i < call.size(); ++i) {
      const char c = call[i];
      if (in_text ^= c == '\'') continue;
      depth += absl::StrContains("([{", c) - absl::StrContains(")]}", c);
      if (c != ',' || depth > 0) continue;
      std::string each(absl::StripAsciiWhitespace(
          absl::string_view(call).substr(begin, i - begin)));
      begin = i + 1;
      if (each.empty()) continue;
      // The places behind *values are not known.
      if (each[0] == '*') place = names.size();
      const bool is_keyword = each.find('=') < each.find_first_of("([{'");
      if (!is_keyword && place < names.size()) {
        each.insert(0, names[place++] + "=");
      }
      absl::StrAppend(&named, each, ", ");
    }
  }
  return named;
}

class ScriptJudge {
 public:
  ScriptJudge(const ClusterView& view, RuleReport& report)
      : view_(view), report_(report) {
    const uint64_t each = std::max(1u, view.job()->processes_per_device());
    for (const ServerSpec& server : view.spec().servers()) {
      const auto devices = static_cast<uint64_t>(server.devices_size());
      ranks_ += devices * each;
      most_ = std::max(most_, devices * each);
    }
  }

  uint64_t ranks() const { return ranks_; }

  // Why the script's text is not understood; no words if it is.
  FindingValue WhyNot() const {
    if (!Has(Form("import"))) return Worded("script-no-import");
    std::string name = view_.job()->framework();
    if (!Has(Form("torch"))) {
      RE2::PartialMatch(code_, Form("other-framework"), &name);
    }
    if (name.empty() || name == "pytorch") return {};
    return Worded("script-of-other", name);
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
    WarnUnless(Has("transfer_to_npu") || Has(Form("hccl")), "backend",
               Form("backend"), Has(Form("backend-variable")),
               "script-backend");
    // A variable that is set from RANK, without a division.
    ForEach(Form("rank-name"), [&](int, const auto& name, const auto&) {
      const std::map<std::string, std::string> words = {{"NAME", name}};
      if (is_one || Has(Form("local-name", words))) return;
      Warn("global-rank", Form("rank-device", words));
    });
    const std::string& method = view_.job()->method();
    const bool has_option = Has(Form("local-rank-option"));
    const auto is_device = [](const auto& found) {
      return found.first[0] == "one-device" || found.first[0] == "global-rank";
    };
    // Only that launcher gives its ranks the option.
    WarnUnless(absl::c_any_of(found_, is_device) || Has(Form("local-rank")) ||
                   (is_one && Has(Form("rank"))) ||
                   (has_option && method == "torch-distributed-launch"),
               "no-local-rank", Form("init"),
               Has(Form("device-elsewhere")) || Has(Form("wrapper")) ||
                   method == "mp-spawn" ||
                   (has_option && !absl::StartsWith(method, "torch")),
               "script-device");
    JudgeModel();
    for (const auto& [found, lines] : found_) {
      WarnAt(absl::StrJoin(lines, ", "), found[0], found[1], found[2]);
    }
    JudgeNumbers();
    if (unclear_.empty()) return;
    report_.Note("script-unclear", Listed(unclear_, kMaxFound));
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
  void WarnAt(absl::string_view lines, absl::string_view finding,
              const Values&... values) {
    report_.Add(report_.Named(
        finding,
        absl::StrCat(PrintableText(view_.job()->script_file()), ":", lines),
        values...));
  }

  // One finding for all lines of the same mistake.
  void Warn(absl::string_view finding, absl::string_view form) {
    ForEach(form, [&](int line, const auto& first, const auto& second) {
      found_[{std::string(finding), first, second}].insert(line);
    });
  }

  // Warns unless it is right, or other code may do it. `unclear`: words for it.
  void WarnUnless(bool is_right, absl::string_view finding,
                  absl::string_view form, bool may_be_elsewhere,
                  const char* unclear) {
    if (is_right) return;
    if (!may_be_elsewhere && Has(form) && Has(Form("init"))) {
      Warn(finding, form);
    } else {
      unclear_.push_back(Worded(unclear));
    }
  }

  void JudgeModel() {
    constexpr char kAll[] = "@DistributedDataParallel ()";
    WarnUnless(Has(kAll), "no-wrapper", Form("init"),
               Has(Form("wrapper")) || Has(Form("all-reduce")),
               "script-wrapper");
    // Beside another call one for machines without NPUs is right.
    if (!Has(Form("device-ids"))) {
      Warn("no-device-ids", kAll);
    } else if (!Has(Form("given-ids"))) {
      unclear_.push_back(Worded("script-model-device"));
    }
    const bool has_sampler = Has(Form("sampler"));
    const bool is_given = Has(Form("sampler-given"));
    const bool may_share = Has(Form("wrapper")) || Has(Form("shard"));
    constexpr char kShared[] = "script-data";
    WarnUnless(has_sampler, "no-sampler", Form("loader"), is_given || may_share,
               kShared);
    WarnUnless(is_given || !has_sampler, "sampler-unused", Form("sampler"),
               !Has(Form("loader")), kShared);
    if (!has_sampler || !is_given) return;
    ForEach(Form("other-loader"), [&](int line, const auto& has, const auto&) {
      if (RE2::PartialMatch(has, Form("own-share"))) return;
      if (RE2::PartialMatch(has, Form("for-training")) && !may_share) {
        found_[{"loader-unshared", "", ""}].insert(line);
      } else {
        unclear_.push_back(Worded("script-loads", line));
      }
    });
  }

  // The script's own number of devices, against that of the job.
  void JudgeNumbers() {
    std::vector<FindingValue> scaled;
    ForEach(Form("scaled"), [&](int line, const auto& name, const auto& value) {
      scaled.push_back(Worded("script-scaled", name, value, line));
    });
    bool is_clear = false;
    ForEach(Form("devices"), [&](int line, const auto& name,
                                 const auto& value) {
      const uint64_t number = std::stoul(value);
      const uint64_t has = HasForm(name, "(?i)l.*|.*per.*") ? most_ : ranks_;
      // A script has 1 until its launch gives it another number.
      is_clear |= number > 1 && has > 0;
      if (number <= has || has == 0) return;
      WarnAt(absl::StrCat(line), "fewer-devices", name, value, has,
             scaled.empty() ? Worded("script-none-scaled")
                            : Listed(scaled, kMaxFound));
    });
    if (!is_clear) unclear_.push_back(Worded("script-scale"));
  }

  const ClusterView& view_;
  RuleReport& report_;
  const std::string code_ =
      Without({"launched", "fallback"}, CodeOf(view_.job()->script()));
  const std::string calls_ = Named(Resolved(
      code_,
      CallsOf(WithoutAliases(Without({"other-ranks", "some-ranks"}, code_)))));
  std::map<std::vector<std::string>, std::set<int>> found_;  // Their lines.
  std::vector<FindingValue> unclear_;
  uint64_t ranks_ = 0;
  uint64_t most_ = 0;  // On one server.
};

}  // namespace

void CheckJobScript(const ClusterView& view, RuleReport& report) {
  const JobSpec& job = *view.job();
  if (job.script().empty()) {
    return report.SkipFor("job-no-script");
  }
  ScriptJudge judge(view, report);
  if (judge.ranks() == 1) return report.SkipFor("job-one-rank");
  const FindingValue why = judge.WhyNot();
  if (!why.words().empty()) {
    return report.SkipFor("script-not-understood", why);
  }
  report.JudgedCluster(Worded("script-read", PrintableText(job.script_file())));
  judge.Judge();
}

}  // namespace clusterd
