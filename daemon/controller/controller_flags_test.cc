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
                   "127.0.0.1:0", "--port-file", "/p"},
                  &flags),
            std::nullopt);
  EXPECT_EQ(flags.cluster, "demo");
  EXPECT_EQ(flags.spec, "/s.yaml");
  EXPECT_EQ(flags.tls.ca, "/ca");
  EXPECT_EQ(flags.tls.certificate, "/cert");
  EXPECT_EQ(flags.tls.key, "/key");
  EXPECT_EQ(flags.listen, "127.0.0.1:0");
  EXPECT_EQ(flags.port_file, "/p");
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
