// A controller that runs, with certificates and a clock of its own.
#ifndef TESTS_COMPONENT_RUNNING_CONTROLLER_H_
#define TESTS_COMPONENT_RUNNING_CONTROLLER_H_

#include <string>

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
  explicit OwningController(int servers)
      : TestController(&this->certificates, servers, &this->scheduler) {
    Start();
  }

  // Of a host with a good certificate.
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

}  // namespace clusterd

#endif  // TESTS_COMPONENT_RUNNING_CONTROLLER_H_
