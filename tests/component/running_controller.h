// A running controller with its own certificates and clock.
#ifndef TESTS_COMPONENT_RUNNING_CONTROLLER_H_
#define TESTS_COMPONENT_RUNNING_CONTROLLER_H_

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"

namespace clusterd {

template <typename Clock>
struct CertificatesAndClock {
  TestCertificates certificates;
  Clock scheduler;
};

template <typename Clock>
class OwningController : public CertificatesAndClock<Clock>,
                         public TestController {
 public:
  explicit OwningController(int servers,
                            const ControllerServerOptions& options = {})
      : TestController(&this->certificates, servers, &this->scheduler,
                       options) {
    Start();
  }

  // Options of a host with a good certificate.
  TestHost::Options HostAt(const std::string& name) {
    TestHost::Options options;
    options.controller = address();
    options.name = name;
    options.tls = this->certificates.Host(name);
    return options;
  }
};

using RunningController = OwningController<ThreadScheduler>;
// The test moves its clock.
using ManualController = OwningController<ManualScheduler>;

// A host with a good certificate that has attached and answers with `facts`.
class AttachedHost {
 public:
  template <typename Clock>
  AttachedHost(OwningController<Clock>& controller, const std::string& name,
               HostFacts facts = HostFacts())
      : observer_(std::move(facts)),
        host_(controller.HostAt(name), &observer_) {
    EXPECT_TRUE(host_.WaitAttached());
  }

  MemoryObserver& observer() { return observer_; }
  TestHost* operator->() { return &host_; }

 private:
  MemoryObserver observer_;
  TestHost host_;
};

}  // namespace clusterd

#endif  // TESTS_COMPONENT_RUNNING_CONTROLLER_H_
