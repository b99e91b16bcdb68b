#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "proto/host_recording.pb.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not;

std::string Recording(int runs) {
  HostRecording recording;
  recording.mutable_facts()->set_host("node-07");
  for (int i = 0; i < runs; ++i) {
    HostRecording::Run* run = recording.add_runs();
    for (const char* word : {"/opt/hccn_tool", "-i", "0", "-ip", "-g"}) {
      run->add_argv(word);
    }
    run->set_standard_output("ipaddr:29.1.112.213\nnetmask:255.255.0.0\n");
  }
  recording.set_complete(true);
  return recording.SerializeAsString();
}

ProgramOutput Anonymise(const std::string& file, const std::string& bytes) {
  return RunProgram({"anonymise", file, "--from", TestFile("raw", bytes)});
}

// A path in this test's folder that does not exist yet.
std::string NewFile(const std::string& name) {
  const std::string path = TestFile(name, "");
  EXPECT_EQ(remove(path.c_str()), 0);
  return path;
}

TEST(AnonymiseCommandTest, WritesAFileForThisUserWithoutTheHostsAddress) {
  const std::string file = NewFile("runs.jsonl");
  EXPECT_THAT(Anonymise(file, Recording(2)),
              Ends(0, Out(Say("ctl-anonymised", 2, file) + "\n")));
  const std::string text = FileContent(file);
  EXPECT_THAT(text, Not(HasSubstr("29.1.112.213")));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("\"recorded-0-ip-get-2\""));
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(AnonymiseCommandTest, SaysWhenThereWasNothingToRecord) {
  const std::string file = NewFile("none.jsonl");
  EXPECT_THAT(Anonymise(file, Recording(0)),
              Ends(2, Out(Tells("ctl-anonymised", 0, file))));
  EXPECT_THAT(FileContent(file), IsEmpty());
}

TEST(AnonymiseCommandTest, NeverReplacesAFile) {
  const std::string file = TestFile("there.jsonl", "precious");
  EXPECT_THAT(Anonymise(file, Recording(1)),
              Ends(2, Err(Tells("msg-new-file-exists", file))));
  EXPECT_EQ(FileContent(file), "precious");
}

TEST(AnonymiseCommandTest, RefusesWhatIsNoWholeRecording) {
  const std::string whole = Recording(1);
  for (const std::string& bytes : {std::string(), std::string("a log line\n"),
                                   whole.substr(0, whole.size() - 2)}) {
    const std::string file = NewFile("refused.jsonl");
    EXPECT_THAT(Anonymise(file, bytes),
                Ends(3, Err(HasSubstr("expected what clusterd"))));
    EXPECT_NE(access(file.c_str(), F_OK), 0);
  }
}

TEST(AnonymiseCommandTest, DoesNotWaitForAPersonToTypeARecording) {
  ProgramWorld world;
  world.terminal.in_is_terminal = true;
  EXPECT_THAT(RunProgram({"anonymise", "x.jsonl"}, world),
              Ends(3, Err(Tells("msg-stdin-empty"))));
}

}  // namespace
}  // namespace clusterd
