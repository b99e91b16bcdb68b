// Measures a herd: every server of a cluster runs its prolog for the same job
// at once. Each hook asks its own host's daemon over a unix socket of its own,
// as clusterctl does; each daemon asks over its stream; a real
// controller checks the job. Then herds of many jobs: 64 prologs on one server
// at once, and an array of 200 jobs on four. Each herd is compared with one
// prolog that runs alone. Simulated facts, all ends on this machine.
//   herd_bench CONTROLLER [--servers N] [--jobs N] [--product P]
// Each figure is printed with its ratio to its budget; the exit status is 1 if
// one is over, if a hook did not let the job start on the controller's word, if
// there was more than one check for a job, or any connection elsewhere.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "daemon/agent/hooks/hook_service.h"
#include "daemon/agent/local/local_server.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/agent/self_check.h"
#include "daemon/host/command/clock.h"
#include "daemon/process/log.h"
#include "grpcpp/create_channel.h"
#include "proto/controller.grpc.pb.h"
#include "tests/bench/fleet/cluster.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fleet/fleet.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

constexpr absl::Duration kBudget = absl::Seconds(2);
constexpr double kMostOfOneByOne = 0.5;
constexpr uint32_t kHookWaitMs = 60000;  // To see how late an answer is.
constexpr int kPrologs = 64;             // On one server.
constexpr int kArray = 200;              // Jobs.
constexpr int kArrayServers = 4;

struct Flags {
  std::string controller;
  std::string product = "atlas-a2";
  int servers = 1152;
  int jobs = 5;
};

// The part of clusterd that answers hooks on one host. Kept verdicts are in
// memory: on 1,152 hosts each has a disk of its own.
class Host {
 public:
  Host(const std::string& name, const std::string& ca, std::string socket,
       const std::shared_ptr<AgentStream>& stream, FleetObserver* observer,
       Log* log)
      : name_(name),
        socket_(std::move(socket)),
        line_(stream),
        verdicts_({"/state/verdicts", "test", [ca] { return ca; }}, &files_,
                  &clock_),
        drainer_(&runner_, log),
        service_({name,
                  [observer, name](absl::Duration deadline) {
                    return ObserveSelf(observer, name, deadline);
                  },
                  [](const HostFacts& facts, const JobSpec* job) {
                    return JudgeSelf(facts, job);
                  },
                  [] { return HookSettings(); }, &line_, &verdicts_, &drainer_,
                  &clock_, log}) {
    files_.PutFolder("/state");
  }

  absl::Status Listen() {
    auto server = LocalServer::Start(
        socket_,
        {[] { return AgentStatus(); }, [] { return CheckSelfResponse(); },
         [this](const HookRequest& request, const std::function<bool()>& gone) {
           return service_.Answer(request, gone);
         }});
    if (server.ok()) server_ = *std::move(server);
    return server.status();
  }
  const std::string& name() const { return name_; }
  const std::string& socket() const { return socket_; }

 private:
  const std::string name_;
  const std::string socket_;
  SystemClock clock_;
  FakeClock stopped_;
  FakeCommandRunner runner_{&stopped_};  // Without Slurm.
  FakeFileSystem files_;
  StreamLine line_;
  VerdictStore verdicts_;
  Drainer drainer_;
  HookService service_;
  std::unique_ptr<LocalServer> server_;
};

// One prolog's call.
struct Hook {
  const Host* host;
  HookRequest request;
  grpc::ClientContext context;
  HookAnswer answer;
  grpc::Status status;
  absl::Time answered;
};

struct Herd {
  absl::Duration from_first_fact;
  absl::Duration from_first_call;
  int refused = 0;
  std::string why;
};

// The rows of this machine's TCP sockets, in any state, with an end at the port
// of `address`.
int ConnectionsTo(const std::string& address) {
  int port = 0;
  if (!absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) {
    return -1;
  }
  const std::string end = absl::StrFormat(":%04X", port);
  int rows = 0;
  for (const char* file : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    for (const absl::string_view line : absl::StrSplit(ReadFile(file), '\n')) {
      const std::vector<absl::string_view> words =
          absl::StrSplit(line, ' ', absl::SkipEmpty());
      // "sl local_address rem_address ..."; the controller's own ends.
      if (words.size() > 2 && absl::EndsWith(words[1], end)) ++rows;
    }
  }
  return rows;
}

// The prologs of one job on servers `first` to `last`, as they would be called
// there; they are added to `hooks`.
void AddHooks(const std::vector<std::unique_ptr<Host>>& hosts, int first,
              int last, std::deque<Hook>* hooks) {
  static int jobs = 0;
  JobSpec job;
  job.set_id(absl::StrCat("slurm:", ++jobs, ".0"));
  for (int i = first; i <= last; ++i) {
    job.add_servers()->set_host(hosts[i]->name());
  }
  for (int i = first; i <= last; ++i) {
    Hook& hook = hooks->emplace_back();
    hook.host = hosts[i].get();
    hook.request.set_kind(HOOK_SLURM_PROLOG);
    *hook.request.mutable_job() = job.SerializeAsString();
    hook.request.set_wait_ms(kHookWaitMs);
  }
}

Herd Run(std::deque<Hook> hooks, Fleet* fleet) {
  std::vector<std::unique_ptr<LocalAgent::Stub>> stubs;
  absl::BlockingCounter missing(static_cast<int>(hooks.size()));
  const absl::Time first_call = absl::Now();
  fleet->observer().Forget();
  for (Hook& hook : hooks) {
    // A hook is a process of its own: so is its connection.
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stubs.push_back(LocalAgent::NewStub(grpc::CreateCustomChannel(
        absl::StrCat("unix:", hook.host->socket()),
        grpc::experimental::LocalCredentials(UDS), arguments)));
    hook.context.set_deadline(absl::ToChronoTime(
        first_call + absl::Milliseconds(kHookWaitMs) + absl::Seconds(5)));
    stubs.back()->async()->RunHook(&hook.context, &hook.request, &hook.answer,
                                   [&hook, &missing](grpc::Status status) {
                                     hook.status = std::move(status);
                                     hook.answered = absl::Now();
                                     missing.DecrementCount();
                                   });
  }
  missing.Wait();
  Herd herd;
  absl::Time last = first_call;
  for (const Hook& hook : hooks) {
    last = std::max(last, hook.answered);
    // An answer with `let_through` is not the controller's.
    if (hook.status.ok() && hook.answer.decision() == HookAnswer::ALLOW &&
        hook.answer.let_through().empty()) {
      continue;
    }
    ++herd.refused;
    herd.why = absl::StrCat(hook.status.error_message(), hook.answer.reason(),
                            " ", hook.answer.ShortDebugString());
  }
  herd.from_first_call = last - first_call;
  herd.from_first_fact = last - fleet->observer().first_asked();
  return herd;
}

int CountHistory(Controller::Stub* client) {
  grpc::ClientContext context;
  ListHistoryRequest request;
  request.set_limit(1000);
  ListHistoryResponse response;
  const grpc::Status status = client->ListHistory(&context, request, &response);
  return status.ok() ? response.entries_size() : -1;
}

bool PrintCount(const char* what, int value, int expected) {
  std::printf("%-42s %10d      expected %d\n", what, value, expected);
  return value == expected;
}

struct Bench {
  explicit Bench(const Flags& flags)
      : cluster({flags.controller, ""},
                MakeSpec(flags.product, "", flags.servers)) {}

  BenchCluster cluster;
  WarningLog log;
  std::unique_ptr<Fleet> fleet;
  std::vector<std::unique_ptr<Host>> hosts;  // Before the fleet's end.
};

// Empty, or the part that could not be started.
std::string Start(Bench* bench) {
  const BenchCluster& cluster = bench->cluster;
  absl::Status status = bench->cluster.Start();
  if (!status.ok()) return status.ToString();
  bench->fleet = std::make_unique<Fleet>(cluster.address(), "test",
                                         MakeHealthyFacts(cluster.spec()),
                                         cluster.authority(), &bench->log);
  if (!bench->fleet->WaitAllAttached(absl::Minutes(5))) {
    return absl::StrCat("only ", bench->fleet->attached(), " hosts attached");
  }
  for (int i = 0; i < bench->fleet->size(); ++i) {
    bench->hosts.push_back(std::make_unique<Host>(
        cluster.spec().servers(i).host(), cluster.authority().certificate_pem(),
        absl::StrCat(cluster.folder().path(), "/", i),
        bench->fleet->streams()[i], &bench->fleet->observer(), &bench->log));
    status = bench->hosts.back()->Listen();
    if (!status.ok()) return status.ToString();
  }
  return "";
}

// Times of the herds of one kind, and their number of refused hooks.
struct Herds {
  std::vector<double> fact_ms;
  std::vector<double> call_ms;
  int refused = 0;
  int facts = 0;
};

void Add(std::deque<Hook> hooks, Bench* bench, Herds* herds) {
  const Herd herd = Run(std::move(hooks), bench->fleet.get());
  herds->fact_ms.push_back(absl::ToDoubleMilliseconds(herd.from_first_fact));
  herds->call_ms.push_back(absl::ToDoubleMilliseconds(herd.from_first_call));
  herds->refused += herd.refused;
  herds->facts += bench->fleet->observer().asked();
  if (herd.refused > 0) {
    std::fprintf(stderr, "%d hooks did not let their job start: %.300s\n",
                 herd.refused, herd.why.c_str());
  }
}

// One job of all servers.
bool MeasureJob(const Flags& flags, Bench* bench, Herds* all) {
  const auto client = bench->cluster.Client("spiffe://test/user/bench");
  const int checks_before = CountHistory(client.get());
  const int connections_before = ConnectionsTo(bench->cluster.address());
  for (int i = 0; i < flags.jobs; ++i) {
    std::deque<Hook> hooks;
    AddHooks(bench->hosts, 0, flags.servers - 1, &hooks);
    Add(std::move(hooks), bench, all);
  }
  const int connections =
      ConnectionsTo(bench->cluster.address()) - connections_before;
  const int checks = CountHistory(client.get()) - checks_before;
  std::sort(all->fact_ms.begin(), all->fact_ms.end());

  const double budget_ms =
      absl::ToDoubleMilliseconds(kBudget) * flags.servers / 1152;
  std::printf("%d hooks of a job at once, %d jobs, %s, all on this machine\n",
              flags.servers, flags.jobs, flags.product.c_str());
  bool good = Print("first fact to last answer, fastest", all->fact_ms.front(),
                    "ms", budget_ms);
  good &= Print("first fact to last answer, median", Median(all->fact_ms), "ms",
                budget_ms);
  good &= Print("first fact to last answer, slowest", all->fact_ms.back(), "ms",
                budget_ms);
  Print("first call to last answer, median", Median(all->call_ms), "ms", 0);
  good &= PrintCount("checks", checks, flags.jobs);
  good &= PrintCount("facts asked for", all->facts, flags.jobs * flags.servers);
  good &= PrintCount("connections to the controller", connections, 0);
  return good & PrintCount("hooks that were refused", all->refused, 0);
}

// Prints the time of `count` answers, median of herds, and their ratio to as
// many prologs one after the other.
bool PrintAnswers(const char* what, const Herds& herds, int count,
                  double one_ms) {
  const double ms = Median(herds.call_ms);
  const double ratio = ms / (count * one_ms);
  std::printf("%-42s %10.1f ms   %.2f of one after the other, limit %.2f\n",
              what, ms, ratio, kMostOfOneByOne);
  return ratio <= kMostOfOneByOne && herds.refused == 0;
}

int Measure(const Flags& flags, Bench* bench) {
  Herds all;
  bool good = MeasureJob(flags, bench, &all);
  Herds one;
  Herds prologs;
  Herds array;
  for (int i = 0; i < flags.jobs; ++i) {
    std::deque<Hook> hooks;
    AddHooks(bench->hosts, 0, 0, &hooks);
    Add(std::move(hooks), bench, &one);
    hooks.clear();
    for (int at = 0; at < kPrologs; ++at) AddHooks(bench->hosts, 0, 0, &hooks);
    Add(std::move(hooks), bench, &prologs);
    hooks.clear();
    for (int at = 0; at < kArray; ++at) {
      AddHooks(bench->hosts, at % kArrayServers, at % kArrayServers, &hooks);
    }
    Add(std::move(hooks), bench, &array);
  }
  const double one_ms = Median(one.call_ms);
  Print("one prolog alone, median", one_ms, "ms", 0);
  good &= PrintAnswers("one job of all servers", all, flags.servers, one_ms);
  good &= PrintAnswers("64 prologs on one server", prologs, kPrologs, one_ms);
  good &= PrintAnswers("array of 200 jobs on 4 servers", array, kArray, one_ms);
  return good ? 0 : 1;
}

int Main(const Flags& flags) {
  RaiseDescriptorLimit();
  Bench bench(flags);
  const std::string trouble = Start(&bench);
  if (!trouble.empty()) {
    std::fprintf(stderr, "%s\n", trouble.c_str());
    return 2;
  }
  return Measure(flags, &bench);
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  // Like clusterd.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  clusterd::Flags flags;
  CLI::App app("Measures the hooks of a whole cluster at once.", "herd_bench");
  app.add_option("controller", flags.controller, "Path of clusterd-controller")
      ->required();
  app.add_option("--servers", flags.servers)
      ->check(CLI::Range(4, 1152))
      ->capture_default_str();
  app.add_option("--jobs", flags.jobs, "One after the other")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--product", flags.product)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return clusterd::Main(flags);
}
