#include "daemon/controller/status/status_pages.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/report/message_json.h"
#include "config/report/metrics_text.h"

namespace clusterd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kHtmlType[] = "text/html; charset=utf-8";
constexpr char kJsonType[] = "application/json";
constexpr auto kMetricsAge = std::chrono::seconds(1);

// Names of clusters are letters, digits, ".", "-" and "_".
constexpr char kIndex[] = R"(<!DOCTYPE html>
<html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>clusterd: %s</title>
<h1>clusterd, cluster %s</h1>
<ul>
<li><a href="/report">/report</a>: the newest check of all hosts
<li><a href="/report.json">/report.json</a>: the same for programs
<li><a href="/metrics">/metrics</a>: for Prometheus
<li><a href="/healthz">/healthz</a>: whether this controller gets on
</ul>
)";

HttpAnswer AnswerOf(const char* type, std::string body) {
  HttpAnswer answer;
  answer.type = type;
  answer.body = std::make_shared<const std::string>(std::move(body));
  return answer;
}

HttpPage IndexPage(const std::string& cluster) {
  const HttpAnswer answer =
      AnswerOf(kHtmlType, absl::StrReplaceAll(kIndex, {{"%s", cluster}}));
  return {[answer] { return answer; }};
}

// Made anew only for another report. One call at a time, so no lock.
HttpPage ReportPage(
    std::function<std::shared_ptr<const Report>()> newest, const char* type,
    std::function<absl::StatusOr<std::string>(const Report&)> make) {
  struct Made {
    std::shared_ptr<const Report> of;
    HttpAnswer answer;
  };
  const auto made = std::make_shared<Made>();
  return {[newest = std::move(newest), type, make = std::move(make), made] {
    std::shared_ptr<const Report> report = newest();
    if (report == nullptr) {
      return TextAnswer(404,
                        "no check of the whole cluster has ended yet; "
                        "clusterctl check begins one");
    }
    if (made->of != report) {
      absl::StatusOr<std::string> body = make(*report);
      if (!body.ok()) return TextAnswer(500, body.status().message());
      made->answer = AnswerOf(type, *std::move(body));
      made->of = std::move(report);
    }
    return made->answer;
  }};
}

HttpPage MetricsPage(std::function<ClusterNumbers()> numbers) {
  struct Made {
    Clock::time_point at;
    HttpAnswer answer;
  };
  const auto made = std::make_shared<Made>();
  return {[numbers = std::move(numbers), made] {
    const Clock::time_point now = Clock::now();
    if (made->answer.body == nullptr || now - made->at >= kMetricsAge) {
      made->answer = AnswerOf(kMetricsType, ClusterMetrics(numbers()));
      made->at = now;
    }
    return made->answer;
  }};
}

// What the parts answer to, which may be later than anybody waits.
struct HealthRound {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<size_t> owing;
};

class HealthCheck {
 public:
  HealthCheck(std::vector<WatchdogPart> parts, absl::Duration patience)
      : parts_(std::move(parts)), patience_(patience) {}
  ~HealthCheck() {
    for (const WatchdogPart& part : parts_) part.gate.Close();
  }

  HttpAnswer Answer() {
    const Clock::time_point now = Clock::now();
    if (answer_.body == nullptr ||
        now - at_ >= absl::ToChronoNanoseconds(patience_)) {
      answer_ = Ask();
      at_ = Clock::now();
    }
    return answer_;
  }

 private:
  HttpAnswer Ask() const {
    const auto round = std::make_shared<HealthRound>();
    for (size_t i = 0; i < parts_.size(); ++i) round->owing.insert(i);
    for (size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].ask([round, i] {
        {
          const std::lock_guard<std::mutex> lock(round->mutex);
          round->owing.erase(i);
        }
        round->changed.notify_all();
      });
    }
    std::unique_lock<std::mutex> lock(round->mutex);
    round->changed.wait_for(lock, absl::ToChronoNanoseconds(patience_),
                            [&round] { return round->owing.empty(); });
    std::string text;
    for (size_t i = 0; i < parts_.size(); ++i) {
      absl::StrAppend(
          &text, i == 0 ? "" : "\n", parts_[i].name, ": ",
          round->owing.count(i) == 0
              ? "ok"
              : absl::StrCat("no answer in ", absl::FormatDuration(patience_)));
    }
    return TextAnswer(round->owing.empty() ? 200 : 503, text);
  }

  const std::vector<WatchdogPart> parts_;
  const absl::Duration patience_;
  Clock::time_point at_;
  HttpAnswer answer_;
};

}  // namespace

std::map<std::string, HttpPage> MakeStatusPages(const StatusSources& sources) {
  const auto health =
      std::make_shared<HealthCheck>(sources.parts, sources.patience);
  std::map<std::string, HttpPage> pages;
  pages["/"] = IndexPage(sources.cluster);
  pages["/healthz"] = {[health] { return health->Answer(); },
                       /*is_apart=*/true};
  pages["/metrics"] = MetricsPage(sources.numbers);
  pages["/report"] = ReportPage(sources.newest, kHtmlType, sources.html);
  pages["/report.json"] =
      ReportPage(sources.newest, kJsonType,
                 [](const Report& report) { return MessageJson(report); });
  return pages;
}

}  // namespace clusterd
