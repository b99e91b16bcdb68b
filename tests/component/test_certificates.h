// Certificates of one cluster in a folder of its own, for tests that need
// files.
#ifndef TESTS_COMPONENT_TEST_CERTIFICATES_H_
#define TESTS_COMPONENT_TEST_CERTIFICATES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {

// Safe for concurrent use, except for Issue with one label.
class TestCertificates {
 public:
  explicit TestCertificates(std::string cluster = "test");
  // Removes the folder.
  ~TestCertificates();
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  const std::string& folder() const { return folder_; }
  const TestAuthority& authority() const { return *authority_; }

  TlsFiles Controller();
  TlsFiles Host(const std::string& name);
  TlsFiles User(const std::string& name, Role role = Role::kViewer);
  // Any other certificate of this authority, in files named after `label`.
  // Another issue with that label replaces each file by a rename.
  TlsFiles Issue(const std::string& label,
                 const std::vector<std::string>& uri_names,
                 const IssueOptions& options = {});

  // A file of that name in the folder, replaced as a whole; its path.
  std::string Write(const std::string& name, const std::string& text);

  // The content of one of the files.
  static std::string Text(const std::string& path);
  // The contents of all files, even if they are not valid now.
  static TlsPem Pem(const TlsFiles& files) {
    return {Text(files.ca), Text(files.certificate), Text(files.key)};
  }

 private:
  const std::string cluster_;
  const std::string folder_;
  const std::unique_ptr<TestAuthority> authority_;
  absl::Mutex mutex_;
  std::map<std::string, TlsFiles> users_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_COMPONENT_TEST_CERTIFICATES_H_
