// Machines that attach without a stream, and the controller's tasks for them.
#ifndef TESTS_SUPPORT_CONTROLLER_ATTACHED_MACHINES_H_
#define TESTS_SUPPORT_CONTROLLER_ATTACHED_MACHINES_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/values/version.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "gtest/gtest.h"
#include "proto/spec.pb.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {

// Keeps the messages to the host.
class FakeLink final : public HostLink {
 public:
  void Send(HubMessage message) override { sent.push_back(message); }
  void Close(const absl::Status& why) override { closed = why; }

  std::vector<HubMessage> sent;
  std::optional<absl::Status> closed;
};

inline Attachment Machine(
    const std::string& host, const std::string& machine_id,
    const std::string& boot_id,
    std::shared_ptr<HostLink> link = std::make_shared<FakeLink>()) {
  Attachment attachment;
  attachment.host = host;
  attachment.peer = "ipv4:10.0.0.1:5000";
  attachment.hello.set_protocol_version(kProtocolVersion);
  attachment.hello.set_machine_id(machine_id);
  attachment.hello.set_boot_id(boot_id);
  attachment.hello.set_clusterd_version("9.9");
  attachment.link = std::move(link);
  return attachment;
}

class LoggedHostsTest : public testing::Test {
 protected:
  ManualScheduler scheduler_;
  CapturedLog log_;
  AttachedHosts hosts_{&scheduler_, &log_};
};

inline HostTask Ask(const std::string& host) {
  ClusterSpec spec;
  spec.mutable_deadlines()->set_host_ms(10000);
  return ObservationOf(spec, host);
}

inline TaskResult FactsFor(uint64_t task_id) {
  TaskResult result;
  result.set_task_id(task_id);
  result.mutable_facts()->set_elapsed_ms(42);
  return result;
}

// Remembers the one answer.
class Answer {
 public:
  AttachedHosts::Done Expect() {
    return [this](HostFacts facts) {
      EXPECT_FALSE(facts_.has_value()) << "a second answer";
      facts_ = std::move(facts);
    };
  }
  bool arrived() const { return facts_.has_value(); }
  const HostFacts& facts() const { return *facts_; }

 private:
  std::optional<HostFacts> facts_;
};

inline ClusterSpec SpecOf(const std::vector<std::string>& hosts) {
  ClusterSpec spec;
  for (const std::string& host : hosts) spec.add_servers()->set_host(host);
  return spec;
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_ATTACHED_MACHINES_H_
