// What the text of a job's training script says about running on many devices.
// The script is never run: its calls are found in the text, without comments
// and strings, so an unusual script is not understood rather than misjudged.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShown = 6;
// More are a text that is made to take time.
constexpr size_t kMaxFound = 64;
constexpr size_t kMaxArguments = 16 << 10;

// Without comments; of texts only single words are left, such as 'hccl' and
// 'npu:{rank}', in single quotes. Every line keeps its number.
std::string CodeOf(absl::string_view script) {
  static const LazyRE2 kToken = {
      R"((?s)(#[^\n]*|"""(?:\\.|[^\\])*?(?:"""|\z)|'''(?:\\.|[^\\])*?(?:'''|\z))"
      R"(|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|[^#"']+))"};
  static const LazyRE2 kWord = {
      R"((?:"""|'''|"|')([\w:.,/{}-]{0,64})(?:"""|'''|"|'))"};
  std::string code;
  std::string token;
  re2::StringPiece rest(script.data(), script.size());
  while (RE2::Consume(&rest, *kToken, &token)) {
    std::string word;
    if (token[0] == '#') continue;
    if (token[0] != '"' && token[0] != '\'') {
      code += token;
      continue;
    }
    HasForm(token, *kWord, &word);
    absl::StrAppend(
        &code, "'", word, "'",
        std::string(std::count(token.begin(), token.end(), '\n'), '\n'));
  }
  return code;
}

struct Call {
  size_t line;
  std::string arguments;
};

class ScriptJudge {
 public:
  ScriptJudge(const ClusterView& view, RuleReport& report)
      : view_(view), report_(report), code_(CodeOf(view.job()->script())) {
    for (const ServerSpec& server : view.spec().servers()) {
      const uint64_t here =
          uint64_t{static_cast<uint32_t>(server.devices_size())} *
          std::max(1u, view.job()->processes_per_device());
      ranks_ += here;
      most_ = std::max(most_, here);
    }
  }

  uint64_t ranks() const { return ranks_; }

  void Judge() {
    JudgeLaunch();
    JudgeDevice();
    JudgeModel();
    JudgeLoaders();
    JudgeNumbers();
    if (untold_.empty()) return;
    report_.AddNote("the text does not tell ", FirstOf(untold_, kMaxShown));
  }

 private:
  bool Has(const std::string& words) const {
    return RE2::PartialMatch(code_, absl::StrCat("\\b(?:", words, ")\\b"));
  }

  size_t LineOf(const re2::StringPiece& rest) const {
    return 1 + std::count(code_.data(), rest.data(), '\n');
  }

  // Of functions of one of these names, whatever stands before the last dot.
  std::vector<Call> Calls(const std::string& names) const {
    const RE2 form(
        absl::StrCat(R"((\b(?:def|class)\s+)?\b(?:)", names, R"()\s*\()"));
    re2::StringPiece rest(code_);
    std::string definition;
    std::vector<Call> calls;
    while (calls.size() < kMaxFound &&
           RE2::FindAndConsume(&rest, form, &definition)) {
      if (!definition.empty()) continue;
      size_t end = 0;
      for (int depth = 1; end < std::min(rest.size(), kMaxArguments); ++end) {
        const char c = rest[end];
        if (c == '\'') end = std::min(rest.find(c, end + 1), rest.size() - 1);
        if (std::strchr("([{", c) != nullptr) ++depth;
        if (std::strchr(")]}", c) != nullptr && --depth == 0) break;
      }
      calls.push_back({LineOf(rest), rest.substr(0, end).as_string()});
    }
    return calls;
  }

  template <typename... Values>
  void Warn(absl::string_view finding, size_t line, const Values&... values) {
    report_.Add(report_.Text(
        finding,
        absl::StrCat(PrintableText(view_.job()->script_file()), ":", line),
        values...));
  }

  // Each "name = value" of that form, with its line.
  template <typename Visit>
  void ForEach(const std::string& text, const RE2& form, Visit visit) const {
    std::string name;
    std::string value;
    re2::StringPiece rest(text);
    for (size_t i = 0; i < kMaxFound; ++i) {
      if (!RE2::FindAndConsume(&rest, form, &name, &value)) return;
      visit(rest, name, value);
    }
  }

  void JudgeLaunch() {
    std::vector<std::pair<size_t, std::string>> others;  // Line and backend.
    std::string backend;
    bool is_chosen = Has("transfer_to_npu");
    for (const Call& each : inits_) {
      if (!RE2::PartialMatch(each.arguments,
                             R"((?:^|\bbackend\s*=)\s*'([\w:,]+)')",
                             &backend)) {
        untold_.push_back(absl::StrCat("the backend of line ", each.line));
        is_chosen = true;
      } else if (absl::StrContains(backend, "hccl")) {
        is_chosen = true;
      } else {
        others.emplace_back(each.line, backend);
      }
      ForEach(each.arguments, R"(\b(rank|world_size)\s*=\s*(\d+)\s*(?:,|$))",
              [&](const auto&, const auto& name, const auto& value) {
                Warn("literal", each.line, name, value);
              });
    }
    // Beside another call such a one is for machines without NPUs.
    for (const auto& [line, name] : others) {
      if (!is_chosen) Warn("backend", line, name);
    }
    if (inits_.empty()) untold_.push_back("which backend is used");
    ForEach(code_,
            R"(\benviron\s*\[\s*'((?:LOCAL_)?RANK|WORLD_SIZE|MASTER_ADDR|)"
            R"(MASTER_PORT)'\s*\]\s*=\s*'([^']+)')",
            [&](const auto& rest, const auto& name, const auto& value) {
              // On one server its own address is right.
              if (view_.spec().servers_size() > 1 ||
                  !absl::StartsWith(name, "MASTER_")) {
                Warn("literal", LineOf(rest), name, value);
              }
            });
  }

  // Whether the script sets the variable from RANK, without a division.
  bool IsRankOfAll(const std::string& variable) const {
    std::string value;
    return RE2::PartialMatch(code_,
                             absl::StrCat(R"((?m)^\s*)", variable,
                                          R"(\s*=([^=%/\n][^%/\n]*)$)"),
                             &value) &&
           RE2::PartialMatch(value, R"('RANK'|\bget_rank\()") &&
           !absl::StrContains(value, "LOCAL_RANK");
  }

  void JudgeDevice() {
    std::string value;
    for (const Call& each : Calls("set_device")) {
      if (RE2::FullMatch(each.arguments, R"(\s*(?:'(?:npu|cuda):)?(\d+)'?\s*)",
                         &value)) {
        Warn("one-device", each.line, value);
      } else if (RE2::FullMatch(each.arguments, R"(\s*(\w+)\s*)", &value) &&
                 view_.spec().servers_size() > 1 && IsRankOfAll(value)) {
        Warn("global-rank", each.line, value);
      }
    }
    if (Has("LOCAL_RANK|local_rank|local-rank")) return;
    if (inits_.empty() || Has("spawn") || view_.job()->method() == "mp-spawn") {
      untold_.push_back("which device a rank takes");
    } else {
      Warn("no-local-rank", inits_[0].line);
    }
  }

  void JudgeModel() {
    std::string value;
    std::string names = "DistributedDataParallel";
    if (RE2::PartialMatch(code_, R"(\bDistributedDataParallel\s+as\s+(\w+))",
                          &value)) {
      absl::StrAppend(&names, "|", value);
    }
    const std::vector<Call> wraps = Calls(names);
    for (const Call& each : wraps) {
      if (RE2::PartialMatch(each.arguments,
                            R"(\bdevice_ids\s*=\s*\[\s*(\d+)\s*\])", &value)) {
        Warn("one-device", each.line, value);
      } else if (!RE2::PartialMatch(each.arguments,
                                    R"(\bdevice_ids\s*=\s*[^N\s]|\*\*)")) {
        Warn("no-device-ids", each.line);
      }
    }
    if (!wraps.empty()) return;
    if (has_wrapper_ || inits_.empty()) {
      untold_.push_back("what wraps the model");
    } else {
      Warn("no-wrapper", inits_[0].line);
    }
  }

  void JudgeLoaders() {
    const std::vector<Call> loaders = Calls("DataLoader");
    const std::vector<Call> samplers = Calls("DistributedSampler");
    bool is_given = false;
    for (const Call& each : loaders) {
      if (!RE2::PartialMatch(each.arguments, R"(sampler\s*=|\*\*)")) continue;
      is_given = true;
      if (RE2::PartialMatch(each.arguments, R"(\bshuffle\s*=\s*True\b)")) {
        Warn("shuffle", each.line);
      }
    }
    const bool is_elsewhere = has_wrapper_ || is_given || inits_.empty();
    if (loaders.empty() || (samplers.empty() && is_elsewhere)) {
      untold_.push_back("how the data are shared out");
    } else if (samplers.empty()) {
      Warn("no-sampler", loaders[0].line);
    } else if (!is_given) {
      Warn("sampler-unused", samplers[0].line);
    }
  }

  // The script's own number of devices, against that of the job.
  void JudgeNumbers() {
    const std::string number = R"((?:\s*=|'[^\n]*\bdefault\s*=)\s*)";
    std::vector<std::string> scaled;
    ForEach(code_,
            absl::StrCat(R"(\b(batch[-_]size|lr|learning[-_]rate))", number,
                         R"((\d[\d.e-]*))"),
            [&](const auto& rest, const auto& name, const auto& value) {
              scaled.push_back(
                  absl::StrCat(name, " ", value, " in line ", LineOf(rest)));
            });
    bool is_told = false;
    ForEach(
        code_,
        absl::StrCat(R"(\b(world[-_]size|n(?:um)?_?(?:npus?|gpus?|devices)|)"
                     R"((?:npus?|gpus?|n?proc|devices)[-_]per[-_]node))",
                     number, R"((\d{1,6})\b)"),
        [&](const auto& rest, const auto& name, const auto& value) {
          is_told = true;
          const uint64_t has = absl::StrContains(name, "node") ? most_ : ranks_;
          if (std::stoul(value) <= has || has == 0) return;
          Warn("fewer-devices", LineOf(rest), name, value, has,
               scaled.empty() ? "not found" : FirstOf(scaled, kMaxShown));
        });
    if (is_told) return;
    untold_.push_back("for how many devices batch size and learning rate are");
  }

  const ClusterView& view_;
  RuleReport& report_;
  const std::string code_;
  const std::vector<Call> inits_ = Calls("init_process_group");
  // Another library may do what the text does not.
  const bool has_wrapper_ = Has(
      "FullyShardedDataParallel|FSDP|fully_shard|deepspeed|accelerate|Trainer|"
      "megatron|mindspeed|lightning|horovod|all_reduce");
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
  if (job.framework() == "tensorflow" || job.framework() == "mindspore") {
    return report.ExplainSkip("scripts of ", job.framework(),
                              " are not understood, those of pytorch are");
  }
  ScriptJudge judge(view, report);
  if (judge.ranks() == 1) return report.ExplainSkip("the job has one rank");
  report.JudgedCluster(absl::StrCat("read ", PrintableText(job.script_file())));
  judge.Judge();
}

}  // namespace clusterd
