#include <fcntl.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <thread>

#include "daemon/agent/self_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/host_recording.pb.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

int Record(int descriptor, std::ostream* err) {
  const ScratchRoot root;
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  return RecordHost(descriptor, root.path(), &runner, &clock, err);
}

TEST(RecordHostTest, WritesAWholeRecordingIntoAPipe) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  // Reads during the write, since the kernel decides how much a pipe holds.
  HostRecording recording;
  bool is_read = false;
  std::thread reader([&recording, &is_read, from = ends[0]] {
    is_read = recording.ParseFromFileDescriptor(from);
  });
  std::stringstream err;
  EXPECT_EQ(Record(ends[1], &err), 0);
  EXPECT_THAT(err.str(), IsEmpty());
  close(ends[1]);
  reader.join();
  close(ends[0]);
  ASSERT_TRUE(is_read);
  EXPECT_TRUE(recording.complete());
  EXPECT_EQ(recording.runs_size(), 0);
  EXPECT_EQ(recording.facts().host(), "recorded");
}

TEST(RecordHostTest, WritesNoAddressIntoAFile) {
  const ScratchRoot root;
  const std::string path = root.path() + "/raw";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  std::stringstream err;
  EXPECT_EQ(Record(file, &err), 1);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 0);
  close(file);
  EXPECT_THAT(err.str(), HasSubstr("| clusterctl anonymise FILE"));
}

}  // namespace
}  // namespace clusterd
