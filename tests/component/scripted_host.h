// A host inside the test that answers tasks by script, over the real protocol:
// facts, and ends of applies and rollbacks. Changes no machine.
#ifndef TESTS_COMPONENT_SCRIPTED_HOST_H_
#define TESTS_COMPONENT_SCRIPTED_HOST_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"

namespace clusterd {

class ScriptedHost {
 public:
  struct Options {
    std::string controller;
    TlsFiles tls;
    HostFacts facts;
    // Answers applies and rollbacks only when Finish is called.
    bool is_silent = false;
  };

  // Returns when the host is attached.
  explicit ScriptedHost(const Options& options);
  ~ScriptedHost();
  ScriptedHost(const ScriptedHost&) = delete;
  ScriptedHost& operator=(const ScriptedHost&) = delete;

  // Blocks until this many applies and rollbacks came; false on a timeout.
  bool WaitForTasks(size_t count);
  std::vector<Task> tasks();
  // Answers the newest task of a silent host.
  void Finish(ApplyResult::Outcome outcome);

 private:
  void Run();
  void Answer(const Task& task);
  void AnswerChange(const Task& task, ApplyResult::Outcome outcome);

  const Options options_;
  RawHost host_;
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // Last: uses everything above.
};

// A host of that number in the controller's spec: healthy, or with a somaxconn
// that a plan corrects.
ScriptedHost::Options HealthyHost(TestController& controller,
                                  TestCertificates& certificates, int server);
ScriptedHost::Options LowSomaxconnHost(TestController& controller,
                                       TestCertificates& certificates,
                                       int server);

}  // namespace clusterd

#endif  // TESTS_COMPONENT_SCRIPTED_HOST_H_
