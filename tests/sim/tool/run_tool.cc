#include "tests/sim/tool/run_tool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/command_table.h"

namespace clusterd {
namespace sim {
namespace {

// With the program's name.
constexpr size_t kMaxWords = 63;
// The low byte of -EINVAL.
constexpr int kNoUserName = 234;
constexpr char kToolPath[] = "/usr/local/Ascend/driver/tools/hccn_tool";
constexpr char kLogFolder[] = "/var/log/hccn_tool";
constexpr char kLogFile[] = "/var/log/hccn_tool/hccn_config.log";

// What one command line asks for.
struct Request {
  bool all_devices = false;
  std::string device;
  std::string command;
  // Behind the command.
  std::vector<std::string> rest;
};

Outcome ParseRequest(const std::vector<std::string>& words, Request* request) {
  if (words.empty() || words.size() + 1 > kMaxWords) {
    return failures::WrongArgumentCount();
  }
  if (words[0] != "-i" && words[0] != "-a") return failures::WrongMajorType();
  request->all_devices = words[0] == "-a";
  const size_t command = request->all_devices ? 1 : 2;
  if (words.size() <= command) return failures::UnknownCommand();
  if (!request->all_devices) request->device = words[1];
  request->command = words[command];
  request->rest.assign(words.begin() + command + 1, words.end());
  return std::nullopt;
}

// Without a name in the password file the tool has nothing to log under.
bool HasUserName(const ToolEnvironment& environment) {
  std::ifstream file(environment.root + "/etc/passwd");
  if (!file) file = std::ifstream("/etc/passwd");
  if (!file) return true;
  const std::string uid = std::to_string(environment.uid);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, ':');
    if (fields.size() > 2 && fields[2] == uid) return true;
  }
  return false;
}

// One or two digits, or none at all, which the tool takes for 0.
Outcome ParseDevice(const std::string& text, const Product& product,
                    int* device) {
  const bool digits =
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return std::isdigit(c); });
  if (text.size() > 2 || !digits) return failures::WrongDeviceId();
  *device = atoi(text.c_str());
  if (!HasDevice(product, *device)) return failures::WrongDeviceId();
  return std::nullopt;
}

void PrepareLog(const ToolEnvironment& environment, Terminal* terminal) {
  const std::string folder = environment.root + kLogFolder;
  struct stat found;
  if (stat(folder.c_str(), &found) != 0) {
    mkdir(folder.c_str(), 0750);
  } else if (!S_ISDIR(found.st_mode)) {
    terminal->Out(absl::StrCat("[WARNING] \"", kLogFolder,
                               "\" is not a directory, hccn_tool logs may be "
                               "lost.\n"));
  }
}

void AppendLog(const ToolEnvironment& environment, const std::string& line) {
  const std::string path = environment.root + kLogFile;
  const int fd =
      open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
           0640);
  if (fd < 0) return;
  char when[32];
  tm parts;
  gmtime_r(&environment.now, &parts);
  strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
  const std::string text =
      absl::StrCat(when, " uid ", environment.uid, ": ", line, "\n");
  // A log that cannot be written is lost, as the tool's warning says.
  (void)!write(fd, text.data(), text.size());
  close(fd);
}

// The form with the most words of `rest` in front; its arguments behind.
const CommandForm* FindForm(const CommandEntry& entry,
                            const std::vector<std::string>& rest) {
  for (const CommandForm& form : entry.forms) {
    if (rest.size() >= form.option.size() &&
        std::equal(form.option.begin(), form.option.end(), rest.begin())) {
      return &form;
    }
  }
  return nullptr;
}

void Report(const Failure& failure, const Request& request,
            const CommandEntry* entry, Terminal* terminal) {
  if (!failure.text.empty()) {
    const std::string line = failure.text + "\n";
    if (failure.to_stdout) {
      terminal->Out(line);
    } else {
      terminal->Err(line);
    }
  }
  if (failure.with_hint) {
    terminal->Err("Enter [ hccn_tool -h ] for more details.\n");
  }
  if (failure.with_usage && entry != nullptr) {
    terminal->Out(absl::StrCat(
        "[ hccn_tool ", request.all_devices ? "-a" : "-i", " devid ",
        entry->name, " ] needs the following parameters:\n  ", entry->usage,
        "\n"));
  }
}

// What the state makes the device print instead of an answer.
bool PrintScripted(ToolContext& context) {
  const auto text = context.driver->Value("say", context.device);
  if (!text) return false;
  context.terminal->Out(*text);
  return true;
}

// From the option on, for a device that is there.
Outcome RunForm(ToolContext& context, const CommandEntry& entry,
                const Request& request) {
  if (request.rest.empty()) return failures::WrongParameterCount();
  const CommandForm* form = FindForm(entry, request.rest);
  if (form == nullptr) return failures::UnknownOption();
  const Arguments arguments(request.rest.begin() + form->option.size(),
                            request.rest.end());
  const int count = static_cast<int>(arguments.size());
  if (count < form->min_arguments || count > form->max_arguments ||
      (form->max_arguments > 0 && form->max_arguments % 2 != count % 2)) {
    return failures::WrongParameterCount();
  }
  const bool lies = form->changes &&
                    context.driver->Number("lies", context.device).value_or(0);
  Outcome failure = lies ? std::nullopt : form->run(context, arguments);
  if (form->changes) {
    context.log(absl::StrCat(
        "device ", context.device, ": ", entry.name, " ",
        absl::StrJoin(request.rest, " "), ": ",
        failure ? absl::StrCat("status ", failure->status) : "done"));
    if (!failure) context.terminal->Out("Cmd executed successfully!\n");
  }
  return failure;
}

Outcome RunOnDevice(ToolContext& context, const CommandEntry& entry,
                    const Request& request) {
  Driver& driver = *context.driver;
  if (!request.all_devices) {
    if (Outcome failure =
            ParseDevice(request.device, driver.product(), &context.device)) {
      return failure;
    }
    if (driver.LibraryCode("mainboard", context.device) != 0) {
      return failures::CommandFailed();
    }
    if (Outcome failure = driver.RequireHealth(context.device)) return failure;
    if (Outcome failure = driver.Begin(context.device)) return failure;
    if (PrintScripted(context)) return std::nullopt;
  }
  return RunForm(context, entry, request);
}

}  // namespace

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

int RunTool(const std::vector<std::string>& arguments,
            const ToolEnvironment& environment, Terminal* terminal) {
  ToolEnvironment here = environment;
  if (here.root == "/") here.root.clear();
  if (arguments.size() == 1 && arguments[0] == "-h") {
    terminal->Out(ToolUsage());
    terminal->Flush();
    return 0;
  }
  Request request;
  const CommandEntry* entry = nullptr;
  Outcome failure = ParseRequest(arguments, &request);
  if (!failure && !HasUserName(here)) failure = failures::Silent(kNoUserName);
  if (!failure) {
    PrepareLog(here, terminal);
    const StateFile file(here.root + "/var/lib/hccn_sim/state");
    const long trusted = file.Read().Number("root_uid").value_or(0);
    const bool is_root =
        here.uid == 0 || here.uid == static_cast<uid_t>(trusted);
    Driver driver(file, is_root);
    HccnConf conf(here.root + "/etc/hccn.conf");
    ToolContext context;
    context.driver = &driver;
    context.conf = &conf;
    context.terminal = terminal;
    context.root = here.root;
    context.is_root = is_root;
    context.now = here.now;
    context.log = [&here](const std::string& line) { AppendLog(here, line); };
    entry = FindCommand(request.command, request.all_devices,
                        driver.product().build);
    failure = entry == nullptr ? Outcome(failures::UnknownCommand())
                               : RunOnDevice(context, *entry, request);
  }
  if (failure) Report(*failure, request, entry, terminal);
  terminal->Flush();
  return failure ? failure->status : 0;
}

}  // namespace sim
}  // namespace clusterd
