#include "daemon/agent/metrics/metrics_file.h"

#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CheckSelfResponse CheckWith(const std::vector<State>& rules) {
  CheckSelfResponse check;
  check.mutable_facts()->set_observed_at_ms(1'700'000'000'500);
  for (const State state : rules) {
    check.mutable_report()->add_rules()->set_state(state);
  }
  return check;
}

TEST(HostMetricsTest, CountsTheRulesThatRanByState) {
  HostNumbers numbers;
  numbers.status.set_attached(true);
  numbers.check = CheckWith({PASS, PASS, FAIL, SKIPPED});
  RuleResult* const not_here = numbers.check->mutable_report()->add_rules();
  not_here->set_state(SKIPPED);
  not_here->set_not_run(true);
  numbers.certificate_ends = {{"host", absl::FromUnixSeconds(1'800'000'000)}};
  EXPECT_THAT(
      HostMetrics(numbers),
      AllOf(HasSubstr("clusterd_agent_attached 1\n"),
            HasSubstr("clusterd_agent_rules{state=\"pass\"} 2\n"),
            HasSubstr("clusterd_agent_rules{state=\"skipped\"} 1\n"),
            HasSubstr("clusterd_agent_rules{state=\"warn\"} 0\n"),
            HasSubstr("clusterd_agent_rules{state=\"fail\"} 1\n"),
            HasSubstr("clusterd_agent_check_timestamp_seconds 1700000000.5\n"),
            HasSubstr("clusterd_agent_unfinished_apply 0\n"),
            HasSubstr("clusterd_agent_certificate_expiry_timestamp_seconds{"
                      "kind=\"host\"} 1800000000\n")));
}

TEST(HostMetricsTest, WhatIsNotKnownIsNotZero) {
  HostNumbers numbers;
  numbers.status.set_unfinished("an apply was cut off");
  EXPECT_THAT(
      HostMetrics(numbers),
      AllOf(HasSubstr("clusterd_agent_attached 0\n"),
            HasSubstr("clusterd_agent_unfinished_apply 1\n"),
            Not(HasSubstr("clusterd_agent_rules")), Not(HasSubstr("drifted"))));
  numbers.check = CheckWith({PASS});
  DriftFact* const drift = numbers.check->mutable_facts()->mutable_drift();
  drift->mutable_missing()->set_reason(Missing::NOT_QUERIED);
  EXPECT_THAT(HostMetrics(numbers), Not(HasSubstr("drifted")));
  drift->mutable_value()->add_drifts();
  drift->mutable_value()->set_left_out(2);
  EXPECT_THAT(HostMetrics(numbers),
              HasSubstr("clusterd_agent_drifted_settings 3\n"));
}

class MetricsFileTest : public testing::Test {
 protected:
  MetricsFile::Parts Parts() {
    MetricsFile::Parts parts;
    parts.status = [this] {
      absl::MutexLock lock(&mutex_);
      AgentStatus status;
      status.set_attached(attached_);
      return status;
    };
    parts.check = [this] {
      absl::MutexLock lock(&mutex_);
      ++rounds_;
      return CheckWith({PASS});
    };
    parts.write = [this](const std::string& text) {
      absl::MutexLock lock(&mutex_);
      written_.push_back(text);
      return refusal_;
    };
    parts.random = [] { return 0.5; };
    parts.scheduler = &scheduler_;
    parts.pool = &pool_;
    parts.log = &log_;
    return parts;
  }

  // Waits for that many writes in total; returns the last one's text.
  std::string Written(size_t count) {
    pool_.Drain();
    absl::MutexLock lock(&mutex_);
    EXPECT_EQ(written_.size(), count);
    return written_.empty() ? "" : written_.back();
  }
  int rounds() {
    absl::MutexLock lock(&mutex_);
    return rounds_;
  }
  void Set(bool attached, const absl::Status& refusal = absl::OkStatus()) {
    absl::MutexLock lock(&mutex_);
    attached_ = attached;
    refusal_ = refusal;
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 4};
  absl::Mutex mutex_;
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  int rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> written_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(MetricsFileTest, WritesEveryMinuteAndChecksEveryTen) {
  MetricsFile file(Parts());
  file.OnChanged(false);
  EXPECT_THAT(Written(1), HasSubstr("clusterd_agent_attached 0\n"));
  EXPECT_EQ(rounds(), 1);
  Set(/*attached=*/true);
  file.OnChanged(false);
  EXPECT_THAT(Written(2), HasSubstr("clusterd_agent_attached 1\n"));
  for (size_t minute = 1; minute < 10; ++minute) {
    scheduler_.Advance(MetricsFile::kWriteInterval);
    Written(2 + minute);
    EXPECT_EQ(rounds(), 1);
  }
  scheduler_.Advance(MetricsFile::kWriteInterval);
  Written(12);
  EXPECT_EQ(rounds(), 2);
  file.OnChanged(/*round=*/true);
  Written(13);
  EXPECT_EQ(rounds(), 3);
}

TEST_F(MetricsFileTest, TellsATroubleOnceUntilItIsAnother) {
  MetricsFile file(Parts());
  Set(false, absl::NotFoundError("/var/none: No such file or directory"));
  file.OnChanged(false);
  Written(1);
  scheduler_.Advance(MetricsFile::kWriteInterval);
  Written(2);
  const std::string first =
      "metrics_file: /var/none: No such file or directory";
  EXPECT_THAT(log_.Lines(), HasSubstr(first));
  EXPECT_EQ(log_.Lines().find(first), log_.Lines().rfind(first));
  Set(false, absl::PermissionDeniedError("/var/none: is not a folder"));
  scheduler_.Advance(MetricsFile::kWriteInterval);
  Written(3);
  EXPECT_THAT(log_.Lines(), HasSubstr("is not a folder"));
}

TEST_F(MetricsFileTest, DoesNothingOnceItHasStopped) {
  MetricsFile file(Parts());
  file.OnChanged(false);
  Written(1);
  file.Stop();
  file.OnChanged(true);
  scheduler_.Advance(absl::Hours(1));
  Written(1);
  EXPECT_EQ(scheduler_.pending(), 0);
}

}  // namespace
}  // namespace clusterd
