#include "tests/component/test_certificates.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// Under /tmp: a unix socket in the folder must have a short name.
std::string MakeFolder() {
  std::string folder = "/tmp/clusterd_test_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string WriteFile(const std::string& path, const std::string& text,
                      mode_t mode) {
  const std::string beside = absl::StrCat(path, ".new");
  std::ofstream(beside) << text;
  EXPECT_EQ(chmod(beside.c_str(), mode), 0);
  EXPECT_EQ(std::rename(beside.c_str(), path.c_str()), 0);
  return path;
}

}  // namespace

TestCertificates::TestCertificates(std::string cluster)
    : cluster_(std::move(cluster)),
      folder_(MakeFolder()),
      authority_(TestAuthority::Create()) {}

TestCertificates::~TestCertificates() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TestCertificates::Text(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

TlsFiles TestCertificates::Controller() {
  return Issue("controller",
               {absl::StrCat("spiffe://", cluster_, "/controller")});
}

TlsFiles TestCertificates::Host(const std::string& name) {
  return Issue(absl::StrCat("host-", name),
               {absl::StrCat("spiffe://", cluster_, "/host/", name)});
}

TlsFiles TestCertificates::User(const std::string& name, Role role) {
  // Issues each once: clients of one user start in parallel, and must not mix a
  // key of one issue with a certificate of another.
  absl::MutexLock lock(&mutex_);
  SpiffeId id;
  id.cluster = cluster_;
  id.kind = IdentityKind::kUser;
  id.name = name;
  id.role = role;
  const auto known = users_.find(id.ToString());
  if (known != users_.end()) return known->second;
  return users_[id.ToString()] = Issue(
             absl::StrCat("user-", name, "-", RoleName(role)), {id.ToString()});
}

std::string TestCertificates::Write(const std::string& name,
                                    const std::string& text) {
  return WriteFile(absl::StrCat(folder_, "/", name), text, 0644);
}

TlsFiles TestCertificates::Issue(const std::string& label,
                                 const std::vector<std::string>& uri_names,
                                 const IssueOptions& options) {
  const TlsPem pem = authority_->Issue(uri_names, options);
  const std::string stem = absl::StrCat(folder_, "/", label);
  return TlsFiles{WriteFile(absl::StrCat(stem, ".ca"), pem.ca, 0644),
                  WriteFile(absl::StrCat(stem, ".crt"), pem.certificate, 0644),
                  WriteFile(absl::StrCat(stem, ".key"), pem.key, 0600)};
}

}  // namespace clusterd
