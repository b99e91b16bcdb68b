#include "tests/support/client/program_run.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "client/command/command.h"
#include "client/connection/rpc_client.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// Keeps the output, and presses Ctrl-C once for each text when it has appeared.
class WatchedBuffer final : public std::stringbuf {
 public:
  WatchedBuffer(std::vector<std::string> texts, Interrupt& interrupt)
      : texts_(std::move(texts)), interrupt_(interrupt) {}

 protected:
  int sync() override {
    while (!texts_.empty() && absl::StrContains(str(), texts_.front())) {
      texts_.erase(texts_.begin());
      interrupt_.Fire();
    }
    return 0;
  }

 private:
  std::vector<std::string> texts_;
  Interrupt& interrupt_;
};

// Presses Ctrl-C after this many flushes.
class CountedBuffer final : public std::stringbuf {
 public:
  CountedBuffer(int flushes, Interrupt& interrupt)
      : left_(flushes), interrupt_(interrupt) {}

 protected:
  int sync() override {
    if (--left_ == 0) interrupt_.Fire();
    return 0;
  }

 private:
  int left_;
  Interrupt& interrupt_;
};

}  // namespace

ProgramOutput RunProgram(const std::vector<std::string>& arguments,
                         const ProgramWorld& world) {
  std::unique_ptr<FakeController> own;
  FakeController* controller = world.controller;
  if (controller == nullptr) {
    own = std::make_unique<FakeController>(world.script);
    controller = own.get();
  }
  Interrupt interrupt;
  CountedBuffer out_buffer(world.interrupt_at_flush, interrupt);
  std::ostream out(&out_buffer);
  std::vector<std::string> presses;
  for (const auto& text : {world.interrupt_at, world.interrupt_again_at}) {
    if (!text.empty()) presses.push_back(text);
  }
  WatchedBuffer err_buffer(presses, interrupt);
  std::ostream err(&err_buffer);
  absl::Time now =
      absl::FromCivil(absl::CivilSecond(2025, 1, 1), absl::UTCTimeZone());
  Session session{out,
                  err,
                  world.terminal,
                  world.environment,
                  [&] { return now += world.clock_step; },
                  *controller,
                  interrupt,
                  world.root,
                  world.zone,
                  [&]() -> absl::StatusOr<std::string> {
                    if (interrupt.fired()) {
                      return absl::CancelledError("interrupted");
                    }
                    return world.answer;
                  },
                  world.host_name};
  ProgramOutput output;
  output.status = RunClusterctl(arguments, session);
  output.out = out_buffer.str();
  output.err = err_buffer.str();
  return output;
}

std::vector<std::string> Offered(const std::vector<std::string>& line,
                                 const ProgramWorld& world) {
  const ProgramOutput output = RunProgram(With({"complete"}, line), world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.err, "");
  std::vector<std::string> words;
  for (const absl::string_view row :
       absl::StrSplit(output.out, '\n', absl::SkipEmpty())) {
    words.emplace_back(row.substr(0, row.find('\t')));
  }
  return words;
}

std::vector<std::vector<std::string>> EveryCommand() {
  std::vector<std::vector<std::string>> commands;
  for (const std::string& name : Offered({""})) {
    if (!absl::c_linear_search(kCommandGroups, name)) {
      commands.push_back({name});
      continue;
    }
    for (const std::string& below : Offered({name, ""})) {
      commands.push_back({name, below});
    }
  }
  return commands;
}

std::string HelpOfStatus(const std::string& command, int status) {
  const std::string help = RunProgram({command, "--help"}).out;
  const size_t begin = help.find(absl::StrCat("\n  ", status, "  "));
  EXPECT_NE(begin, std::string::npos) << help;
  if (begin == std::string::npos) return "";
  const size_t end =
      std::min({help.find(absl::StrCat("\n  ", status + 1, "  "), begin),
                help.find("\nStatus ", begin), help.find("\n\n", begin)});
  std::string text = help.substr(begin, end - begin);
  const size_t list = help.find(absl::StrCat("\nStatus ", status, " means "));
  if (list != std::string::npos) {
    text += help.substr(list, help.find("\n\n", list) - list);
  }
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

std::string TestFile(const std::string& name, const std::string& content) {
  // Names of parameterized tests contain a slash.
  const std::string test = absl::StrReplaceAll(
      testing::UnitTest::GetInstance()->current_test_info()->name(),
      {{"/", "-"}});
  const std::string path =
      absl::StrCat(testing::TempDir(), "/", test, "-", name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string FileContent(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

}  // namespace clusterd
