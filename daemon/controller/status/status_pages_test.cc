#include "daemon/controller/status/status_pages.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StatusPagesTest : public testing::Test {
 protected:
  HttpAnswer Page(const std::string& path) { return pages().at(path).make(); }

  std::map<std::string, HttpPage>& pages() {
    if (pages_.empty()) {
      StatusSources sources;
      sources.cluster = "demo";
      sources.numbers = [this] {
        ++gathered_;
        return ClusterNumbers();
      };
      sources.newest = [this] { return newest_; };
      sources.html = [this](const Report& report) {
        ++rendered_;
        return html_.ok() ? report.run_id() : html_;
      };
      sources.parts = std::move(parts_);
      sources.patience = absl::Milliseconds(50);
      pages_ = MakeStatusPages(sources);
    }
    return pages_;
  }

  void SetNewest(const std::string& run_id) {
    auto report = std::make_shared<Report>();
    report->set_run_id(run_id);
    newest_ = report;
  }

  std::shared_ptr<const Report> newest_;
  absl::StatusOr<std::string> html_ = "";
  int rendered_ = 0;
  int gathered_ = 0;
  std::vector<WatchdogPart> parts_;
  std::map<std::string, HttpPage> pages_;
};

TEST_F(StatusPagesTest, AReportIsRenderedOnceForAllWhoRead) {
  EXPECT_EQ(Page("/report").code, 404);
  EXPECT_THAT(*Page("/report.json").body, HasSubstr("clusterctl check"));
  SetNewest("first");
  const HttpAnswer one = Page("/report");
  EXPECT_EQ(one.code, 200);
  EXPECT_EQ(*one.body, "first");
  EXPECT_THAT(one.type, HasSubstr("text/html"));
  EXPECT_EQ(Page("/report").body, one.body);
  EXPECT_EQ(rendered_, 1);
  SetNewest("second");
  EXPECT_EQ(*Page("/report").body, "second");
  EXPECT_EQ(rendered_, 2);
  EXPECT_EQ(*one.body, "first");  // A client may still be reading it.
  EXPECT_THAT(*Page("/report.json").body, HasSubstr("\"run_id\": \"second\""));
}

TEST_F(StatusPagesTest, AReportThatCannotBeShownIsSaid) {
  SetNewest("first");
  html_ = absl::InternalError("html: bad template");
  EXPECT_EQ(Page("/report").code, 500);
  EXPECT_EQ(*Page("/report").body, "html: bad template\n");
}

TEST_F(StatusPagesTest, AFloodOfScrapesGathersOnce) {
  const auto began = std::chrono::steady_clock::now();
  const HttpAnswer first = Page("/metrics");
  EXPECT_EQ(first.type, "text/plain; version=0.0.4");
  EXPECT_THAT(*first.body, HasSubstr("clusterd_build_info{version="));
  for (int i = 0; i < 100; ++i) Page("/metrics");
  // At most once more in each second that this takes.
  const absl::Duration took =
      absl::FromChrono(std::chrono::steady_clock::now() - began);
  EXPECT_LE(gathered_, 1 + absl::ToInt64Seconds(took));
}

TEST_F(StatusPagesTest, HealthNamesEachPartAndWhatIsStuck) {
  std::function<void()> late;
  bool is_stuck = false;
  int asked = 0;
  parts_.push_back({"timers", [](const auto& done) { done(); }});
  parts_.push_back({"workers", [&](const auto& done) {
                      ++asked;
                      if (is_stuck) {
                        late = done;
                      } else {
                        done();
                      }
                    }});
  EXPECT_TRUE(pages().at("/healthz").is_apart);
  HttpAnswer answer = Page("/healthz");
  EXPECT_EQ(answer.code, 200);
  EXPECT_EQ(*answer.body, "timers: ok\nworkers: ok\n");
  is_stuck = true;
  // An answer is reused for a while.
  while (answer.code == 200) answer = Page("/healthz");
  EXPECT_EQ(answer.code, 503);
  EXPECT_THAT(*answer.body, AllOf(HasSubstr("timers: ok\n"),
                                  HasSubstr("workers: no answer in 50ms\n")));
  EXPECT_GE(asked, 2);
  is_stuck = false;
  while (answer.code == 503) answer = Page("/healthz");
  pages_.clear();
  late();  // The page has stopped waiting.
}

TEST_F(StatusPagesTest, TheIndexNamesEveryPage) {
  const std::string index = *Page("/").body;
  for (const auto& [path, page] : pages()) {
    if (path == "/") continue;
    EXPECT_THAT(index, HasSubstr("href=\"" + path + "\""));
  }
  EXPECT_THAT(index, HasSubstr("cluster demo"));
}

}  // namespace
}  // namespace clusterd
