#include "daemon/controller/controller_flags.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::optional<int> Parse(std::vector<const char*> arguments,
                         ControllerFlags* flags) {
  arguments.insert(arguments.begin(), "clusterd-controller");
  return ParseControllerFlags(static_cast<int>(arguments.size()),
                              arguments.data(), flags);
}

TEST(ParseControllerFlagsTest, ReadsFlags) {
  ControllerFlags flags;
  ASSERT_EQ(Parse({"--cluster", "demo", "--spec", "/s.yaml", "--ca", "/ca",
                   "--cert", "/cert", "--key", "/key", "--listen",
                   "127.0.0.1:0", "--port-file", "/p", "--crl", "/l"},
                  &flags),
            std::nullopt);
  EXPECT_EQ(flags.cluster, "demo");
  EXPECT_EQ(flags.spec, "/s.yaml");
  EXPECT_EQ(flags.tls.ca, "/ca");
  EXPECT_EQ(flags.tls.certificate, "/cert");
  EXPECT_EQ(flags.tls.key, "/key");
  EXPECT_EQ(flags.listen, "127.0.0.1:0");
  EXPECT_EQ(flags.port_file, "/p");
  EXPECT_EQ(flags.crl, "/l");
}

TEST(ParseControllerFlagsTest, HasADefaultPlaceForEachFile) {
  ControllerFlags flags;
  ASSERT_EQ(Parse({}, &flags), std::nullopt);
  EXPECT_EQ(flags.cluster, "");
  EXPECT_EQ(flags.spec, "/etc/clusterd/cluster.yaml");
  EXPECT_EQ(flags.listen, "0.0.0.0:7443");
  EXPECT_EQ(flags.state, "/var/lib/clusterd-controller");
  EXPECT_EQ(flags.tls.ca, "/etc/clusterd/ca.crt");
  EXPECT_EQ(flags.tls.certificate, "/etc/clusterd/controller.crt");
  EXPECT_EQ(flags.tls.key, "/etc/clusterd/controller.key");
}

TEST(ParseControllerFlagsTest, IssuesNoCertificatesByDefault) {
  ControllerFlags flags;
  ASSERT_EQ(Parse({}, &flags), std::nullopt);
  EXPECT_EQ(flags.ca_dir, "");
  EXPECT_EQ(flags.leaf_life, absl::Hours(24 * 30));
  ASSERT_EQ(Parse({"--ca-dir", "/ca", "--leaf-days", "7", "--enrol-listen",
                   "10.0.0.5:9000"},
                  &flags),
            std::nullopt);
  EXPECT_EQ(flags.ca_dir, "/ca");
  EXPECT_EQ(flags.leaf_life, absl::Hours(24 * 7));
  EXPECT_EQ(flags.enrol_listen, "10.0.0.5:9000");
  testing::internal::CaptureStderr();
  EXPECT_EQ(Parse({"--leaf-days", "0"}, &flags), 3);
  testing::internal::GetCapturedStderr();
}

TEST(ParseControllerFlagsTest, TheStatusPortIsGivenOrLeftToTheServer) {
  ControllerFlags flags;
  ASSERT_EQ(Parse({}, &flags), std::nullopt);
  EXPECT_EQ(flags.status_listen, "");
  ASSERT_EQ(Parse({"--status-listen", "off"}, &flags), std::nullopt);
  EXPECT_EQ(flags.status_listen, "off");
}

TEST(ParseControllerFlagsTest, HelpFitsEightyColumnsAndNamesTheExitStatuses) {
  ControllerFlags flags;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}, &flags), 0);
  const std::string help = testing::internal::GetCapturedStdout();
  for (const absl::string_view line : absl::StrSplit(help, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
  }
  EXPECT_THAT(help, testing::HasSubstr("Exit status:"));
}

TEST(ParseControllerFlagsTest, PrintsVersion) {
  ControllerFlags flags;
  testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--version"}, &flags), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::HasSubstr("clusterd-controller "));
}

}  // namespace
}  // namespace clusterd
