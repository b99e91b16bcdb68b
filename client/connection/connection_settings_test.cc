#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "client/connection/connector.h"
#include "gmock/gmock.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::Not;

namespace fs = std::filesystem;

const Environment kWhole = {
    {"CLUSTERD_CONTROLLER", "head:7443"}, {"CLUSTERD_CLUSTER", "demo"},
    {"CLUSTERD_CA", "/env/ca.crt"},       {"CLUSTERD_CERT", "/env/user.crt"},
    {"CLUSTERD_KEY", "/env/user.key"},
};

std::string SettingsFile(const std::string& name, const std::string& text) {
  const std::string folder = absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::create_directories(folder);
  std::ofstream(absl::StrCat(folder, "/", name)) << text;
  return absl::StrCat(folder, "/", name);
}

std::string ErrorOf(const absl::StatusOr<ConnectionSettings>& settings) {
  EXPECT_TRUE(absl::IsInvalidArgument(settings.status()) ||
              absl::IsNotFound(settings.status()))
      << settings.status();
  return std::string(settings.status().message());
}

TEST(ResolveConnectionTest, ADuplicateKeyDoesNotHideLaterMistakes) {
  const std::string file =
      SettingsFile("client.yaml", "ca: a\nca: [b]\ncontroller: {}\n");
  const std::string error = ErrorOf(ResolveConnection({}, {}, {file}));
  for (const char* place :
       {"client.yaml:2:1", "client.yaml:2:5", "client.yaml:3:13"}) {
    EXPECT_THAT(error, HasSubstr(place));
  }
}

TEST(ResolveConnectionTest, TakesFlagBeforeEnvironmentBeforeFiles) {
  const std::string own = SettingsFile("own.yaml",
                                       "controller: own:1\ncluster: own\n"
                                       "ca: /own/ca.crt\ncert: /own/c.crt\n");
  const std::string all =
      SettingsFile("all.yaml",
                   "controller: all:1\ncluster: all\nca: /a\n"
                   "cert: /b\nkey: /all/c.key\n");
  ConnectionFlags flags;
  flags["controller"] = "flag:1";
  const auto settings =
      ResolveConnection(flags, {{"CLUSTERD_CLUSTER", "env"}}, {own, all});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->controller, "flag:1");
  EXPECT_EQ(settings->cluster, "env");
  EXPECT_EQ(settings->tls.ca, "/own/ca.crt");
  EXPECT_EQ(settings->tls.certificate, "/own/c.crt");
  EXPECT_EQ(settings->tls.key, "/all/c.key");
}

TEST(ResolveConnectionTest, TakesPathsInAFileFromItsOwnFolder) {
  const std::string file =
      SettingsFile("client.yaml",
                   "controller: head:1\ncluster: demo\n"
                   "ca: ca.crt\ncert: me.crt\nkey: me.key\n");
  const auto settings = ResolveConnection({}, {}, {file});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->tls.ca,
            absl::StrCat(file.substr(0, file.rfind('/')), "/ca.crt"));
}

TEST(ResolveConnectionTest, NamesEveryMissingSettingAndEveryPlaceForIt) {
  const std::string error = ErrorOf(
      ResolveConnection({}, {}, {"/home/ann/client.yaml", "/etc/c.yaml"}));
  const FindingValue places =
      Worded("either", "/home/ann/client.yaml", "/etc/c.yaml");
  EXPECT_THAT(error,
              HasSubstr(Say("msg-call-setting-missing", "controller",
                            "HOST:PORT", "CLUSTERD_CONTROLLER", places)));
  for (const char* key : {"ca", "key"}) {
    EXPECT_THAT(error, HasSubstr(absl::StrCat("no setting \"", key, "\"")));
  }
  EXPECT_THAT(error, HasSubstr(Say("msg-call-setting-missing", "cert", "FILE",
                                   "CLUSTERD_CERT", places,
                                   Worded("or-beside-it", "user.crt"))));
  // The certificate gives the name, once there is one.
  EXPECT_THAT(error, Not(HasSubstr("no setting \"cluster\"")));
}

// Makes a folder of the test's own with the three files of `uri`, under their
// usual names, and a settings file with only the controller.
std::string FolderOf(const std::string& uri) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({uri});
  SettingsFile("ca.crt", pem.ca);
  SettingsFile("user.crt", pem.certificate);
  fs::permissions(SettingsFile("user.key", pem.key), fs::perms::owner_read);
  return SettingsFile("client.yaml", "controller: head:1\n");
}

TEST(ResolveConnectionTest, NeedsOnlyTheControllerBesideFilesInTheirPlaces) {
  const std::string file = FolderOf("spiffe://demo/user/ann");
  const std::string folder = file.substr(0, file.rfind('/'));
  const auto settings =
      ResolveConnection({}, {}, {"/nowhere/client.yaml", file});
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->cluster, "demo");
  EXPECT_EQ(settings->tls.ca, folder + "/ca.crt");
  EXPECT_EQ(settings->tls.certificate, folder + "/user.crt");
  EXPECT_EQ(settings->tls.key, folder + "/user.key");
}

TEST(ResolveConnectionTest, DoesNotTakeTheClusterFromACertificateOfAHost) {
  const std::string file = FolderOf("spiffe://demo/host/node01");
  const std::string error = ErrorOf(ResolveConnection({}, {}, {file}));
  EXPECT_THAT(error, HasSubstr("expected a user of"));
}

TEST(ResolveConnectionTest, DoesNotReadFilesThatItDoesNotNeed) {
  const std::string broken = SettingsFile("broken.yaml", "{");
  EXPECT_TRUE(ResolveConnection({}, kWhole, {broken}).ok());
}

TEST(ResolveConnectionTest, NamesTheLineOfAMistakeInAFile) {
  const std::string file =
      SettingsFile("client.yaml", "controler: head:1\ncluster: demo\n");
  const std::string error = ErrorOf(ResolveConnection({}, {}, {file}));
  EXPECT_THAT(error, HasSubstr(absl::StrCat(file, ":1:1: ")));
  EXPECT_THAT(error, HasSubstr(Say("did-you-mean", "controller")));
  // The wrong key may be the missing setting: naming both would mislead.
  EXPECT_THAT(error, Not(HasSubstr("no setting")));
}

TEST(ResolveConnectionTest, PassesOverAnEmptyVariable) {
  Environment environment = kWhole;
  environment["CLUSTERD_CA"] = "";
  EXPECT_THAT(ErrorOf(ResolveConnection({}, environment, {})),
              HasSubstr("no setting \"ca\""));
}

TEST(ResolveConnectionTest, AcceptsHostAndPortOnly) {
  Environment environment = kWhole;
  for (const char* good : {"head:7443", "10.0.0.1:1", "[fd00::1]:65535",
                           "head-1.example.org:7443"}) {
    environment["CLUSTERD_CONTROLLER"] = good;
    EXPECT_TRUE(ResolveConnection({}, environment, {}).ok()) << good;
  }
  for (const char* bad :
       {"head", ":7443", "head:", "head:0", "head:65536", "head:-1", "head:+1",
        "head: 7443", "unix:/run/x", "dns:///head:7443", "a b:1",
        "fd00::1:7443", "[head]:1", "[]:1", "head:7443/x"}) {
    environment["CLUSTERD_CONTROLLER"] = bad;
    EXPECT_FALSE(ResolveConnection({}, environment, {}).ok()) << bad;
  }
}

TEST(SettingsFilesTest, ReadsTheHomeFolderFirst) {
  const std::string usual = "/etc/clusterd/client.yaml";
  EXPECT_THAT(SettingsFiles({{"HOME", "/home/ann"}}, "/"),
              ElementsAre("/home/ann/.config" + usual.substr(4), usual));
  EXPECT_THAT(SettingsFiles({}, "/root/of/test"),
              ElementsAre("/root/of/test" + usual));
}

}  // namespace
}  // namespace clusterd
