// The folder of a controller's intermediate CA, for tests.
#ifndef TESTS_SUPPORT_CONFIG_CA_DIR_H_
#define TESTS_SUPPORT_CONFIG_CA_DIR_H_

#include <string>

#include "tests/support/config/test_authority.h"

namespace clusterd {

// In a new folder below the test's own, with `root` as the root; its path.
std::string MakeCaDir(const TestAuthority& root,
                      const IssueOptions& options = {});

// Replaces the file.
void WriteTestFile(const std::string& path, const std::string& text,
                   unsigned mode);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_CA_DIR_H_
