#include "daemon/host/hccn/hccn_tool.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

// Waits of 0.2, 0.4, 0.8 and 1.6 s lie between them.
constexpr int kMaxAttempts = 5;
constexpr absl::Duration kFirstBusyPause = absl::Milliseconds(200);

Missing::Reason ReasonFor(HccnFailure failure) {
  if (failure == HccnFailure::kBusy) return Missing::BUSY;
  if (failure == HccnFailure::kNotPermitted) return Missing::NOT_PERMITTED;
  if (failure == HccnFailure::kNotSupported) return Missing::NOT_SUPPORTED;
  return Missing::TOOL_FAILED;
}

// "None is set" is an answer only to its own query.
bool IsAnswer(HccnFailure failure, const std::vector<std::string>& arguments) {
  return failure == HccnFailure::kNone ||
         (failure == HccnFailure::kNoAddress &&
          absl::c_linear_search(arguments, "-ip")) ||
         (failure == HccnFailure::kNoGateway &&
          absl::c_linear_search(arguments, "-gateway")) ||
         (failure == HccnFailure::kNoCertificate &&
          absl::c_linear_search(arguments, "-tls"));
}

// A tool of one generation parses only the first word of the other's command
// line ("-i" there, "-g" here), and refuses it with this text.
bool IsOtherToolsRefusal(NpuToolFacts::Generation generation,
                         absl::string_view text) {
  return absl::StartsWith(text, generation == NpuToolFacts::ASCEND_950
                                    ? "Get invalid major cmd type."
                                    : "Please specify a valid mode.");
}

absl::string_view NameOf(NpuToolFacts::Generation generation) {
  return generation == NpuToolFacts::ASCEND_950 ? "Ascend 950" : "classic";
}

// Returns clock ticks since boot; none if the process has ended, even as a
// zombie.
std::optional<uint64_t> StartTimeOf(int pid) {
  // Words of proc(5): the name in brackets, which may hold any text, the state,
  // and 19 words later the time.
  static const LazyRE2 kStat = {R"((?s).*\) [^ZX](?: \S+){18} (\d+) .*)",
                                RE2::Latin1};
  // Always this machine's own /proc, since it is a child of this process.
  const absl::StatusOr<FileText> stat =
      FileReader("/").Read(absl::StrCat("/proc/", pid, "/stat"));
  uint64_t start_time = 0;
  if (!stat.ok() || !HasForm(stat->text, *kStat, &start_time)) return {};
  return start_time;
}

enum class Sayer { kBoth, kVaguely, kAscend950 };

struct KnownText {
  HccnFailure failure;
  Sayer sayer;
  absl::string_view prefix;
};

constexpr KnownText kKnownTexts[] = {
#include "daemon/host/hccn/failure_texts.inc"
};

// Returns the meaning of the first known text, with its line to quote.
std::optional<HccnVerdict> FindText(
    Sayer sayer, const std::vector<absl::string_view>& lines) {
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    for (const KnownText& known : kKnownTexts) {
      if (known.sayer == sayer && absl::StartsWith(text, known.prefix)) {
        return HccnVerdict{known.failure, PrintableText(text, kMaxQuotedBytes)};
      }
    }
  }
  return std::nullopt;
}

HccnVerdict Spoken(HccnFailure failure, const FindingValue& words) {
  return {failure, EnglishText(words), words};
}

FindingValue StatusWords(const CommandResult& result,
                         const std::vector<absl::string_view>& lines) {
  const bool by_signal = result.signal != 0;
  const int number = by_signal ? result.signal : result.exit_status;
  if (lines.empty()) {
    return Worded(by_signal ? "fact-signal-silent" : "fact-status-silent",
                  number);
  }
  return Worded(by_signal ? "fact-signal-and" : "fact-status-and", number,
                QuotedText(lines[0]));
}

}  // namespace

absl::StatusOr<std::string> LocateHccnTool(const HostPaths& paths) {
  ASSIGN_OR_RETURN(const std::string prefix,
                   ReadInstallPath(FileReader(paths.root)));
  return FindProgram(paths.root,
                     {absl::StrCat(prefix, "/driver/tools/hccn_tool")});
}

HccnSession::HccnSession(absl::StatusOr<std::string> tool,
                         NpuToolFacts::Generation generation, uint32_t device,
                         CommandRunner* runner, Clock* clock,
                         const TimeBudget* budget, DeviceLocks* locks)
    : tool_(std::move(tool)),
      generation_(generation),
      device_(device),
      runner_(runner),
      clock_(clock),
      budget_(budget),
      locks_(locks) {
  if (!tool_.ok()) {
    stopped_ = MissingFor(tool_.status());
    return;
  }
  absl::StatusOr<DeviceLocks::Lock> lock =
      locks_->Take(device_, budget_->Left(), budget_->asker().changes_host);
  if (lock.ok()) {
    lock_ = *std::move(lock);
    return;
  }
  FindingValue why = MessageWords(lock.status());
  if (absl::IsDeadlineExceeded(lock.status())) {
    why = Worded("fact-waited", why, budget_->HostDeadline());
  }
  stopped_ = MakeMissing(Missing::TIMED_OUT, why);
}

HccnAnswer HccnSession::Ask(absl::string_view query,
                            const std::vector<std::string>& options) {
  const std::string device = absl::StrCat(device_);
  if (generation_ == NpuToolFacts::CLASSIC) {
    return AskWith({"-i", device, std::string(query), "-g"});
  }
  std::vector<std::string> words = {"-g", std::string(query), "-i", device};
  words.insert(words.end(), options.begin(), options.end());
  return AskWith(words);
}

HccnAnswer HccnSession::AskWith(const std::vector<std::string>& arguments) {
  HccnAnswer answer = AskOnce(arguments);
  int attempts = 1;
  for (absl::Duration pause = kFirstBusyPause;
       answer.failure == HccnFailure::kBusy && attempts < kMaxAttempts &&
       Pause(pause);
       pause *= 2) {
    ++attempts;
    answer = AskOnce(arguments);
  }
  if (answer.failure == HccnFailure::kBusy) {
    SetDetail(Worded("fact-asked-times", attempts, DetailOf(*answer.missing)),
              &*answer.missing);
  }
  return answer;
}

HccnAnswer HccnSession::AskOnce(const std::vector<std::string>& arguments) {
  HccnAnswer answer;
  answer.generation = generation_;
  answer.command =
      absl::StrCat("`hccn_tool ", absl::StrJoin(arguments, " "), "`");
  const bool is_skipped = absl::c_any_of(
      arguments,
      [this](const std::string& word) { return skipped_.count(word) > 0; });
  if (is_skipped) {
    answer.missing = MakeMissing(Missing::NOT_QUERIED, Worded("fact-no-rule"));
    return answer;
  }
  if (!stopped_.has_value() && budget_->IsSpent()) {
    stopped_ = MakeMissing(Missing::TIMED_OUT,
                           Worded("fact-not-asked-within", answer.command,
                                  budget_->HostDeadline()));
  }
  if (stopped_.has_value()) {
    answer.missing = stopped_;
    return answer;
  }
  Command command = {{*tool_}, budget_->ForCommand(), instead_};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.needs_driver = true;
  const absl::StatusOr<CommandResult> result = runner_->Run(command);
  if (instead_.has_value() && absl::IsFailedPrecondition(result.status())) {
    // Other queries need no copy. Without the device, equal texts fold.
    answer.missing =
        MakeMissing(Missing::NOT_QUERIED,
                    Worded("fact-no-copy", MessageWords(result.status())));
    return answer;
  }
  if (!result.ok()) {
    stopped_ = MissingFor(result.status());
    answer.missing = stopped_;
    return answer;
  }
  if (result->timed_out) {
    TakeSilence(*result, &answer);
    return answer;
  }
  const HccnVerdict verdict = Classify(*result);
  answer.failure = verdict.failure;
  answer.exit_status = result->exit_status;
  answer.output = result->standard_output;
  answer.errors = result->standard_error;
  if (IsOtherToolsRefusal(generation_, verdict.text)) {
    generation_ = generation_ == NpuToolFacts::ASCEND_950
                      ? NpuToolFacts::CLASSIC
                      : NpuToolFacts::ASCEND_950;
    stopped_ = MakeMissing(
        Missing::TOOL_FAILED,
        Worded("fact-other-tool", answer.command, NameOf(generation_),
               NameOf(answer.generation), PrintableText(verdict.text)));
    answer.missing = stopped_;
  } else if (!IsAnswer(verdict.failure, arguments)) {
    answer.missing = MakeMissing(
        ReasonFor(verdict.failure),
        Worded(kHccnToolSaid, answer.command,
               IsSaid(verdict.words) ? verdict.words
                                     : ToFindingValue(verdict.text)));
  } else if (result->output_cut) {
    answer.missing = MakeMissing(
        Missing::UNREADABLE,
        Worded("fact-output-over", answer.command, kMaxStreamBytes));
  }
  return answer;
}

HccnVerdict HccnSession::Classify(const CommandResult& result) const {
  const HccnVerdict verdict = ClassifyHccnRun(result, NpuToolFacts::ASCEND_950);
  // A classic session recognises only one of that tool's texts: its refusal.
  return generation_ == NpuToolFacts::ASCEND_950 ||
                 IsOtherToolsRefusal(generation_, verdict.text)
             ? verdict
             : ClassifyHccnRun(result);
}

void HccnSession::TakeSilence(const CommandResult& result, HccnAnswer* answer) {
  FindingValue detail =
      Worded("fact-no-answer", answer->command, budget_->CutBy(result.elapsed));
  if (result.left_running) {
    locks_->LeaveBehind(device_, result.pid);
    detail = Worded("fact-left-behind", detail, result.pid);
  }
  answer->missing = MakeMissing(Missing::TIMED_OUT, detail);
  // Not NOT_QUERIED, which stands for a decision not to query.
  stopped_ =
      MakeMissing(Missing::TIMED_OUT, Worded("fact-not-asked-after", detail));
}

absl::StatusOr<DeviceLocks::Lock> DeviceLocks::Take(uint32_t device,
                                                    absl::Duration wait,
                                                    bool changes) {
  const auto end = std::chrono::steady_clock::now() +
                   absl::ToChronoNanoseconds(
                       std::min<absl::Duration>(wait, absl::Hours(24)));
  std::unique_lock<std::mutex> lock(mutex_);
  if (changes) awaited_.insert(device);
  const bool free = changed_.wait_until(lock, end, [&] {
    return in_use_.count(device) == 0 &&
           (changes || awaited_.count(device) == 0);
  });
  if (changes) {
    awaited_.erase(awaited_.find(device));
    // Waiting readers check awaited_, too.
    changed_.notify_all();
  }
  if (!free) {
    return DeadlineWords(awaited_.count(device) > 0 ? "fact-device-changing"
                                                    : "fact-device-observed",
                         device);
  }
  in_use_.insert(device);
  Lock taken(this, Release{device});
  const auto left = left_behind_.find(device);
  if (left == left_behind_.end()) return taken;
  const Process process = left->second;
  // Read /proc without the lock: only the holder changes the device's entry.
  lock.unlock();
  if (StartTimeOf(process.pid) == process.start_time) {
    return PreconditionWords("fact-device-process", device, process.pid);
  }
  lock.lock();
  left_behind_.erase(device);
  return taken;
}

void DeviceLocks::LeaveBehind(uint32_t device, int pid) {
  const std::optional<uint64_t> start_time = StartTimeOf(pid);
  if (!start_time.has_value()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  left_behind_.insert_or_assign(device, Process{pid, *start_time});
}

absl::Status UnexpectedHccnText(absl::string_view text,
                                const FindingValue& expected) {
  return InvalidWords("fact-unexpected", QuotedText(text), expected);
}

std::vector<absl::string_view> HccnDataLines(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "[WARNING] ") ||
        absl::StartsWith(line, "[Warning] ") ||
        line == "Cmd executed successfully!") {
      continue;
    }
    lines.push_back(line);
  }
  return lines;
}

HccnVerdict ClassifyHccnRun(const CommandResult& result,
                            NpuToolFacts::Generation generation) {
  std::vector<absl::string_view> said =
      absl::StrSplit(result.standard_error, '\n', absl::SkipWhitespace());
  std::optional<HccnVerdict> known;
  if (generation == NpuToolFacts::ASCEND_950) {
    known = FindText(Sayer::kAscend950, said);
  }
  // On stdout only a leading text counts: later ones are a device's data.
  const std::vector<absl::string_view> data =
      HccnDataLines(result.standard_output);
  if (!data.empty()) said.push_back(data[0]);

  if (!known.has_value()) known = FindText(Sayer::kBoth, said);
  if (!known.has_value()) known = FindText(Sayer::kVaguely, said);
  if (known.has_value()) return *known;

  if (result.signal == 0 && result.exit_status == 0) return {};
  if (result.exit_status == 234 && said.empty()) {
    return Spoken(HccnFailure::kNotPermitted, Worded("fact-status-234"));
  }
  return Spoken(HccnFailure::kOther, StatusWords(result, said));
}

}  // namespace clusterd
