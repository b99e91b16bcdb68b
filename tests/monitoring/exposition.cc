// Prints /metrics of a real controller of two hosts after a check, or with the
// word "host" a host's metrics for node_exporter.
#include <iostream>
#include <string>

#include "absl/time/time.h"
#include "daemon/agent/metrics/metrics_file.h"
#include "daemon/process/scheduler.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/support/http/http_client.h"

namespace clusterd {
namespace {

std::string OfHost() {
  HostNumbers numbers;
  numbers.check.emplace();
  numbers.check->mutable_report()->add_rules()->set_state(WARN);
  numbers.check->mutable_facts()->mutable_drift()->mutable_value();
  numbers.certificate_ends = {{"host", absl::FromUnixSeconds(1'800'000'000)}};
  return HostMetrics(numbers);
}

// Empty if it was not reached.
std::string OfController() {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  ControllerServerOptions options;
  options.status_listen = "127.0.0.1:0";
  TestController controller(&certificates, 2, &scheduler, options);
  controller.Start();
  Report report;
  if (!controller.Check({}, &report).ok()) return "";
  return HttpClient(controller.status_port()).Get("/metrics").body;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  const bool is_host = argc > 1 && std::string(argv[1]) == "host";
  const std::string text =
      is_host ? clusterd::OfHost() : clusterd::OfController();
  std::cout << text << std::flush;
  return text.empty() ? 1 : 0;
}
