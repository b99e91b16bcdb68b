// A server's root folder for tests of the tool, and one run in it.
#ifndef TESTS_SIM_TOOL_TEST_SERVER_H_
#define TESTS_SIM_TOOL_TEST_SERVER_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/run_tool.h"
#include "tests/sim/tool/terminal.h"

namespace clusterd::sim {

struct ToolRun {
  int status = 0;
  std::string out;
  std::string err;
};

class TestServer {
 public:
  // `state` as device_state.h writes it.
  explicit TestServer(const std::string& state, const std::string& conf = "") {
    std::string path = Temporary() + "/server.XXXXXX";
    root_ = mkdtemp(path.data());
    for (const char* folder : {"/etc", "/var/log", "/var/lib/hccn_sim"}) {
      std::filesystem::create_directories(root_ + folder);
    }
    Write("/var/lib/hccn_sim/state", "retry.ms=0;" + state);
    Write("/etc/hccn.conf", conf);
    Write("/etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/\n");
    Write("/etc/ascend_install.info", "Driver_Install_Status=complete\n");
  }
  ~TestServer() { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  std::string conf() const { return Read("/etc/hccn.conf"); }
  DeviceState state() const { return StateFile(StatePath()).Read(); }
  std::string StatePath() const { return root_ + "/var/lib/hccn_sim/state"; }

  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ + path, std::ios::binary) << text;
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(root_ + path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  // Words with single spaces between them, e.g. "-i 0 -ip -g".
  ToolRun Run(const std::string& words, const std::string& typed = "",
              uid_t uid = 0) const {
    FakeTerminal terminal(typed);
    ToolRun run;
    run.status =
        RunTool(absl::StrSplit(words, ' ', absl::SkipEmpty()),
                ServerBelow(root_, uid, /*now=*/1700000000), &terminal);
    run.out = terminal.out();
    run.err = terminal.err();
    return run;
  }

 private:
  static std::string Temporary() {
    const char* folder = getenv("TEST_TMPDIR");
    return folder == nullptr ? "/tmp" : folder;
  }

  std::string root_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_TEST_SERVER_H_
