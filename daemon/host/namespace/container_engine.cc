#include "daemon/host/namespace/container_engine.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr absl::string_view kDocker[] = {"/usr/bin/docker",
                                         "/usr/local/bin/docker"};
constexpr absl::string_view kPodman[] = {"/usr/bin/podman",
                                         "/usr/local/bin/podman"};
constexpr absl::string_view kIsula[] = {"/usr/bin/isula",
                                        "/usr/local/bin/isula"};
constexpr absl::string_view kCrictl[] = {"/usr/bin/crictl",
                                         "/usr/local/bin/crictl"};
constexpr char kWithoutEngine[] =
    "; name a process of the container instead (--netns pid:N)";

struct Engine {
  absl::string_view name;
  absl::Span<const absl::string_view> programs;
  std::vector<std::string> arguments;
};

std::vector<Engine> Engines() {
  const std::vector<std::string> docker = {"inspect", "--type", "container",
                                           "--format", "{{.State.Pid}}"};
  return {
      {"docker", kDocker, docker},
      {"podman", kPodman, docker},
      {"isula", kIsula, {"inspect", "-f", "{{.State.Pid}}"}},
      {"crictl",
       kCrictl,
       {"inspect", "--output", "go-template", "--template", "{{.info.pid}}"}}};
}

// "container "train-1": `docker inspect …`".
std::string Subject(const Engine& engine, const std::string& container) {
  return absl::StrCat("container \"", container, "\": `", engine.name, " ",
                      absl::StrJoin(engine.arguments, " "), " ", container,
                      "`");
}

absl::StatusOr<uint32_t> ParsePid(const std::string& subject,
                                  const std::string& output) {
  const absl::string_view text = absl::StripAsciiWhitespace(output);
  uint32_t pid = 0;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   absl::ascii_isdigit);
  if (digits && absl::SimpleAtoi(text, &pid)) return pid;
  return absl::FailedPreconditionError(absl::StrCat(
      subject, ": ", QuotedText(text), " is no process id", kWithoutEngine));
}

// 0: the container does not run. NotFound: this engine has no such container.
absl::StatusOr<uint32_t> AskEngine(const Engine& engine,
                                   const std::string& program,
                                   const HostAccess& host,
                                   const std::string& container) {
  const std::string subject = Subject(engine, container);
  Command command;
  command.argv = {program};
  command.argv.insert(command.argv.end(), engine.arguments.begin(),
                      engine.arguments.end());
  command.argv.push_back(container);
  command.deadline = host.budget->ForCommand();
  const absl::StatusOr<CommandResult> result = host.runner->Run(command);
  if (!result.ok()) {
    return absl::Status(result.status().code(),
                        absl::StrCat(subject, ": ", result.status().message()));
  }
  if (result->timed_out) {
    return absl::DeadlineExceededError(
        absl::StrCat(subject, ": no answer in ",
                     host.budget->CutBy(result->elapsed), kWithoutEngine));
  }
  if (result->exit_status == 0 && result->signal == 0) {
    return ParsePid(subject, result->standard_output);
  }
  const absl::string_view said = absl::StripAsciiWhitespace(
      result->standard_error.empty() ? result->standard_output
                                     : result->standard_error);
  const std::string message = absl::StrCat(
      subject, ": status ", result->exit_status, " and ", QuotedText(said));
  const std::string lower = absl::AsciiStrToLower(said);
  if (absl::StrContains(lower, "no such object") ||
      absl::StrContains(lower, "no such container")) {
    return absl::NotFoundError(message);
  }
  return absl::UnavailableError(absl::StrCat(message, kWithoutEngine));
}

}  // namespace

absl::StatusOr<uint32_t> FindContainerPid(const HostAccess& host,
                                          const std::string& container) {
  uint32_t found = 0;
  std::string found_by;
  std::vector<std::string> stopped;
  std::vector<std::string> asked;
  absl::Status worst;
  for (const Engine& engine : Engines()) {
    const absl::StatusOr<std::string> program =
        FindProgram(host.paths.root, engine.programs);
    if (absl::IsNotFound(program.status())) continue;
    asked.push_back(std::string(engine.name));
    const absl::StatusOr<uint32_t> pid =
        program.ok() ? AskEngine(engine, *program, host, container)
                     : absl::StatusOr<uint32_t>(program.status());
    if (absl::IsNotFound(pid.status())) continue;
    if (!pid.ok()) {
      if (worst.ok()) worst = pid.status();
      continue;
    }
    if (*pid == 0) {
      stopped.push_back(std::string(engine.name));
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
    found_by = std::string(engine.name);
  }
  if (found != 0) return found;
  if (!stopped.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "container \"", container, "\": does not run, says ",
        absl::StrJoin(stopped, " and "), "; start it, then try again"));
  }
  if (!worst.ok()) return worst;
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
