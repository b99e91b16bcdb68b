#include "tests/sim/tool/run_tool.h"

#include <stdlib.h>

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/sim/tool/commands.h"

namespace clusterd::sim {
namespace {

// With the program's name.
constexpr size_t kMaxWords = 63;
// The limit is not published; 5000 are too many.
constexpr size_t kMaxWordChars = 4096;
// The low byte of -EINVAL.
constexpr int kNoUserName = 234;

// The request of one command line.
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
  for (const std::string& word : words) {
    if (word.size() > kMaxWordChars) return failures::InvalidLength();
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

// Output that the state makes the device print instead of an answer.
bool PrintScripted(ToolContext& context) {
  const auto text = context.driver->Value("say", context.device);
  if (!text) return false;
  context.terminal->Out(*text);
  return true;
}

// Runs the option, for a device that exists.
Outcome RunForm(ToolContext& context, const CommandEntry& entry,
                const Request& request) {
  if (request.rest.empty()) return failures::WrongParameterCount();
  const CommandForm* form = FindForm(entry, request.rest);
  if (form == nullptr) {
    const bool cut = request.rest.size() == 1 &&
                     std::any_of(entry.forms.begin(), entry.forms.end(),
                                 [&request](const CommandForm& longer) {
                                   return longer.option.size() > 1 &&
                                          longer.option[0] == request.rest[0];
                                 });
    return cut ? failures::WrongParameterCount() : failures::UnknownOption();
  }
  const Arguments arguments(request.rest.begin() + form->option.size(),
                            request.rest.end());
  const int count = static_cast<int>(arguments.size());
  if (count < form->min_arguments || count > form->max_arguments ||
      (form->max_arguments > 0 && !form->any_count &&
       form->max_arguments % 2 != count % 2)) {
    return failures::WrongParameterCount();
  }
  const bool lies = form->changes &&
                    context.driver->Number("lies", context.device).value_or(0);
  Outcome failure = lies ? std::nullopt : form->run(context, arguments);
  if (form->changes) {
    context.server->log(absl::StrCat(
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
    // Without a driver device ids are meaningless.
    if (driver.Setting("nodriver").value_or("0") != "0" ||
        driver.LibraryCode("idmap", context.device) != 0) {
      return failures::WrongDeviceId();
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

int RunTool(const std::vector<std::string>& arguments, const ToolServer& server,
            Terminal* terminal) {
  if (arguments.size() == 1 && arguments[0] == "-h") {
    terminal->Out(ToolUsage());
    terminal->Flush();
    return 0;
  }
  Request request;
  const CommandEntry* entry = nullptr;
  Outcome failure = ParseRequest(arguments, &request);
  // A user without a name in the password file cannot be logged.
  if (!failure && !server.user_has_name) {
    failure = failures::Silent(kNoUserName);
  }
  if (!failure) {
    if (!server.prepare_log()) {
      terminal->Out(
          "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs "
          "may be lost.\n");
    }
    server.log_call(absl::StrJoin(arguments, " "));
    Driver driver(server.state, server.uid);
    ToolContext context;
    context.server = &server;
    context.driver = &driver;
    context.conf = &server.conf;
    context.terminal = terminal;
    entry = FindCommand(request.command, request.all_devices,
                        driver.product().build);
    failure = entry == nullptr ? Outcome(failures::UnknownCommand())
                               : RunOnDevice(context, *entry, request);
  }
  if (failure) Report(*failure, request, entry, terminal);
  terminal->Flush();
  return failure ? failure->status : 0;
}

}  // namespace clusterd::sim
