// clusterctl watch on a terminal of its own: a resized window, a controller
// that stops and starts, and the terminal after Ctrl-C.
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// A program on a terminal of 80 columns and 24 lines, whose keys we press.
class OnTerminal {
 public:
  OnTerminal(std::vector<std::string> argv,
             std::vector<std::string> environment) {
    const auto pointers = [](std::vector<std::string>& strings) {
      std::vector<char*> all;
      for (std::string& string : strings) all.push_back(string.data());
      all.push_back(nullptr);
      return all;
    };
    const std::vector<char*> arguments = pointers(argv);
    const std::vector<char*> variables = pointers(environment);
    const winsize window = {24, 80, 0, 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &window);
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execve(arguments[0], arguments.data(), variables.data());
      _exit(127);
    }
    if (pid_ < 0) {
      std::perror("forkpty");
      std::abort();
    }
    tcgetattr(terminal_, &before_);
  }
  ~OnTerminal() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  // Blocks until the terminal has shown the text after the last one; false on a
  // timeout.
  bool WaitFor(const std::string& text) {
    const absl::Time until = absl::Now() + kPatience;
    for (;;) {
      const size_t found = screen_.find(text, searched_);
      if (found != std::string::npos) {
        searched_ = found + text.size();
        return true;
      }
      if (!Read(until)) return false;
    }
  }

  void Press(char key) { ASSERT_EQ(write(terminal_, &key, 1), 1); }

  // The exit status after its end; -1: it did not end.
  int End() {
    const absl::Time until = absl::Now() + kPatience;
    while (Read(until)) {
    }
    int status = 0;
    if (absl::Now() >= until || waitpid(pid_, &status, 0) != pid_) return -1;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  const std::string& screen() const { return screen_; }
  // True if keys are echoed and read by lines, as before.
  bool IsAsBefore() const {
    termios now = {};
    return tcgetattr(terminal_, &now) == 0 && now.c_lflag == before_.c_lflag &&
           now.c_oflag == before_.c_oflag && now.c_iflag == before_.c_iflag;
  }

 private:
  // False when the program has left the terminal, or the time has passed.
  bool Read(absl::Time until) {
    const int64_t left = absl::ToInt64Milliseconds(until - absl::Now());
    pollfd fd = {terminal_, POLLIN, 0};
    if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) <= 0) return false;
    char buffer[4096];
    const ssize_t got = read(terminal_, buffer, sizeof(buffer));
    if (got <= 0) return false;
    screen_.append(buffer, static_cast<size_t>(got));
    return true;
  }

  pid_t pid_ = -1;
  int terminal_ = -1;
  termios before_ = {};
  std::string screen_;
  size_t searched_ = 0;
};

TEST(WatchOnATerminalTest,
     RedrawsGoesOnAfterARestartAndLeavesTheTerminalAsItWas) {
  DemoCluster cluster(DemoSpec(2), {"server0", "server1"});
  cluster.StartController();
  cluster.StartHost("server0");
  OnTerminal watch(cluster.Clusterctl({"watch"}),
                   {"TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR=1"});
  ASSERT_TRUE(watch.WaitFor("1 of 2 attached, 1 away")) << watch.screen();
  cluster.StartHost("server1");
  ASSERT_TRUE(watch.WaitFor("\x1b[Hdemo  ")) << watch.screen();
  ASSERT_TRUE(watch.WaitFor("2 of 2 attached")) << watch.screen();

  cluster.controller().EndBy(SIGKILL);
  ASSERT_TRUE(watch.WaitFor("\x1b[Haway: controller ")) << watch.screen();
  cluster.StartController();
  ASSERT_TRUE(watch.WaitFor("\x1b[Hdemo  ")) << watch.screen();
  ASSERT_TRUE(watch.WaitFor("2 of 2 attached")) << watch.screen();

  watch.Press('\x03');
  EXPECT_EQ(watch.End(), 0) << watch.screen();
  EXPECT_THAT(watch.screen(), HasSubstr("\x1b[?1049h\x1b[?7l\x1b[?25l"));
  EXPECT_THAT(watch.screen(), EndsWith("\x1b[?25h\x1b[?7h\x1b[?1049l"));
  EXPECT_TRUE(watch.IsAsBefore());
}

TEST(WatchOnATerminalTest, PrintsNoCodesOnADumbOne) {
  DemoCluster cluster(DemoSpec(2), {"server0", "server1"});
  cluster.StartController();
  OnTerminal watch(cluster.Clusterctl({"watch"}), {"TERM=dumb"});
  ASSERT_TRUE(watch.WaitFor("0 of 2 attached, 2 away")) << watch.screen();
  watch.Press('\x03');
  EXPECT_EQ(watch.End(), 0) << watch.screen();
  EXPECT_FALSE(absl::StrContains(watch.screen(), "\x1b")) << watch.screen();
}

// The columns that the C library gives a line; -1: it is not UTF-8 or has a
// character that is not printable.
int ColumnsOf(const std::string& line) {
  const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t before = uselocale(utf8);
  std::vector<wchar_t> wide(line.size() + 1);
  const size_t size = mbstowcs(wide.data(), line.c_str(), wide.size());
  const int columns =
      size == static_cast<size_t>(-1) ? -1 : wcswidth(wide.data(), size);
  uselocale(before);
  freelocale(utf8);
  return columns;
}

// "\x1b[2K" and the like have no columns.
std::string WithoutCodes(std::string text) {
  size_t at = 0;
  while ((at = text.find("\x1b[", at)) != std::string::npos) {
    size_t end = at + 2;
    while (end < text.size() && !absl::ascii_isalpha(text[end])) ++end;
    text.erase(at, end + 1 - at);
  }
  return text;
}

TEST(CheckOnATerminalTest, LinesInChineseFitIn80Columns) {
  DemoCluster cluster(DemoSpec(2), {"server0", "server1"});
  cluster.StartAll();
  cluster.SetFault("server1", "3:link=DOWN");
  for (const std::string language : {"zh", "en"}) {
    OnTerminal check(
        cluster.Clusterctl({"check"}),
        {"TERM=xterm", "LC_ALL=C.UTF-8", "CLUSTERD_LANG=" + language});
    EXPECT_EQ(check.End(), 1) << check.screen();
    const std::string screen = WithoutCodes(check.screen());
    EXPECT_EQ(absl::StrContains(screen, "不通过"), language == "zh") << screen;
    int widest = 0;
    for (const absl::string_view line :
         absl::StrSplit(screen, absl::ByAnyChar("\r\n"))) {
      const int columns = ColumnsOf(std::string(line));
      EXPECT_GE(columns, 0) << line;
      widest = std::max(widest, columns);
    }
    EXPECT_LE(widest, 80) << screen;
    EXPECT_GT(widest, 60) << screen;
  }
}

TEST(DiffTest, FindsTheFaultThatCameBetweenTwoChecks) {
  DemoCluster cluster(DemoSpec(2), {"server0", "server1"});
  cluster.StartAll();
  EXPECT_EQ(cluster.Check().process.exit_status, 0);
  cluster.SetFault("server1", "3:link=DOWN");
  EXPECT_EQ(cluster.Check().process.exit_status, 1);
  const ProcessResult diff = cluster.RunClusterctl({"diff"});
  EXPECT_EQ(diff.exit_status, 1) << diff.standard_error;
  EXPECT_THAT(diff.standard_output,
              HasSubstr("link server1 device 3: pass -> fail"));
}

}  // namespace
}  // namespace clusterd
