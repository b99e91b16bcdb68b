#include "daemon/host/change/sysctl_writer.h"

#include <gtest/gtest.h>

#include <vector>

#include "config/plan/setting_rows.h"
#include "config/values/port_set.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kPortsFile[] = "/proc/sys/net/ipv4/ip_local_reserved_ports";

// The kernel's port list: a write replaces it, the next on the same descriptor
// adds, each takes at most 4090 bytes.
struct Kernel {
  FakeFileSystem files;
  MutationTokenIssuer issuer;
  SysctlWriter writer{[this](const std::string& path, OpenMode mode) {
    return files.Open(path, mode);
  }};
  std::vector<std::string> writes;
  PortSet ports;
  bool ignores = false;

  Kernel() {
    FakeFileSystem::Special special;
    special.read = [this] { return ports.ToString() + "\n"; };
    special.write = [this](uint64_t offset, absl::string_view bytes) {
      return Take(offset, bytes);
    };
    files.PutSpecial(kPortsFile, special);
  }

  absl::StatusOr<size_t> Take(uint64_t offset, absl::string_view bytes) {
    writes.emplace_back(bytes);
    if (ignores) return bytes.size();
    absl::string_view taken = bytes.substr(0, 4090);
    if (taken.size() < bytes.size()) {
      taken = taken.substr(0, taken.rfind(',') + 1);
    }
    absl::string_view text = taken;
    while (!text.empty() && (text.back() == '\n' || text.back() == ',')) {
      text.remove_suffix(1);
    }
    const auto parsed = PortSet::Parse(text);
    if (!parsed.ok()) return absl::InvalidArgumentError("Invalid argument");
    if (offset == 0) ports = PortSet();
    ports.Add(*parsed);
    return taken.size();
  }
};

TEST(SysctlWriterTest, WritesAndReadsBackAsASet) {
  Kernel kernel;
  EXPECT_TRUE(kernel.writer
                  .Write(kernel.issuer.token(), kReservedPortsKey,
                         "60008-60015,60000-60007")
                  .ok());
  EXPECT_EQ(*kernel.writer.Read(kReservedPortsKey), "60000-60015");
}

TEST(SysctlWriterTest, ClearsWithANewlineBecauseNoByteChangesNothing) {
  Kernel kernel;
  kernel.ports.Add(60000, 60015);
  EXPECT_TRUE(
      kernel.writer.Write(kernel.issuer.token(), kReservedPortsKey, "").ok());
  EXPECT_EQ(kernel.writes, std::vector<std::string>{"\n"});
  EXPECT_EQ(*kernel.writer.Read(kReservedPortsKey), "");
}

TEST(SysctlWriterTest, WritesAListThatIsLongerThanOneWriteTakes) {
  Kernel kernel;
  PortSet wanted;
  for (uint32_t port = 1; port < 4000; port += 2) wanted.Add(port, port);
  ASSERT_GT(wanted.ToString().size(), 8000u);
  EXPECT_TRUE(
      kernel.writer
          .Write(kernel.issuer.token(), kReservedPortsKey, wanted.ToString())
          .ok());
  EXPECT_GT(kernel.writes.size(), 1u);
  EXPECT_EQ(kernel.ports, wanted);
}

TEST(SysctlWriterTest, BelievesTheReadAndNotTheWrite) {
  Kernel kernel;
  kernel.ignores = true;
  const absl::Status status =
      kernel.writer.Write(kernel.issuer.token(), kReservedPortsKey, "60000");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              Tells("msg-step-not-so-after-writing",
                    "net.ipv4.ip_local_reserved_ports", "", 60000));
}

TEST(SysctlWriterTest, ReportsWhyAWriteWasRefused) {
  Kernel kernel;
  kernel.files.FailChanges(
      "/proc/sys", absl::FailedPreconditionError("Read-only file system"));
  const absl::Status status =
      kernel.writer.Write(kernel.issuer.token(), kReservedPortsKey, "60000");
  EXPECT_NE(status.message().find("Read-only file system"),
            absl::string_view::npos);
}

TEST(SysctlWriterTest, TellsAMissingParameterFromAForeignOne) {
  Kernel kernel;
  EXPECT_TRUE(absl::IsNotFound(kernel.writer.Read(kSomaxconnKey).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      kernel.writer.Write(kernel.issuer.token(), "kernel.panic", "1")));
}

TEST(SameSysctlValueTest, ComparesPortsAsSetsAndNumbersAsText) {
  EXPECT_TRUE(SameSysctlValue(kReservedPortsKey, "1,2,3", "1-3\n"));
  EXPECT_FALSE(SameSysctlValue(kReservedPortsKey, "1-3", "1-4"));
  EXPECT_TRUE(SameSysctlValue(kSomaxconnKey, "4096\n", "4096"));
  EXPECT_FALSE(SameSysctlValue(kSomaxconnKey, "4096", "04096"));
}

}  // namespace
}  // namespace clusterd
