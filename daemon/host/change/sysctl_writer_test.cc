#include "daemon/host/change/sysctl_writer.h"

#include <gtest/gtest.h>

#include <vector>

#include "config/plan/kernel_parameters.h"
#include "config/values/port_set.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kPortsFile[] = "/proc/sys/net/ipv4/ip_local_reserved_ports";

// The kernel's port list: a write replaces it, the next on the same descriptor
// adds, each takes at most 4090 bytes.
class SysctlWriterTest : public testing::Test {
 protected:
  SysctlWriterTest() {
    FakeFileSystem::Special special;
    special.read = [this] { return ports_.ToString() + "\n"; };
    special.write = [this](uint64_t offset, absl::string_view bytes) {
      return Take(offset, bytes);
    };
    files_.PutSpecial(kPortsFile, special);
  }

  absl::Status Write(const std::string& value) {
    return writer_.Write(issuer_.token(), kReservedPortsKey, value);
  }
  absl::StatusOr<size_t> Take(uint64_t offset, absl::string_view bytes) {
    writes_.emplace_back(bytes);
    if (ignores_) return bytes.size();
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
    if (offset == 0) ports_ = PortSet();
    ports_.Add(*parsed);
    return taken.size();
  }

  FakeFileSystem files_;
  MutationTokenIssuer issuer_;
  SysctlWriter writer_{[this](const std::string& path, OpenMode mode) {
    return files_.Open(path, mode);
  }};
  std::vector<std::string> writes_;
  PortSet ports_;
  bool ignores_ = false;
};

TEST_F(SysctlWriterTest, WritesAndReadsBackAsASet) {
  EXPECT_TRUE(Write("60008-60015,60000-60007").ok());
  EXPECT_EQ(*writer_.Read(kReservedPortsKey), "60000-60015");
}

TEST_F(SysctlWriterTest, ClearsWithANewlineBecauseNoByteChangesNothing) {
  ports_.Add(60000, 60015);
  EXPECT_TRUE(Write("").ok());
  EXPECT_EQ(writes_, std::vector<std::string>{"\n"});
  EXPECT_EQ(*writer_.Read(kReservedPortsKey), "");
}

TEST_F(SysctlWriterTest, WritesAListThatIsLongerThanOneWriteTakes) {
  PortSet wanted;
  for (uint32_t port = 1; port < 4000; port += 2) wanted.Add(port, port);
  ASSERT_GT(wanted.ToString().size(), 8000u);
  EXPECT_TRUE(Write(wanted.ToString()).ok());
  EXPECT_GT(writes_.size(), 1u);
  EXPECT_EQ(ports_, wanted);
}

TEST_F(SysctlWriterTest, BelievesTheReadAndReportsWhyAWriteWasRefused) {
  ignores_ = true;
  const absl::Status status = Write("60000");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              Tells("msg-step-not-so-after-writing",
                    "net.ipv4.ip_local_reserved_ports", "", 60000));
  files_.FailChanges("/proc/sys",
                     absl::FailedPreconditionError("Read-only file system"));
  EXPECT_THAT(Write("60000"), HasText("Read-only file system"));
}

TEST_F(SysctlWriterTest, TellsAMissingParameterFromAForeignOne) {
  EXPECT_TRUE(absl::IsNotFound(writer_.Read(kSomaxconnKey).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      writer_.Write(issuer_.token(), "kernel.panic", "1")));
}

TEST(SameSysctlValueTest, ComparesPortsAsSetsAndNumbersAsText) {
  EXPECT_TRUE(SameSysctlValue(kReservedPortsKey, "1,2,3", "1-3\n"));
  EXPECT_FALSE(SameSysctlValue(kReservedPortsKey, "1-3", "1-4"));
  EXPECT_TRUE(SameSysctlValue(kSomaxconnKey, "4096\n", "4096"));
  EXPECT_FALSE(SameSysctlValue(kSomaxconnKey, "4096", "04096"));
}

}  // namespace
}  // namespace clusterd
