// What the text of a job's training script says about running on many devices.
// The script is never run: its calls are found in the text, without comments
// and strings, so an unusual script is not understood rather than misjudged.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "config/rules/rule_report.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxShown = 6;

// The script without comments; of texts only single words are left, such as
// "hccl" and "npu:{rank}", in double quotes. Every line keeps its number.
std::string CodeOf(absl::string_view script) {
  static const LazyRE2 kWord = {R"([\w:.,/{}-]{0,64})"};
  std::string code;
  for (size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (c == '#') {
      i = std::min(script.find('\n', i), script.size()) - 1;
    } else if (c != '"' && c != '\'') {
      code += c;
    } else {
      const std::string triple(3, c);
      const bool is_long = absl::StartsWith(script.substr(i), triple);
      const size_t begin = i + (is_long ? 3 : 1);
      size_t end = begin;
      while (end < script.size() &&
             (is_long ? !absl::StartsWith(script.substr(end), triple)
                      : script[end] != c && script[end] != '\n')) {
        end += script[end] == '\\' ? 2 : 1;
      }
      end = std::min(end, script.size());
      const absl::string_view text = script.substr(begin, end - begin);
      absl::StrAppend(
          &code, "\"", HasForm(text, *kWord) ? text : "", "\"",
          std::string(std::count(text.begin(), text.end(), '\n'), '\n'));
      const bool ends_line = end < script.size() && script[end] == '\n';
      i = end + (is_long ? 2 : ends_line ? -1 : 0);
    }
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
    inits_ = Calls("init_process_group");
    converts_ = Has("transfer_to_npu");
    has_wrapper_ =
        Has("FullyShardedDataParallel|FSDP|fully_shard|deepspeed|accelerate|"
            "Trainer|megatron|mindspeed|lightning|horovod|all_reduce");
  }

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

  size_t LineOf(const char* at) const {
    return 1 + std::count(code_.data(), at, '\n');
  }

  // Of functions of one of these names, whatever stands before the last dot.
  std::vector<Call> Calls(const std::string& names) const {
    const RE2 form(
        absl::StrCat(R"((\b(?:def|class)\s+)?\b(?:)", names, R"()\s*\()"));
    re2::StringPiece rest(code_);
    std::string definition;
    std::vector<Call> calls;
    while (RE2::FindAndConsume(&rest, form, &definition)) {
      size_t end = 0;
      for (int depth = 1; end < rest.size(); ++end) {
        if (rest[end] == '"') {
          end = std::min(rest.find('"', end + 1), rest.size() - 1);
        } else if (absl::StrContains("([{", rest.substr(end, 1).as_string())) {
          ++depth;
        } else if (absl::StrContains(")]}", rest.substr(end, 1).as_string()) &&
                   --depth == 0) {
          break;
        }
      }
      if (!definition.empty()) continue;
      calls.push_back({LineOf(rest.data()), rest.substr(0, end).as_string()});
    }
    return calls;
  }

  template <typename... Values>
  void Warn(absl::string_view finding, size_t line, const Values&... values) {
    report_.Add(report_.Text(finding, PrintableText(view_.job()->script_file()),
                             line, values...));
  }

  void JudgeLaunch() {
    static const LazyRE2 kBackend = {
        R"((?:^|[(,]\s*backend\s*=|^\s*backend\s*=)\s*"([\w:,]+)")"};
    static const LazyRE2 kLiteral = {
        R"(\b(rank|world_size)\s*=\s*(\d+)\s*(?:,|$))"};
    static const LazyRE2 kSet = {
        R"(\benviron\s*\[\s*"((?:LOCAL_)?RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT)")"
        R"(\s*\]\s*=\s*"([^"]+)")"};
    std::string name;
    std::string value;
    for (const Call& each : inits_) {
      if (!RE2::PartialMatch(each.arguments, *kBackend, &value)) {
        untold_.push_back(absl::StrCat("the backend of line ", each.line));
      } else if (!absl::StrContains(value, "hccl") && !converts_) {
        Warn("backend", each.line, value);
      }
      re2::StringPiece rest(each.arguments);
      while (RE2::FindAndConsume(&rest, *kLiteral, &name, &value)) {
        Warn("literal", each.line, name, value);
      }
    }
    if (inits_.empty()) untold_.push_back("which backend is used");
    re2::StringPiece rest(code_);
    while (RE2::FindAndConsume(&rest, *kSet, &name, &value)) {
      Warn("literal", LineOf(rest.data()), name, value);
    }
  }

  void JudgeDevice() {
    static const LazyRE2 kConstant = {
      R"(\s*(?:"(?:npu|cuda):)?(\d+)" ?\s*) "};
      static const LazyRE2 kName = {R"(\s*(\w+)\s*)"};
    std::string value;
    const std::vector<Call> sets = Calls("set_device");
    for (const Call& each : sets) {
      if (HasForm(each.arguments, *kConstant, &value)) {
        Warn("one-device", each.line, value);
      } else if (HasForm(each.arguments, *kName, &value) &&
                 view_.spec().servers_size() > 1 &&
                 RE2::PartialMatch(
                     code_, absl::StrCat(R"(\b)", value,
                                         R"(\s*=[^=%\n]*(?:"RANK"|get_rank\())",
                                         R"([^%\n]*\n)"))) {
        Warn("global-rank", each.line, value);
      }
    }
    if (Has("LOCAL_RANK|local_rank|local-rank")) return;
    if (!inits_.empty() && !Has("spawn") &&
        view_.job()->method() != "mp-spawn") {
      Warn("no-local-rank", inits_[0].line);
    } else {
      untold_.push_back("which device a rank takes");
    }
  }

  void JudgeModel() {
    static const LazyRE2 kAlias = {R"(\bDistributedDataParallel\s+as\s+(\w+))"};
    static const LazyRE2 kConstant = {R"(\bdevice_ids\s*=\s*\[\s*(\d+)\s*\])"};
    static const LazyRE2 kIds = {R"(\bdevice_ids\s*=\s*[^N]|\*\*)"};
    std::string name;
    std::string names = "DistributedDataParallel";
    if (RE2::PartialMatch(code_, *kAlias, &name))
      absl::StrAppend(&names, "|", name);
    const std::vector<Call> wraps = Calls(names);
    for (const Call& each : wraps) {
      if (RE2::PartialMatch(each.arguments, *kConstant, &name)) {
        Warn("one-device", each.line, name);
      } else if (!RE2::PartialMatch(each.arguments, *kIds)) {
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
    static const LazyRE2 kSampler = {R"(\b(?:batch_)?sampler\s*=|\*\*)"};
    static const LazyRE2 kShuffle = {R"(\bshuffle\s*=\s*True\b)"};
    const std::vector<Call> loaders = Calls("DataLoader");
    const std::vector<Call> samplers = Calls("DistributedSampler");
    bool is_given = false;
    for (const Call& each : loaders) {
      if (!RE2::PartialMatch(each.arguments, *kSampler)) continue;
      is_given = true;
      if (RE2::PartialMatch(each.arguments, *kShuffle)) {
        Warn("shuffle", each.line);
      }
    }
    if (loaders.empty() || (samplers.empty() && (has_wrapper_ || is_given))) {
      untold_.push_back("how the data are shared out");
    } else if (samplers.empty()) {
      Warn("no-sampler", loaders[0].line);
    } else if (!is_given) {
      Warn("sampler-unused", samplers[0].line);
    }
  }

  // The script's own number of devices, against that of the job.
  void JudgeNumbers() {
    static const LazyRE2 kDevices = {
        R"(\b(world[-_]size|n(?:um)?_?(?:npus?|gpus?|devices)|)"
        R"((?:npus?|gpus?|nproc|devices)[-_]per[-_]node)"
        R"((?:\s*=|"[^\n]*\bdefault\s*=)\s*(\d+)\b)"};
    static const LazyRE2 kScaled = {
        R"(\b(?:batch[-_]size|lr|learning[-_]rate))"
        R"((?:\s*=|"[^\n]*\bdefault\s*=)\s*[\d.]+)"};
    uint64_t ranks = 0;
    uint64_t most = 0;  // On one server.
    for (const ServerSpec& server : view_.spec().servers()) {
      const uint64_t here = static_cast<uint64_t>(server.devices_size()) *
                            std::max(1u, view_.job()->processes_per_device());
      ranks += here;
      most = std::max(most, here);
    }
    std::string lines;
    re2::StringPiece rest(code_);
    while (RE2::FindAndConsume(&rest, *kScaled)) {
      absl::StrAppend(&lines, lines.empty() ? "line " : ", ",
                      LineOf(rest.data()));
    }
    std::string name;
    uint64_t number = 0;
    bool is_told = false;
    rest = code_;
    while (RE2::FindAndConsume(&rest, *kDevices, &name, &number)) {
      is_told = true;
      const uint64_t has = absl::StrContains(name, "node") ? most : ranks;
      if (number <= has || has == 0) continue;
      Warn("fewer-devices", LineOf(rest.data()), name, number, has,
           lines.empty() ? "not found" : lines);
    }
    if (!is_told) {
      untold_.push_back(
          "for how many devices batch size and learning rate are meant");
    }
  }

  const ClusterView& view_;
  RuleReport& report_;
  const std::string code_;
  std::vector<Call> inits_;
  bool converts_ = false;     // torch_npu makes nccl hccl, and cuda npu.
  bool has_wrapper_ = false;  // Another library may do what the text does not.
  std::vector<std::string> untold_;
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
  report.JudgedCluster(absl::StrCat("read ", PrintableText(job.script_file())));
  ScriptJudge(view, report).Judge();
}

}  // namespace clusterd
