#include "config/identity/peer_identity.h"

#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpc/grpc_security_constants.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// What TLS found out about a peer; tests over real connections are in
// tests/component.
class FakeAuthContext : public grpc::AuthContext {
 public:
  explicit FakeAuthContext(std::vector<std::string> uris, bool shown = true)
      : uris_(std::move(uris)), shown_(shown) {}

  bool IsPeerAuthenticated() const override { return shown_; }
  std::vector<grpc::string_ref> GetPeerIdentity() const override { return {}; }
  std::string GetPeerIdentityPropertyName() const override { return ""; }
  std::vector<grpc::string_ref> FindPropertyValues(
      const std::string& name) const override {
    std::vector<grpc::string_ref> values;
    if (name != GRPC_PEER_URI_PROPERTY_NAME) return values;
    for (const std::string& uri : uris_) values.emplace_back(uri);
    return values;
  }
  grpc::AuthPropertyIterator begin() const override { return Nowhere(); }
  grpc::AuthPropertyIterator end() const override { return Nowhere(); }
  void AddProperty(const std::string&, const grpc::string_ref&) override {}
  bool SetPeerIdentityPropertyName(const std::string&) override {
    return false;
  }

 private:
  struct Nowhere : grpc::AuthPropertyIterator {};

  const std::vector<std::string> uris_;
  const bool shown_;
};

TEST(RequirePeerTest, TakesHostOfTheCluster) {
  const auto peer = RequirePeer(FakeAuthContext({"spiffe://demo/host/a"}),
                                "demo", IdentityKind::kHost);
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_EQ(peer->name, "a");
}

TEST(RequirePeerTest, RefusesPeerWithoutCertificate) {
  const auto peer =
      RequirePeer(FakeAuthContext({"spiffe://demo/host/a"}, /*shown=*/false),
                  "demo", IdentityKind::kHost);
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(RequirePeerTest, RefusesTwoIdentitiesInOneCertificate) {
  const auto peer = RequirePeer(
      FakeAuthContext({"spiffe://demo/host/a", "spiffe://demo/host/b"}), "demo",
      IdentityKind::kHost);
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(RequirePeerTest, RefusesAnotherCluster) {
  const auto peer = RequirePeer(FakeAuthContext({"spiffe://other/host/a"}),
                                "demo", IdentityKind::kHost);
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(peer.status().message()),
              HasSubstr("not of this cluster"));
}

TEST(RequirePeerTest, RefusesAnotherKind) {
  const auto peer = RequirePeer(FakeAuthContext({"spiffe://demo/user/eve"}),
                                "demo", IdentityKind::kHost);
  EXPECT_EQ(peer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(peer.status().message()),
              HasSubstr("is a user, and only a host may do this"));
}

}  // namespace
}  // namespace clusterd
