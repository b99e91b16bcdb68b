#include "daemon/controller/notify/news_sender.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/report/message_json.h"
#include "config/report/report_diff.h"
#include "config/report/verdict.h"
#include "config/values/hostlist.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "google/protobuf/struct.pb.h"

namespace clusterd {
namespace {

std::string OneLineJson(const google::protobuf::Message& message) {
  std::string line = OnOneLine(MessageJson(message));
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

// Escapes any text, even one that is not a valid name.
std::string JsonText(const std::string& text) {
  google::protobuf::Value value;
  value.set_string_value(text);
  return OneLineJson(value);
}

constexpr absl::Duration kTryAgainAfter[] = {
    absl::Seconds(5), absl::Seconds(30), absl::Minutes(2)};
constexpr absl::Duration kThenEvery = absl::Minutes(2);
constexpr absl::Duration kGiveUpAfter = absl::Hours(24);

// The notifier in a lane's key.
std::string NotifierKey(const std::string& lane) {
  return lane.substr(lane.find('\n') + 1);
}

constexpr size_t kMostStarted = 5;  // Rules in a text.
constexpr int kHostColumns = 60;

// "new: link on node[01-02], mtu on node07"; empty: nothing.
std::string StartedText(const NewFailures& started) {
  std::vector<std::string> texts;
  for (const auto& [rule, hosts] : started) {
    texts.push_back(
        absl::StrCat(rule, Part(" on ", HostsText(hosts, kHostColumns))));
  }
  return texts.empty() ? ""
                       : absl::StrCat("new: ", FirstOf(texts, kMostStarted));
}

}  // namespace

std::string NewsText(const VerdictNews& news) {
  const State verdict = KnownState(news.report.verdict());
  return absl::StrCat(
      "schedule ", news.report.schedule(), ": ", StateWord(verdict),
      KnownState(news.before) == verdict
          ? Part(", ", StartedText(news.started))
          : absl::StrCat(", was ", StateWord(KnownState(news.before))),
      " (check ", news.report.run_id(), ")");
}

std::string NewsJson(VerdictNews news) {
  DropIf(news.report.mutable_hosts(),
         [](const HostStatus& host) { return host.state() == PASS; });
  google::protobuf::Struct started;
  for (const auto& [rule, names] : news.started) {
    (*started.mutable_fields())[rule].set_string_value(FoldHostlist(names));
  }
  return absl::StrCat(
      "{\"schema_version\":1,\"cluster\":", JsonText(news.report.cluster()),
      ",\"schedule\":", JsonText(news.report.schedule()),
      ",\"run_id\":", JsonText(news.report.run_id()),
      ",\"verdict_before\":", JsonText(StateWord(KnownState(news.before))),
      ",\"verdict\":", JsonText(StateWord(KnownState(news.report.verdict()))),
      ",\"summary\":",
      JsonText(
          JoinParts("; ", {CountsText(news.report.rule_counts()),
                           DiffSummary(news.diff), StartedText(news.started)})),
      ",\"new_failures\":", OneLineJson(started),
      ",\"diff\":", OneLineJson(news.diff),
      ",\"report\":", OneLineJson(news.report), "}\n");
}

void NewsSender::ReadSpec(const ClusterSpec& spec) {
  std::map<std::string, Notifier> now;
  for (const Notifier& to : spec.notify()) now[to.SerializeAsString()] = to;
  std::vector<std::string> begun;
  {
    absl::MutexLock lock(&mutex_);
    std::map<std::string, NotifiedPtr> left;  // The newest of each schedule.
    for (auto& [key, lane] : lanes_) {
      const bool is_gone = now.count(NotifierKey(key)) == 0;
      const bool was_gone = std::exchange(lane.is_gone, is_gone);
      if (!is_gone || was_gone) continue;
      const NotifiedPtr& note =
          lane.waiting != nullptr ? lane.waiting : lane.current;
      NotifiedPtr& newest = left[note->schedule];
      if (newest == nullptr || newest->number < note->number) newest = note;
    }
    now.swap(notify_);
    for (const auto& [key, to] : notify_) {
      if (now.count(key) != 0) continue;
      for (const auto& [schedule, note] : left) GiveLocked(to, note, &begun);
    }
  }
  for (const std::string& key : begun) TellSoon(key);
}

void NewsSender::Send(VerdictNews news) {
  auto note = std::make_shared<Notified>();
  {
    absl::MutexLock lock(&mutex_);
    if (notify_.empty()) return;
    note->number = ++last_number_;
  }
  note->schedule = news.report.schedule();
  note->text = NewsText(news);
  note->json = NewsJson(std::move(news));
  std::vector<std::string> begun;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, to] : notify_) GiveLocked(to, note, &begun);
  }
  for (const std::string& key : begun) TellSoon(key);
}

void NewsSender::GiveLocked(const Notifier& to, const NotifiedPtr& note,
                            std::vector<std::string>* begun) {
  const std::string key =
      absl::StrCat(note->schedule, "\n", to.SerializeAsString());
  const auto [lane, is_new] = lanes_.try_emplace(key);
  lane->second.to = to;
  lane->second.waiting = note;
  if (is_new) begun->push_back(key);
}

void NewsSender::TellSoon(const std::string& lane) {
  {
    absl::MutexLock lock(&mutex_);
    const auto [turn, is_free] = turns_.try_emplace(NotifierKey(lane));
    if (!is_free) {
      turn->second.push_back(lane);
      return;
    }
  }
  gate_.RunSoon(&pool_, scheduler_, [this, lane] { TellNext(lane); });
}

void NewsSender::EndTurn(const std::string& lane) {
  std::string next;
  {
    absl::MutexLock lock(&mutex_);
    const auto turn = turns_.find(NotifierKey(lane));
    if (turn->second.empty()) {
      turns_.erase(turn);
      return;
    }
    next = std::move(turn->second.front());
    turn->second.pop_front();
  }
  gate_.RunSoon(&pool_, scheduler_, [this, next] { TellNext(next); });
}

void NewsSender::TellNext(const std::string& key) {
  Notifier to;
  NotifiedPtr note;
  NotifiedPtr given_up;  // For something newer, before its next try.
  size_t tries = 0;
  absl::Time began;
  bool is_gone = false;
  {
    absl::MutexLock lock(&mutex_);
    Lane& lane = lanes_[key];
    if (lane.waiting != nullptr) {
      given_up = std::exchange(lane.current, nullptr);
      lane.current = std::exchange(lane.waiting, nullptr);
      lane.tries = 0;
      lane.began = scheduler_->Now();
    }
    to = lane.to;
    note = lane.current;
    tries = lane.tries++;
    began = lane.began;
    is_gone = lane.is_gone;
    if (is_gone) lanes_.erase(key);
  }
  if (given_up != nullptr) {
    LogResult(to, *given_up, absl::UnavailableError("there is newer news"));
  }
  if (is_gone) {
    LogResult(to, *note,
              absl::UnavailableError("cluster.yaml no longer has it"));
    return EndTurn(key);
  }
  const absl::StatusOr<std::string> result =
      RunNotifierCommand({to.command().begin(), to.command().end()}, note->json,
                         absl::Milliseconds(to.deadline_ms()), stop_.fd());
  bool newer = false;
  bool may_again = absl::IsUnavailable(result.status()) &&
                   scheduler_->Now() - began < kGiveUpAfter;
  {
    absl::MutexLock lock(&mutex_);
    Lane& lane = lanes_[key];
    newer = lane.waiting != nullptr;
    may_again = may_again && !lane.is_gone;
    if (newer) lane.current = nullptr;
    if (!newer && !may_again) lanes_.erase(key);
  }
  if (may_again && !newer) {
    const bool quick = tries < std::size(kTryAgainAfter);
    if (tries == std::size(kTryAgainAfter)) {
      log_->Warning(note->text, ": not notified ", to.command(0),
                    " yet, trying again every 2 minutes for a day: ",
                    result.status().message());
    }
    scheduler_->RunAfter(quick ? kTryAgainAfter[tries] : kThenEvery,
                         gate_.Wrap([this, key] { TellSoon(key); }));
  } else {
    LogResult(to, *note, result);
    if (newer) TellSoon(key);
  }
  EndTurn(key);
}

void NewsSender::LogResult(const Notifier& to, const Notified& note,
                           const absl::StatusOr<std::string>& result) const {
  if (result.ok()) {
    log_->Info(note.text, ": notified ", to.command(0), Part(": ", *result));
  } else {
    log_->Error(note.text, ": could not notify ", to.command(0), ": ",
                result.status().message());
  }
}

void NewsSender::Stop() {
  stop_.Set();
  gate_.Close();
}

}  // namespace clusterd
