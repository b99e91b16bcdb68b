// Runs clusterctl in-process: arguments in; stdout, stderr and status out.
#ifndef TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_
#define TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_

#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/wait/telling.h"

namespace clusterd {

struct ProgramOutput {
  int status = -1;
  std::string out;
  std::string err;
};

inline std::ostream& operator<<(std::ostream& to, const ProgramOutput& run) {
  return to << "status " << run.status << ", stdout:\n"
            << run.out << "\nstderr:\n"
            << run.err;
}

// Matchers of a run: Ends(3, Err(Tells("msg-run-id-not-valid", "ID", "x"))).
template <typename Matcher>
auto Out(const Matcher& out) {
  return testing::Field("out", &ProgramOutput::out, out);
}
template <typename Matcher>
auto Err(const Matcher& err) {
  return testing::Field("err", &ProgramOutput::err, err);
}
template <typename... Matchers>
auto Ends(int status, const Matchers&... matchers) {
  return testing::AllOf(
      testing::Field("status", &ProgramOutput::status, status), matchers...);
}

// Returns the line of stderr with a command's message.
inline std::string Line(absl::string_view command, const FindingValue& words) {
  return absl::StrCat("clusterctl ", command, ": ", ValueText(words), "\n");
}

// Returns a message of ProgramWorld's controller as clusterctl quotes it.
template <typename Value>
FindingValue FromController(const Value& said) {
  return Worded("about", Worded("controller-at", "head:7443"), said);
}

// The message of a JSON document; fails the test if it is not one.
template <typename Message>
Message FromJson(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok())
      << json;
  return message;
}

// The system's words for a file that is not there.
inline std::string NoSuchFile(absl::string_view path) {
  return absl::StrCat(path, ": ", std::strerror(ENOENT));
}

// The simulated surroundings of a run: controller, terminal, environment.
struct ProgramWorld {
  ControllerScript script;
  Terminal terminal;
  // All connection settings, and a UTF-8 locale, unless a test removes them.
  Environment environment = {
      {"CLUSTERD_CONTROLLER", "head:7443"},
      {"CLUSTERD_CLUSTER", "demo"},
      {"CLUSTERD_CA", "/etc/clusterd/ca.crt"},
      {"CLUSTERD_CERT", "/etc/clusterd/user.crt"},
      {"CLUSTERD_KEY", "/etc/clusterd/user.key"},
      {"LC_ALL", "C.UTF-8"},
  };
  // An empty folder: no settings file exists.
  std::string root = "/nonexistent";
  // Set if a test checks the requests to the controller.
  FakeController* controller = nullptr;
  // Ctrl-C is pressed as soon as stderr holds this text, and again for the
  // other text; empty: never.
  std::string interrupt_at;
  std::string interrupt_again_at;
  // The same when stdout has been flushed that often; 0: never.
  int interrupt_at_flush = 0;
  // The clock advances by this at each reading.
  absl::Duration clock_step = absl::ZeroDuration();
  // The user's input when asked.
  absl::StatusOr<std::string> answer = absl::OutOfRangeError("no answer");
  absl::TimeZone zone = absl::UTCTimeZone();
  std::string host_name = "login1";
};

// Becomes the controller of `world`, for a test that checks its requests.
class WatchedController final : public FakeController {
 public:
  explicit WatchedController(ProgramWorld& world)
      : FakeController(world.script) {
    world.controller = this;
  }
};

inline grpc::Status Away() {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
}

// One run at 2025-01-01 00:00 UTC, by a clock that stands still by default.
ProgramOutput RunProgram(const std::vector<std::string>& arguments,
                         const ProgramWorld& world = {});

// The words of a line with more behind them.
inline std::vector<std::string> With(std::vector<std::string> words,
                                     const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The words that `clusterctl complete` offers for a line, without descriptions.
std::vector<std::string> Offered(const std::vector<std::string>& line,
                                 const ProgramWorld& world = {});

// Every command that is offered, as typed; of a group, those in it.
inline constexpr const char* kCommandGroups[] = {"audit", "config", "generate",
                                                 "token"};
std::vector<std::vector<std::string>> EveryCommand();

// Options that are wrong, and parts of the messages about them.
struct Mistake {
  const char* name;
  std::vector<std::string> options;
  std::vector<std::string> messages;
};

// Each of them, behind the command, exits with 3, has every message on stderr
// and this on stdout; the controller is not asked: the result of `asked` has no
// value.
template <typename Asked>
void ExpectMistakes(const std::vector<std::string>& command,
                    const std::vector<Mistake>& mistakes, ProgramWorld world,
                    Asked asked,
                    const testing::Matcher<std::string>& out = testing::_) {
  for (const Mistake& each : mistakes) {
    SCOPED_TRACE(each.name);
    WatchedController controller(world);
    const ProgramOutput output = RunProgram(With(command, each.options), world);
    EXPECT_THAT(output, Ends(3, Out(out)));
    EXPECT_FALSE((controller.*asked)().has_value());
    for (const std::string& message : each.messages) {
      EXPECT_THAT(output.err, testing::HasSubstr(message));
    }
  }
}

// The text of `clusterctl COMMAND --help` about one exit status, as one line;
// fails the test if it is missing.
std::string HelpOfStatus(const std::string& command, int status);

// A new file in the test's own folder with this content; its path.
std::string TestFile(const std::string& name, const std::string& content);

// The content of a file; fails the test if it does not exist.
std::string FileContent(const std::string& path);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_
