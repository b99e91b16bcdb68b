#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "client/connection/rpc_client.h"
#include "client/files/user_files.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0); }
  ~Pipe() {
    Close();
    close(ends_[0]);
  }
  void Type(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void Close() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  int out() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

TEST(ReadTypedLineTest, ReturnsOneLineAndLeavesTheNext) {
  Pipe pipe;
  pipe.Type("yes\nno\n");
  EXPECT_EQ(ReadTypedLine(pipe.out(), -1).value(), "yes");
  EXPECT_EQ(ReadTypedLine(pipe.out(), -1).value(), "no");
}

TEST(ReadTypedLineTest, TakesNoUnfinishedLineForAnAnswer) {
  Pipe pipe;
  pipe.Type("y");
  pipe.Close();
  EXPECT_TRUE(absl::IsOutOfRange(ReadTypedLine(pipe.out(), -1).status()));
}

TEST(ReadTypedLineTest, GivesUpAnEndlessLine) {
  Pipe pipe;
  // The smallest pipe of a busy kernel holds only this much.
  pipe.Type(std::string(4096, 'y'));
  EXPECT_TRUE(absl::IsOutOfRange(ReadTypedLine(pipe.out(), -1).status()));
}

TEST(ReadTypedLineTest, GivesUpOnCtrlC) {
  Pipe pipe;
  Interrupt interrupt;
  interrupt.Fire();
  EXPECT_TRUE(absl::IsCancelled(
      ReadTypedLine(pipe.out(), interrupt.descriptor()).status()));
}

TEST(ReadTypedLineTest, SaysWhyNothingCanBeRead) {
  Pipe pipe;
  const int folder = open("/", O_RDONLY | O_CLOEXEC);
  const auto line = ReadTypedLine(folder, -1);
  close(folder);
  EXPECT_TRUE(absl::IsUnavailable(line.status())) << line.status();
}

}  // namespace
}  // namespace clusterd
