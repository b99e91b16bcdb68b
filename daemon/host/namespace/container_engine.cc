#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/namespace/network_namespace.h"

namespace clusterd {
namespace {

constexpr char kWithoutEngine[] =
    "; name a process of the container instead (--netns pid:N)";

struct Engine {
  const char* name;
  const char* arguments;  // Before the container's name.
};
constexpr Engine kEngines[] = {
    {"docker", "inspect --type container --format {{.State.Pid}}"},
    {"podman", "inspect --type container --format {{.State.Pid}}"},
    {"isula", "inspect -f {{.State.Pid}}"},
    {"crictl", "inspect --output go-template --template {{.info.pid}}"},
};

absl::StatusOr<std::string> FindEngine(const HostAccess& host,
                                       const Engine& engine) {
  const std::string paths[] = {absl::StrCat("/usr/bin/", engine.name),
                               absl::StrCat("/usr/local/bin/", engine.name)};
  return FindProgram(host.paths.root, {paths[0], paths[1]});
}

// 0: the container does not run. NotFound: this engine has no such container.
absl::StatusOr<uint32_t> AskEngine(const Engine& engine,
                                   const std::string& program,
                                   const HostAccess& host,
                                   const std::string& container) {
  static const LazyRE2 kPid = {R"((\d+))"};
  // "container "train-1": `docker inspect …`".
  const std::string subject =
      absl::StrCat("container \"", container, "\": `", engine.name, " ",
                   engine.arguments, " ", container, "`");
  std::vector<std::string> argv = absl::StrSplit(engine.arguments, ' ');
  argv.insert(argv.begin(), program);
  argv.push_back(container);
  ASSIGN_OR_RETURN(
      const CommandResult result,
      RunWithin(*host.budget, host.runner, subject, std::move(argv)));
  const absl::string_view out =
      absl::StripAsciiWhitespace(result.standard_output);
  if (result.exit_status == 0 && result.signal == 0) {
    uint32_t pid = 0;
    if (HasForm(out, *kPid, &pid)) return pid;
    return absl::FailedPreconditionError(
        absl::StrCat(subject, ": ", QuotedText(out), " is no process id"));
  }
  const absl::string_view said =
      result.standard_error.empty()
          ? out
          : absl::StripAsciiWhitespace(result.standard_error);
  const std::string message = absl::StrCat(
      subject, ": status ", result.exit_status, " and ", QuotedText(said));
  const std::string lower = absl::AsciiStrToLower(said);
  return absl::StrContains(lower, "no such object") ||
                 absl::StrContains(lower, "no such container")
             ? absl::NotFoundError(message)
             : absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<uint32_t> FindContainerPid(const HostAccess& host,
                                          const std::string& container) {
  uint32_t found = 0;
  std::string found_by;
  std::vector<std::string> stopped;
  std::vector<std::string> asked;
  absl::Status worst;
  for (const Engine& engine : kEngines) {
    const absl::StatusOr<std::string> program = FindEngine(host, engine);
    if (absl::IsNotFound(program.status())) continue;
    asked.push_back(engine.name);
    const absl::StatusOr<uint32_t> pid =
        program.ok() ? AskEngine(engine, *program, host, container)
                     : absl::StatusOr<uint32_t>(program.status());
    if (absl::IsNotFound(pid.status())) continue;
    if (!pid.ok()) {
      if (worst.ok()) worst = pid.status();
      continue;
    }
    if (*pid == 0) {
      stopped.push_back(engine.name);
      continue;
    }
    // The same process: podman answers under docker's name, too.
    if (found != 0 && found != *pid) {
      return absl::FailedPreconditionError(
          absl::StrCat("container \"", container, "\": runs in ", found_by,
                       " (process ", found, ") and in ", engine.name,
                       " (process ", *pid, ")", kWithoutEngine));
    }
    found = *pid;
    found_by = engine.name;
  }
  if (found != 0) return found;
  if (!stopped.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "container \"", container, "\": does not run, says ",
        absl::StrJoin(stopped, " and "), "; start it, then try again"));
  }
  if (!worst.ok()) {
    return absl::Status(worst.code(),
                        absl::StrCat(worst.message(), kWithoutEngine));
  }
  if (asked.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "container \"", container,
        "\": no container engine on this host, looked for docker, podman, "
        "isula and crictl in /usr/bin and /usr/local/bin",
        kWithoutEngine));
  }
  return absl::NotFoundError(absl::StrCat("container \"", container,
                                          "\": no such container, says ",
                                          absl::StrJoin(asked, " and ")));
}

}  // namespace clusterd
