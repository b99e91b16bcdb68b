// NewsSender with real programs, and the notifiers of deploy/notify with a real
// web server on loopback.
#include "daemon/controller/notify/news_sender.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not, ::testing::SizeIs;

// A notifier's deadline that never expires in a test.
constexpr uint32_t kLongMs = 3'600'000;

// A program that keeps its input and exits with each status in turn, then
// always with the last one. "wait": it hangs until Release.
class Program {
 public:
  explicit Program(const std::string& statuses) {
    static int count = 0;
    folder_ = absl::StrCat(testing::TempDir(), "/program.", getpid(), ".",
                           ++count, "/");
    std::filesystem::create_directory(folder_);
    EXPECT_EQ(mkfifo((folder_ + "wait").c_str(), 0600), 0);
    to_.add_command("/bin/sh");
    to_.add_command("-c");
    to_.add_command(absl::StrCat(
        "folder=$0; set -- ", statuses,
        "; n=0; while [ -e $folder$n ]; do n=$((n + 1)); done; "
        "cat > ${folder}next; mv ${folder}next $folder$n; "
        "while [ $n -gt 0 ] && [ $# -gt 1 ]; do shift; n=$((n - 1)); done; "
        "[ $1 != wait ] || { read line < ${folder}wait; exit 75; }; exit $1"));
    to_.add_command(folder_);
    to_.set_deadline_ms(kLongMs);
  }

  const Notifier& to() const { return to_; }
  ClusterSpec spec() const {
    ClusterSpec spec;
    *spec.add_notify() = to_;
    return spec;
  }
  // Its input of every run.
  std::vector<std::string> runs() const {
    std::vector<std::string> runs;
    while (std::filesystem::exists(absl::StrCat(folder_, runs.size()))) {
      runs.push_back(TextOfFile(absl::StrCat(folder_, runs.size())));
    }
    return runs;
  }
  void WaitForRuns(size_t count) const {
    EXPECT_TRUE(WaitUntil([&] { return runs().size() >= count; }));
  }
  void Release() const { std::ofstream(folder_ + "wait") << "\n"; }

 private:
  std::string folder_;
  Notifier to_;
};

VerdictNews FailNews(const std::string& run_id = "0123456789abcdef") {
  VerdictNews news;
  MergeText(R"(cluster: 'demo' schedule: 'links' verdict: FAIL
               hosts {host: 'good' state: PASS}
               hosts {host: 'bad' state: FAIL})",
            &news.report);
  news.report.set_run_id(run_id);
  return news;
}

class NewsSenderTest : public testing::Test {
 protected:
  void Send(const ClusterSpec& spec, VerdictNews news) {
    sender_.ReadSpec(spec);
    sender_.Send(std::move(news));
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  NewsSender sender_{&scheduler_, &log_};
};

TEST_F(NewsSenderTest, AProgramReadsTheNews) {
  const std::string file = absl::StrCat(testing::TempDir(), "/news.", getpid());
  ClusterSpec spec;
  Notifier* const to = spec.add_notify();
  for (const std::string& word :
       {std::string("/bin/sh"), std::string("-c"),
        absl::StrCat("cat > ", file, "; echo paged")}) {
    to->add_command(word);
  }
  to->set_deadline_ms(kLongMs);
  Send(spec, FailNews());
  ASSERT_TRUE(
      log_.WaitFor("schedule links: fail, was pass (check 0123456789abcdef): "
                   "notified /bin/sh: paged"));
  const std::string text = TextOfFile(file);
  google::protobuf::Struct json;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &json).ok())
      << text;
  const auto& fields = json.fields();
  EXPECT_EQ(fields.at("cluster").string_value(), "demo");
  EXPECT_EQ(fields.at("schedule").string_value(), "links");
  EXPECT_EQ(fields.at("verdict_before").string_value(), "pass");
  EXPECT_EQ(fields.at("verdict").string_value(), "fail");
  const auto& report = fields.at("report").struct_value().fields();
  ASSERT_EQ(report.at("hosts").list_value().values_size(), 1);
  EXPECT_EQ(report.at("hosts")
                .list_value()
                .values(0)
                .struct_value()
                .fields()
                .at("host")
                .string_value(),
            "bad");
}

TEST(NewsTextTest, FoldsTheFailuresThatStartedUnderTheSameVerdict) {
  VerdictNews news = FailNews();
  news.before = FAIL;
  news.started = {{"link", {"node01", "node02"}}, {"topology", {}}};
  EXPECT_EQ(NewsText(news),
            "schedule links: fail, new: link on node[01-02], topology (check "
            "0123456789abcdef)");
  google::protobuf::Struct json;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(NewsJson(news), &json).ok());
  const auto& fields = json.fields();
  EXPECT_THAT(fields.at("summary").string_value(),
              HasSubstr("new: link on node[01-02], topology"));
  const auto& started = fields.at("new_failures").struct_value().fields();
  EXPECT_EQ(started.at("link").string_value(), "node[01-02]");
  EXPECT_EQ(started.at("topology").string_value(), "");
}

TEST_F(NewsSenderTest, AProgramThatAsksForItIsRunAgain) {
  const Program program("75 75 0");
  Send(program.spec(), FailNews());
  for (const int seconds : {5, 30}) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    EXPECT_EQ(scheduler_.UntilNext(), absl::Seconds(seconds));
    scheduler_.Advance(absl::Seconds(seconds));
  }
  ASSERT_TRUE(log_.WaitFor(": notified /bin/sh"));
  EXPECT_THAT(program.runs(), SizeIs(3));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("could not")));
}

TEST_F(NewsSenderTest, AnotherStatusIsLoggedAndNotTriedAgain) {
  const Program program("3");
  Send(program.spec(), FailNews());
  ASSERT_TRUE(log_.WaitFor("could not notify /bin/sh: exit status 3"));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(NewsSenderTest, NotifierAwayForLongGetsTheNewsOnItsReturn) {
  const Program program("75 75 75 75 75 0");
  Send(program.spec(), FailNews());
  for (const int seconds : {5, 30, 120, 120, 120}) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    EXPECT_EQ(scheduler_.UntilNext(), absl::Seconds(seconds));
    scheduler_.Advance(absl::Seconds(seconds));
  }
  ASSERT_TRUE(log_.WaitFor(": notified /bin/sh"));
  EXPECT_THAT(program.runs(), SizeIs(6));
  const std::string lines = log_.Lines();
  EXPECT_THAT(lines,
              HasSubstr("yet, trying again every 2 minutes for a day: "));
  EXPECT_EQ(lines.find("yet"), lines.rfind("yet")) << lines;
}

TEST_F(NewsSenderTest, ATryWithoutEndIsGivenUpAfterADayAndLoggedOnce) {
  const Program program("75");
  Send(program.spec(), FailNews());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(scheduler_.WaitForPending(1));
    scheduler_.Advance(absl::Minutes(2));
  }
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr("could not")));
  scheduler_.Advance(absl::Hours(24));
  ASSERT_TRUE(log_.WaitFor("could not notify /bin/sh: exit status 75"));
  EXPECT_THAT(program.runs(), SizeIs(6));
  EXPECT_EQ(scheduler_.pending(), 0);
  const std::string lines = log_.Lines();
  EXPECT_EQ(lines.find("could not"), lines.rfind("could not")) << lines;
}

TEST_F(NewsSenderTest, ANotifierThatHangsInManySchedulesHoldsUpNoOther) {
  const Program silent("wait");
  const Program program("0");
  ClusterSpec spec = silent.spec();
  *spec.add_notify() = program.to();
  for (const char* schedule : {"a", "b", "c"}) {
    VerdictNews news = FailNews();
    news.report.set_schedule(schedule);
    Send(spec, std::move(news));
  }
  program.WaitForRuns(3);
  silent.WaitForRuns(1);
  EXPECT_THAT(silent.runs(), SizeIs(1)) << "one after the other";
  sender_.Stop();
}

TEST_F(NewsSenderTest, SchedulesOfOneNotifierTakeTurns) {
  const Program program("75 0");
  for (const char* schedule : {"a", "b", "c"}) {
    VerdictNews news = FailNews();
    news.report.set_schedule(schedule);
    Send(program.spec(), std::move(news));
  }
  ASSERT_TRUE(
      log_.WaitFor("schedule c: fail, was pass (check "
                   "0123456789abcdef): notified /bin/sh"));
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(
      log_.WaitFor("schedule a: fail, was pass (check "
                   "0123456789abcdef): notified /bin/sh"));
}

TEST_F(NewsSenderTest, SendsTheNewestOfWaitingNews) {
  const Program program("75 0");
  Send(program.spec(), FailNews("0000000000000001"));
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  Send(program.spec(), FailNews("0000000000000002"));
  Send(program.spec(), FailNews("0000000000000003"));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor("(check 0000000000000003): notified"));
  const auto runs = program.runs();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_THAT(runs[1], HasSubstr("0000000000000003"));
  EXPECT_THAT(log_.Lines(), HasSubstr("(check 0000000000000001): could not "
                                      "notify"));
}

TEST_F(NewsSenderTest, CorrectedNotifierAloneGetsTheUnsentNews) {
  const Program wrong("75");
  const Program right("0");
  const Program other("0");
  ClusterSpec spec = wrong.spec();
  *spec.add_notify() = other.to();
  Send(spec, FailNews());
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  sender_.ReadSpec(spec);
  *spec.mutable_notify(0) = right.to();
  sender_.ReadSpec(spec);
  right.WaitForRuns(1);
  EXPECT_THAT(right.runs()[0], HasSubstr("0123456789abcdef"));
  scheduler_.Advance(absl::Seconds(5));
  ASSERT_TRUE(log_.WaitFor(": cluster.yaml no longer has it"));
  EXPECT_THAT(wrong.runs(), SizeIs(1));
  EXPECT_EQ(scheduler_.pending(), 0);
  // Newer news would replace those still queued.
  other.WaitForRuns(1);
  sender_.Send(FailNews("0000000000000002"));
  right.WaitForRuns(2);
  other.WaitForRuns(2);
  EXPECT_THAT(right.runs(), SizeIs(2));
  EXPECT_THAT(other.runs()[1], HasSubstr("0000000000000002"));
  EXPECT_THAT(wrong.runs(), SizeIs(1));
}

TEST_F(NewsSenderTest, NotifierRemovedWhileItRunsIsNotRunAgain) {
  const Program silent("wait");
  const Program right("0");
  Send(silent.spec(), FailNews());
  silent.WaitForRuns(1);
  sender_.ReadSpec(right.spec());
  right.WaitForRuns(1);
  silent.Release();
  ASSERT_TRUE(log_.WaitFor(": could not notify /bin/sh: exit status 75"));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(NewsSenderTest, StopsWhileANotifierHangs) {
  const Program program("wait");
  Send(program.spec(), FailNews());
  program.WaitForRuns(1);
  sender_.Stop();
  EXPECT_THAT(log_.Lines(), Tells("msg-hub-stopping"));
}

// The command lines of all processes on this machine.
std::string AllCommandLines() {
  std::string all;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", error)) {
    int pid;
    if (absl::SimpleAtoi(entry.path().filename().string(), &pid)) {
      all += TextOfFile(entry.path() / "cmdline");
    }
  }
  return all;
}

// A web server on loopback that answers single requests with status and body.
class WebServer {
 public:
  WebServer(const std::string& status, const std::string& body)
      : answer_(absl::StrCat("HTTP/1.1 ", status,
                             "\r\nContent-Length: ", body.size(),
                             "\r\nConnection: close\r\n\r\n", body)),
        listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    getsockname(listener_, any, &size);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port),
                        "/hook?key=", kKey);
    thread_ = std::thread([this] { Serve(); });
  }
  ~WebServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  // One word that other processes do not have.
  static constexpr char kKey[] = "f8e1-never-in-a-list-of-processes";

  const std::string& url() const { return url_; }
  // The last request.
  std::string request() const {
    absl::MutexLock lock(&mutex_);
    return request_;
  }
  // The command lines of all processes before it was answered.
  std::string command_lines() const {
    absl::MutexLock lock(&mutex_);
    return command_lines_;
  }

 private:
  void Serve() {
    int fd;
    while ((fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
      std::string text;
      char buffer[4096];
      ssize_t got;
      while (!IsWhole(text) && (got = read(fd, buffer, sizeof(buffer))) > 0) {
        text.append(buffer, static_cast<size_t>(got));
      }
      {
        absl::MutexLock lock(&mutex_);
        request_ = text;
        command_lines_ = AllCommandLines();
      }
      send(fd, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      close(fd);
    }
  }
  static bool IsWhole(const std::string& text) {
    const size_t head = text.find("\r\n\r\n");
    const size_t length = text.find("Content-Length: ");
    return head != std::string::npos && length != std::string::npos &&
           text.size() >= head + 4 + std::stoul(text.substr(length + 16));
  }

  const std::string answer_;
  const int listener_;
  std::string url_;
  mutable absl::Mutex mutex_;
  std::string request_ ABSL_GUARDED_BY(mutex_);
  std::string command_lines_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

absl::StatusOr<std::string> RunExample(const std::string& name,
                                       const std::string& url,
                                       const std::string& token = "") {
  const std::string folder =
      absl::StrCat(testing::TempDir(), "/notify.", getpid());
  std::filesystem::create_directory(folder);
  std::vector<std::string> argv = {
      "/usr/bin/env", "NOTIFY_SECONDS=100",
      std::filesystem::absolute("deploy/notify/" + name), folder + "/url"};
  std::ofstream(argv.back()) << url << "\r\n";
  if (!token.empty()) {
    argv.push_back(folder + "/token");
    std::ofstream(argv.back()) << token << "\n";
  }
  return RunNotifierCommand(argv, NewsJson(FailNews()), kPatience, -1);
}

constexpr char kSentence[] = "clusterd demo: schedule links: fail, was pass; ";

struct Robot {
  const char* name;
  const char* message;
  const char* taken;
  const char* busy;
  const char* refused;
};
constexpr Robot kRobots[] = {
    {"wecom", R"({"msgtype":"text","text":{"content":")",
     R"({"errcode":0,"errmsg":"ok"})",
     R"({"errcode":45009,"errmsg":"api freq out of limit"})",
     R"({"errcode":93000,"errmsg":"invalid webhook url"})"},
    {"dingtalk", R"({"msgtype":"text","text":{"content":")",
     R"({"errcode":0,"errmsg":"ok"})",
     R"({"errcode":130101,"errmsg":"send too fast"})",
     R"({"errcode":310000,"errmsg":"keywords not in content"})"},
    {"feishu", R"({"msg_type":"text","content":{"text":")",
     R"({"StatusCode":0,"StatusMessage":"success","code":0,"msg":"success"})",
     R"({"code":11232,"data":{},"msg":"frequency limited"})",
     R"({"code":19024,"data":{},"msg":"Key Words Not Found"})"},
};

TEST(NotifyExamplesTest, RobotsTakeASentenceAndSayWhetherTheyDid) {
  for (const Robot& robot : kRobots) {
    {
      const WebServer server("200 OK", robot.taken);
      const auto line = RunExample(robot.name, server.url());
      EXPECT_TRUE(line.ok()) << robot.name << ": " << line.status();
      EXPECT_THAT(server.request(), HasSubstr(absl::StrCat(
                                        "\r\n\r\n", robot.message, kSentence)));
      EXPECT_THAT(server.request(),
                  HasSubstr("clusterctl show 0123456789abcdef\"}}"));
      EXPECT_THAT(server.request(),
                  HasSubstr("Content-Type: application/json\r\n"));
    }
    const WebServer busy("200 OK", robot.busy);
    const absl::Status later = RunExample(robot.name, busy.url()).status();
    EXPECT_TRUE(absl::IsUnavailable(later)) << robot.name << ": " << later;
    const WebServer refusing("200 OK", robot.refused);
    const absl::Status never = RunExample(robot.name, refusing.url()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(never)) << robot.name << never;
    EXPECT_THAT(std::string(never.message()), HasSubstr(robot.refused));
  }
}

TEST(NotifyExamplesTest, PostsTheNewsWithTheTokenOfAFile) {
  const WebServer server("204 No Content", "");
  const auto line = RunExample("post", server.url(), "s3\"cr\\et");
  EXPECT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(server.request(), HasSubstr("\r\n\r\n" + NewsJson(FailNews())));
  EXPECT_THAT(server.request(),
              HasSubstr("Authorization: Bearer s3\"cr\\et\r\n"));
}

TEST(NotifyExamplesTest, AnAddressIsInNoListOfProcessesAndNoMessage) {
  for (const char* name : {"post", "wecom", "dingtalk", "feishu"}) {
    const WebServer server("404 Not Found", "");
    const absl::Status status = RunExample(name, server.url()).status();
    EXPECT_EQ(status.message(), "exit status 1: the server answered 404");
    EXPECT_THAT(server.request(), HasSubstr(WebServer::kKey));
    EXPECT_THAT(server.command_lines(), HasSubstr("--max-filesize"));
    EXPECT_THAT(server.command_lines(), Not(HasSubstr(WebServer::kKey)));
  }
}

TEST(NotifyExamplesTest, ServersInTroubleAreAskedAgainAndNoneIsFollowed) {
  for (const char* trouble : {"500 Oops", "503 Busy", "429 Too Many"}) {
    const WebServer server(trouble, "");
    const absl::Status status = RunExample("post", server.url()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  const WebServer moved("301 Moved\r\nLocation: /other", "");
  const absl::Status status = RunExample("post", moved.url()).status();
  EXPECT_EQ(status.message(), "exit status 1: the server answered 301");
  EXPECT_THAT(moved.request(), HasSubstr("POST /hook"));
}

TEST(NotifyExamplesTest, NobodyThereIsWorthAnotherTryAndABadAddressIsNot) {
  // A port that is taken, but does not listen.
  const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const absl::Status nobody =
      RunExample(
          "post",
          absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/hook"))
          .status();
  close(taken);
  EXPECT_TRUE(absl::IsUnavailable(nobody)) << nobody;
  for (const char* bad : {"http://hooks.example.com/", "ftp://a/", "", "a b"}) {
    const absl::Status status = RunExample("post", bad).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << bad << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(": expected "));
  }
}

}  // namespace
}  // namespace clusterd
