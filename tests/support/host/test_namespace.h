// Real network namespaces for tests, and mounts that only one thread sees. Both
// need root (CAP_SYS_ADMIN); without them a test prints why it is skipped.
#ifndef TESTS_SUPPORT_HOST_TEST_NAMESPACE_H_
#define TESTS_SUPPORT_HOST_TEST_NAMESPACE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"

namespace clusterd {

// A process of its own in a network namespace of its own; both end with this
// object. One thread.
class TestNamespace {
 public:
  // nullptr: not available; `why` has the reason.
  static std::unique_ptr<TestNamespace> Make(std::string* why);
  ~TestNamespace();
  TestNamespace(const TestNamespace&) = delete;
  TestNamespace& operator=(const TestNamespace&) = delete;

  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  // "/proc/4711/ns/net".
  std::string path() const;
  uint64_t inode() const;

  // A kernel parameter there, without the newline, read and set by nsenter(1):
  // shares no code with the tested code.
  std::string Get(const std::string& key) const;
  void Set(const std::string& key, const std::string& value) const;

  // Ends the process; the namespace goes with it. Until this object ends no
  // other process gets its pid.
  void End();

 private:
  explicit TestNamespace(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  bool ended_ = false;
};

// A thread of the test inside a namespace, which keeps it alive when its
// processes have ended.
class NamespaceGuest {
 public:
  // REQUIRES: TestNamespace::Make succeeds here.
  explicit NamespaceGuest(const TestNamespace& place);
  ~NamespaceGuest();
  NamespaceGuest(const NamespaceGuest&) = delete;
  NamespaceGuest& operator=(const NamespaceGuest&) = delete;

  // Like TestNamespace::Get.
  std::string Get(const std::string& key) const;

 private:
  std::string path_;
  absl::Notification inside_;
  absl::Notification leave_;
  std::thread thread_;
};

// A kernel parameter of the test's own namespace.
std::string GetHere(const std::string& key);

// Runs `work` on a thread with private mounts. False, with `why`, if they are
// not available; `work` was then not run.
bool WithOwnMounts(const std::function<void()>& work, std::string* why);

// Call within WithOwnMounts; each ends the test program if refused.
void MountOver(const std::string& source, const std::string& target);
void MountReadOnly(const std::string& folder);
void MountEmptyOver(const std::string& folder);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_TEST_NAMESPACE_H_
