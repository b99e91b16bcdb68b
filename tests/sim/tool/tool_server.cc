#include "tests/sim/tool/tool_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace clusterd::sim {
namespace {

constexpr char kToolPath[] = "/usr/local/Ascend/driver/tools/hccn_tool";
constexpr char kLogFolder[] = "/var/log/hccn_tool";
constexpr char kLogFile[] = "/var/log/hccn_tool/hccn_config.log";
constexpr char kCallsFile[] = "/var/log/hccn_tool/hccn.log";
// A log that would have so many bytes becomes NAME.old, in place of the last.
constexpr off_t kMaxLogBytes = 5 * 1024 * 1024;
constexpr mode_t kOldLogMode = 0440;
// The number is the tool's; the words are the simulation's.
constexpr int kLinesOfACall = 7;
constexpr size_t kMaxCallChars = 200;

bool HasUserName(const std::string& root, uid_t uid) {
  std::ifstream file(root + "/etc/passwd");
  if (!file) file = std::ifstream("/etc/passwd");
  if (!file) return true;
  const std::string wanted = std::to_string(uid);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ':');
    if (fields.size() > 2 && fields[2] == wanted) return true;
  }
  return false;
}

bool MakeLogFolder(const std::string& folder) {
  struct stat found;
  if (stat(folder.c_str(), &found) == 0) return S_ISDIR(found.st_mode);
  mkdir(folder.c_str(), 0750);
  return true;
}

std::string LogLine(const ToolServer& server, const std::string& line) {
  char when[32];
  tm parts;
  gmtime_r(&server.now, &parts);
  strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
  return absl::StrCat(when, " uid ", server.uid, ": ", line, "\n");
}

void AppendLog(const std::string& path, const std::string& text) {
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
      found.st_size + static_cast<off_t>(text.size()) >= kMaxLogBytes) {
    chmod(path.c_str(), kOldLogMode);
    rename(path.c_str(), (path + ".old").c_str());
  }
  const int fd =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
           0640);
  if (fd < 0) return;
  // A log that cannot be written is lost, as the tool's warning says.
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

// Holds a write of hccn.conf while the file is empty, until the state changes
// or its time has passed.
void HoldEmpty(const StateFile& state) {
  constexpr useconds_t kStepMicros = 1000;
  for (long waited = 0;
       waited < state.Read().Number("conf_empty.ms").value_or(0); ++waited) {
    usleep(kStepMicros);
  }
}

void Drain(int fd, std::string* text) {
  size_t done = 0;
  while (done < text->size()) {
    const ssize_t wrote = write(fd, text->data() + done, text->size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += wrote;
  }
  text->clear();
}

// File descriptors 0, 1 and 2.
class PosixTerminal final : public Terminal {
 public:
  void Flush() override {
    Drain(STDOUT_FILENO, &out_);
    Drain(STDERR_FILENO, &err_);
  }
  std::string ReadLine() override {
    std::string line;
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1) {
      line += c;
      if (c == '\n') break;
    }
    return line;
  }
};

}  // namespace

ToolServer ServerBelow(const std::string& root, uid_t uid, time_t now) {
  const std::string above = root == "/" ? "" : root;
  const StateFile state(above + "/var/lib/hccn_sim/state");
  const auto hold = [state] { HoldEmpty(state); };
  ToolServer server{state, HccnConf(above + "/etc/hccn.conf", hold), uid, now};
  server.user_has_name = HasUserName(above, uid);
  const std::string install_info = above + "/etc/ascend_install.info";
  server.has_install_info = access(install_info.c_str(), R_OK) == 0;
  server.prepare_log = [above] { return MakeLogFolder(above + kLogFolder); };
  server.log = [server, above](const std::string& line) {
    AppendLog(above + kLogFile, LogLine(server, line));
  };
  server.log_call = [server, above](const std::string& call) {
    const std::string shown = absl::CHexEscape(call.substr(0, kMaxCallChars));
    std::string text;
    for (int i = 1; i <= kLinesOfACall; ++i) {
      text += LogLine(server, absl::StrCat("hccn_tool ", shown, " (", i, "/",
                                           kLinesOfACall, ")"));
    }
    AppendLog(above + kCallsFile, text);
  };
  return server;
}

std::string FindToolRoot(const std::string& argv0,
                         const std::string& configured,
                         const std::string& executable) {
  auto above = [](const std::string& path) -> std::string {
    if (path.empty() || path[0] != '/' || !absl::EndsWith(path, kToolPath)) {
      return "";
    }
    const std::string root =
        path.substr(0, path.size() - std::string(kToolPath).size());
    return root.empty() ? "/" : root;
  };
  for (const std::string& root :
       {above(argv0), configured, above(executable)}) {
    if (!root.empty()) return root;
  }
  return "";
}

int RunAsProgram(const char* name, ToolFunction tool, int argc, char** argv) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self));
  const char* configured = getenv("HCCN_SIM_ROOT");
  const std::string root = FindToolRoot(
      argc > 0 ? argv[0] : "", configured == nullptr ? "" : configured,
      std::string(self, length > 0 ? length : 0));
  if (root.empty()) {
    fprintf(stderr,
            "%s: no server to answer for: set HCCN_SIM_ROOT to the server's "
            "root folder, or start it as ROOT%s\n",
            name, kToolPath);
    return 127;
  }
  const std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  PosixTerminal terminal;
  return tool(arguments, ServerBelow(root, geteuid(), time(nullptr)),
              &terminal);
}

}  // namespace clusterd::sim
