// The folder of a controller's intermediate CA, for tests.
#ifndef TESTS_SUPPORT_CONFIG_CA_DIR_H_
#define TESTS_SUPPORT_CONFIG_CA_DIR_H_

#include <string>

#include "tests/support/config/test_authority.h"

namespace clusterd {

// Makes a new folder below the test's own, with `root` as the root; its path.
std::string MakeCaDir(const TestAuthority& root,
                      const IssueOptions& options = {});

// Replaces the file.
void WriteTestFile(const std::string& path, const std::string& text,
                   unsigned mode);

// A cluster.yaml whose four hosts join: node0 to node3.
inline constexpr char kJoinSpec[] = R"(version: 1
name: demo
product: atlas-training
servers:
  - hosts: node[0-3]
    address: 192.168.7.[22-25]
devices:
  netmask: 255.255.255.0
  rails:
    - device: 0-3
      subnet: 192.168.[100-103].0/24
      host: 101 + 10*n
    - device: 4-7
      subnet: 192.168.[100-103].0/24
      host: 100 + 10*n
  detect_address: 192.168.[100-103,100-103].1
firewall: disabled
)";

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_CA_DIR_H_
