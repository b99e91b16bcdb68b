#include "tests/bench/fleet/rollbacks.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/identity/grpc_status.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/component/viewer/busy_viewer.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/history_testing.h"

namespace clusterd {
namespace {

// One user may delay another one's rollback by this much: as a ratio to an
// undisturbed rollback, and in milliseconds.
constexpr double kMostRatio = 3;
constexpr double kMostDelayMs = 2000;
constexpr char kSmall[] = "0000000000000001";
constexpr char kLarge[] = "0000000000000002";

// One host more than the fleet has: that one is attached and never answers.
ClusterSpec SpecOf(const std::string& product, int servers) {
  ClusterSpec spec = MakeSpec(product, "", servers + 1);
  spec.mutable_deadlines()->set_host_ms(1'800'000);
  spec.mutable_deadlines()->set_run_ms(7'200'000);
  return spec;
}

// The history that viewers read; the second entry exceeds any window.
absl::Status FillHistory(const std::string& state) {
  std::filesystem::create_directory(state);
  const auto store = HistoryStore::Open(state);
  if (!store.ok()) return store.status();
  const absl::Status small = (*store)->Add(TestCheck(kSmall, 4 << 20));
  return small.ok() ? (*store)->Add(TestCheck(kLarge, 32 << 20)) : small;
}

// The report at the end of an apply or a rollback.
absl::StatusOr<ApplyReport> ReportOf(grpc::ClientReader<ApplyEvent>* stream) {
  ApplyEvent event;
  ApplyReport report;
  while (stream->Read(&event)) {
    if (event.has_report()) report = event.report();
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return ToAbslStatus(status);
  if (report.outcome() != ApplyReport::SUCCEEDED) {
    return absl::InternalError(report.ShortDebugString());
  }
  return report;
}

// The id of an apply on two hosts.
absl::StatusOr<std::string> Apply(Controller::Stub* client) {
  PlanRequest request;
  request.add_hosts("server0");
  request.add_hosts("server1");
  const auto context = NewContext();
  const auto stream = client->Plan(context.get(), request);
  PlanEvent event;
  ApplyPlanRequest apply;
  apply.set_no_confirm(true);
  while (stream->Read(&event)) {
    apply.set_plan_id(event.plan().plan_id());
    apply.set_digest(event.plan().digest());
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return ToAbslStatus(status);
  const auto applying = NewContext();
  auto report = ReportOf(client->ApplyPlan(applying.get(), apply).get());
  if (!report.ok()) return report.status();
  return report->run_id();
}

// From the call until its report.
absl::StatusOr<double> RollBackMs(Controller::Stub* client,
                                  const std::string& id) {
  const absl::Time start = absl::Now();
  RollBackRequest request;
  request.set_apply_id(id);
  const auto context = NewContext();
  const auto report = ReportOf(client->RollBack(context.get(), request).get());
  if (!report.ok()) return report.status();
  return absl::ToDoubleMilliseconds(absl::Now() - start);
}

absl::Status Measure(const BenchCluster& cluster, Controller::Stub* operators,
                     std::vector<double>* alone, std::vector<double>* beside) {
  for (const bool is_busy : {false, true}) {
    auto id = Apply(operators);
    if (!id.ok()) return id.status();
    std::unique_ptr<BusyViewer> viewer;
    if (is_busy) {
      viewer = std::make_unique<BusyViewer>(BusyViewer::Options{
          [&cluster] {
            return cluster.Client("spiffe://test/user/viewer/role/viewer");
          },
          absl::StrCat("server", cluster.spec().servers_size() - 1), kSmall,
          kLarge});
      if (!viewer->HoldAll() || !viewer->BeginCalls()) {
        return absl::UnavailableError("the viewer does not get all it may");
      }
    }
    const auto ms = RollBackMs(operators, *id);
    if (!ms.ok()) return ms.status();
    (is_busy ? beside : alone)->push_back(*ms);
  }
  return absl::OkStatus();
}

absl::Status MeasureAll(BenchCluster* cluster, int servers, int count,
                        std::vector<double>* alone,
                        std::vector<double>* beside) {
  absl::Status status = FillHistory(cluster->state());
  if (status.ok()) status = cluster->Start();
  if (!status.ok()) return status;
  const std::string changes = cluster->folder().path() + "/changes";
  std::filesystem::create_directory(changes);
  Fleets fleets(*cluster, servers, 1, {"--changes", changes});
  const std::string silent = absl::StrCat("server", servers);
  RawHost host(cluster->address(),
               cluster->Files(silent, "spiffe://test/host/" + silent));
  if (!host.Attach()) return absl::UnavailableError("silent host: no welcome");
  status = fleets.WaitAttached().status();
  const auto operators =
      cluster->Client("spiffe://test/user/operator/role/operator");
  for (int i = 0; i < count && status.ok(); ++i) {
    status = Measure(*cluster, operators.get(), alone, beside);
  }
  return status;
}

}  // namespace

int MeasureRollbacks(const ClusterPrograms& programs,
                     const std::string& product, int servers, int count) {
  BenchCluster cluster(programs, SpecOf(product, servers));
  std::vector<double> alone;
  std::vector<double> beside;
  const absl::Status status =
      MeasureAll(&cluster, servers, count, &alone, &beside);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 2;
  }
  const double quiet = Median(alone);
  const double busy = Median(beside);
  std::printf("rollback on 2 of %d hosts of %s, medians of %d\n", servers,
              product.c_str(), count);
  Print("alone", quiet, "ms", 0);
  Print("beside a viewer at full effort", busy, "ms", 0);
  bool good = PrintRatio("ratio of the two", busy / quiet, kMostRatio);
  good &= Print("delay by the viewer", std::max(0.0, busy - quiet), "ms",
                kMostDelayMs);
  return good ? 0 : 1;
}

}  // namespace clusterd
