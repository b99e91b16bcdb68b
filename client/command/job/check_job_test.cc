// clusterctl check of a job: its request, and options that exclude each other.
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr;

using Arguments = std::vector<std::string>;

// Two servers, and a check with this report.
ProgramWorld WorldWith(const Report& report) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.check_events = {EventOf(report)};
  return world;
}

// A report about a job on both servers.
Report JobReport(const std::string& id) {
  Report report = PassingReport({"server0", "server1"});
  report.set_job_id(id);
  report.set_job_servers(2);
  report.set_job_devices(2);
  return report;
}

// The request that `check` with these options sends.
CheckRequest Asked(const Arguments& options, ProgramWorld world,
                   int status = 0) {
  WatchedController controller(world);
  EXPECT_EQ(RunProgram(With({"check"}, options), world).status, status);
  EXPECT_TRUE(controller.check_request().has_value());
  return controller.check_request().value_or(CheckRequest());
}

TEST(CheckJobTest, AsksAboutTheJobOfTheOptionsAndNamesNoHostsBesideIt) {
  const auto request =
      Asked({"--nodes", "server[1,0]", "--devices", "0-3", "--product",
             "atlas-a2", "--dtype", "fp16,bf16", "--method", "torchrun",
             "--job-id", "mine", "--max-age", "10m"},
            WorldWith(JobReport("mine")));
  EXPECT_EQ(request.hosts_size(), 0);
  EXPECT_EQ(request.max_age_ms(), 600'000u);
  const JobSpec& job = request.job();
  ASSERT_EQ(job.servers_size(), 2);
  EXPECT_EQ(job.servers(0).host(), "server1");
  EXPECT_EQ(job.servers(1).devices_size(), 4);
  EXPECT_EQ(job.product(), "atlas-a2");
  ASSERT_EQ(job.dtypes_size(), 2);
  EXPECT_EQ(job.dtypes(1), "bfp16");
  EXPECT_EQ(job.method(), "torchrun");
  EXPECT_EQ(job.id(), "mine");
}

TEST(CheckJobTest, ReadsAJobFileAndItsRankTableBesideIt) {
  const std::string table = TestFile("table.json", "{}");
  const std::string file = TestFile(
      "job.yaml", absl::StrCat("nodes: server[0-1]\ndevices: 1\nrank_table: ",
                               table.substr(table.rfind('/') + 1), "\n"));
  const auto request = Asked({"--job", file}, WorldWith(JobReport("")));
  EXPECT_EQ(request.job().servers_size(), 2);
  EXPECT_EQ(request.job().rank_table(), "{}");
}

TEST(CheckJobTest, ReadsRequirementsAndScriptBesideTheJobFile) {
  ProgramWorld world = WorldWith(JobReport(""));
  world.environment["USER"] = "ann";
  const auto name_of = [](const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  };
  const std::string file = TestFile(
      "python.yaml",
      absl::StrCat(
          "nodes: server[0-1]\npython: /venv/bin/python\nrequirements: ",
          name_of(TestFile("requirements.txt", "torch==2.1.0\n")),
          "\nscript: ", name_of(TestFile("train.py", "")), "\n"));
  const JobSpec job = Asked({"--job", file}, world).job();
  EXPECT_EQ(job.requirements(), "torch==2.1.0\n");
  // An empty script is still a script.
  EXPECT_EQ(job.script(), "\n");
  EXPECT_THAT(job.script_file(), EndsWith("-train.py"));
  EXPECT_EQ(job.user(), "ann");
  // A shell of root may have no USER.
  world.environment.erase("USER");
  const passwd* const own = getpwuid(getuid());
  EXPECT_EQ(Asked({"--job", file}, world).job().user(),
            own == nullptr ? "" : own->pw_name);
  const std::string named =
      TestFile("user.yaml",
               "nodes: server0\nuser: eve\npython: /usr/bin/python3\n"
               "requirements: [six]\n");
  EXPECT_EQ(Asked({"--job", named}, world).job().user(), "eve");
  EXPECT_EQ(Asked({"--job", named}, world).job().requirements(), "six\n");
  EXPECT_THAT(RunProgram({"check", "--job",
                          TestFile("gone.yaml",
                                   "nodes: server0\nrequirements: gone.txt\n")},
                         world),
              Ends(3, Err(HasSubstr("gone.txt"))));
}

// No process writes to it, so that opening it would block forever.
TEST(CheckJobTest, WaitsForNoFifoThatAJobNames) {
  ProgramWorld world = WorldWith(JobReport(""));
  world.environment["USER"] = "ann";
  const std::string fifo = TestFile("named", "") + ".fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const char* key : {"requirements", "script", "rank_table"}) {
    const std::string file = TestFile(
        "fifo.yaml", absl::StrCat("nodes: server0\n", key, ": ", fifo, "\n"));
    EXPECT_THAT(RunProgram({"check", "--job", file}, world),
                Ends(3, Err(HasSubstr(fifo + ": not a regular file"))))
        << key;
  }
  EXPECT_EQ(RunProgram({"check", "--job", fifo}, world).status, 3);
}

TEST(CheckJobTest, ReadsTextsInUtf16AndWithEveryLineEnd) {
  ProgramWorld world = WorldWith(JobReport(""));
  const auto read = [&](const std::string& bytes) {
    const std::string file = TestFile(
        "ends.yaml",
        absl::StrCat("nodes: server0\nuser: ann\npython: /usr/bin/python3\n"
                     "requirements: ",
                     TestFile("ends.txt", bytes),
                     "\nscript: ", TestFile("ends.py", bytes), "\n"));
    return Asked({"--job", file}, world).job();
  };
  for (const char* text :
       {"a==1 # b\rc\r", "a==1 # b\r\nc\r\n", "a==1 # b\nc\n"}) {
    EXPECT_EQ(read(text).requirements(), "a==1 # b\nc\n");
    EXPECT_EQ(read(text).script(), "a==1 # b\nc\n");
  }
  // As PowerShell writes requirements.txt. U+4E0A has the byte of a line end.
  std::string little = "\xFF\xFE", big = "\xFE\xFF";
  for (const char* pair :
       {"\0s", "\0i", "\0x", "\0 ", "\0#", "\x4E\x0A", "\0\r", "\0\n"}) {
    big.append(pair, 2);
    little.append({pair[1], pair[0]});
  }
  for (const std::string& bytes : {little, big, little + "s"}) {
    EXPECT_EQ(read(bytes).requirements(), "six #\n");
    // Python would not read it.
    EXPECT_NE(read(bytes).script(), "six #\n");
  }
  EXPECT_EQ(read("\xFF\xFE").requirements(), "\n");
}

// As generate launch does, so that both give the same verdict.
TEST(CheckJobTest, HasTheLoginsOfHorovodrunTried) {
  ProgramWorld world = WorldWith(JobReport(""));
  world.environment["USER"] = "ann";
  const auto asked = [&](const Arguments& more) {
    return Asked(
               With({"--nodes", "server[0-1]", "--method", "horovodrun"}, more),
               world)
        .job();
  };
  EXPECT_EQ(asked({}).ssh().user(), "ann");
  const JobSpec named = asked({"--ssh-user", "bob", "--ssh-port", "12345"});
  EXPECT_EQ(named.ssh().user(), "bob");
  EXPECT_EQ(named.ssh().container_port(), 12345u);
  const std::string file = TestFile(
      "mpi.yaml", "nodes: server[0-1]\nmethod: horovodrun\nuser: eve\n");
  EXPECT_EQ(Asked({"--job", file}, world).job().ssh().user(), "eve");
  EXPECT_FALSE(Asked({"--nodes", "server[0-1]", "--method", "torchrun"}, world)
                   .job()
                   .has_ssh());
}

TEST(CheckJobTest, AnEmptyRankTableIsOne) {
  const std::string table = TestFile("empty.json", "");
  const auto request = Asked({"--nodes", "server[0-1]", "--rank-table", table},
                             WorldWith(JobReport("")));
  EXPECT_FALSE(request.job().rank_table().empty());
  EXPECT_EQ(request.job().rank_table_file(), table);
  const std::string job =
      TestFile("of_empty.yaml",
               absl::StrCat("nodes: server[0-1]\nrank_table: ", table, "\n"));
  const auto of_file = Asked({"--job", job}, WorldWith(JobReport("")));
  EXPECT_EQ(of_file.job().rank_table(), request.job().rank_table());
}

TEST(CheckJobTest, NamesTheByteOfARankTableThatIsNotUtf8) {
  const std::string table = TestFile("gbk.json", "{\n\"a\":\"\xb9\xfa\"}");
  const std::string job =
      TestFile("gbk.yaml",
               absl::StrCat("nodes: server[0-1]\nrank_table: ", table, "\n"));
  for (const Arguments& named :
       {Arguments{"check", "--job", job},
        Arguments{"check", "--nodes", "server0", "--rank-table", table},
        Arguments{"generate", "launch", "--nodes", "server0", "--rank-table",
                  table}}) {
    EXPECT_THAT(RunProgram(With(named, {"--method", "torchrum"}),
                           WorldWith(JobReport(""))),
                Ends(3, Err(HasSubstr("gbk.json: line 2: byte 6")),
                     Err(Tells("did-you-mean", "torchrun"))));
  }
}

TEST(CheckJobTest, IsTheSlurmJobThatItRunsInUnlessHostsAreNamed) {
  ProgramWorld world = WorldWith(JobReport("slurm:7.2"));
  world.environment["SLURM_JOB_ID"] = "7";
  world.environment["SLURM_JOB_NODELIST"] = "server[0-1]";
  world.environment["SLURM_RESTART_COUNT"] = "2";
  auto request = Asked({}, world);
  EXPECT_EQ(request.job().id(), "slurm:7.2");
  EXPECT_EQ(request.job().servers_size(), 2);
  for (const Arguments& hosts :
       {Arguments{"--all"}, Arguments{"server[0-1]"}}) {
    request = Asked(hosts, world);
    EXPECT_FALSE(request.has_job());
  }
}

constexpr char kTable[] = R"({"version": "1.0", "status": "completed",
  "server_count": "2", "server_list": [
    {"server_id": "10.0.0.2", "device": [
      {"device_id": "3", "device_ip": "192.168.1.2", "rank_id": "1"}]},
    {"server_id": "server0", "device": [
      {"device_id": "1", "device_ip": "192.168.1.1", "rank_id": "0"}]}]})";

TEST(CheckJobTest, TakesTheJobFromARankTableAloneInTheOrderOfItsRanks) {
  ProgramWorld world = WorldWith(JobReport(""));
  world.script.spec.mutable_spec()->mutable_servers(1)->set_address("10.0.0.2");
  const auto request =
      Asked({"--rank-table", TestFile("table.json", kTable)}, world);
  const JobSpec& job = request.job();
  ASSERT_EQ(job.servers_size(), 2);
  EXPECT_EQ(job.servers(0).host(), "server0");
  EXPECT_EQ(job.servers(0).devices(0), 1u);
  EXPECT_EQ(job.servers(1).host(), "server1");
  EXPECT_EQ(job.rank_table(), kTable);
}

TEST(CheckJobTest, RefusesATableWhoseServersTheSpecDoesNotKnow) {
  EXPECT_THAT(
      RunProgram({"check", "--rank-table", TestFile("table.json", kTable)},
                 WorldWith(JobReport(""))),
      Ends(3, Err(HasSubstr("server_id \"10.0.0.2\", expected a host"))));
}

TEST(CheckJobTest, NamesEveryMistakeAtOnce) {
  const ProgramOutput output = RunProgram(
      {"check", "server0", "--nodes", "server9", "--devices", "x", "--dtype",
       "fp15", "--method", "torchrum", "--netns", "pid:1"},
      WorldWith(JobReport("")));
  EXPECT_EQ(output.status, 3);
  for (const char* const text :
       {"--nodes: HOSTS, --exclude", "--nodes: --netns is given too",
        "--devices: ", "--dtype: \"fp15\"", "did you mean \"torchrun\"",
        "host \"server9\" is not in the spec"}) {
    EXPECT_THAT(output.err, HasSubstr(text));
  }
}

TEST(CheckJobTest, NamesOptionsThatDoNotGoTogether) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--job", "x", "--nodes", "a"}, "--job: --nodes is given too"},
      {{"--devices", "8"}, "--devices: no job is named"},
      {{"--max-age", "1m"}, "--max-age: is for a job"},
      {{"--local", "--nodes", "a"}, "--local: knows no job, expected no --nod"},
      {{"--rank-table", "x", "--devices", "8"},
       "--rank-table: --devices is given too"},
  };
  for (const auto& [options, text] : cases) {
    EXPECT_THAT(RunProgram(With({"check"}, options),
                           WorldWith(PassingReport({"server0", "server1"}))),
                Ends(3, Err(HasSubstr(text))));
  }
}

TEST(CheckJobTest, DoubtsAControllerThatKnowsNoJobs) {
  Asked({"--nodes", "server[0-1]"},
        WorldWith(PassingReport({"server0", "server1"})), 2);
}

}  // namespace
}  // namespace clusterd
