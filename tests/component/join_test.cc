// Hosts join, attach and renew over real connections; others are refused.
#include <stdlib.h>

#include <atomic>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "config/identity/root_bundle.h"
#include "config/words/message.h"
#include "daemon/agent/drift_watch.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/agent/identity/leaf_renewal.h"
#include "daemon/controller/hosts/agent_hub_service.h"
#include "daemon/controller/trust/certificate_authority.h"
#include "daemon/host/identity/identity_folder.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/process/held_port.h"
#include "tests/support/process/moved_clock.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

ControllerServerOptions JoinOptions(const TestCertificates& certificates,
                                    const HeldPort& enrol_port) {
  IssueOptions long_life;
  long_life.valid_until = absl::Hours(24 * 300);
  ControllerServerOptions options = TrustedOptions(certificates, long_life);
  options.trust.enrol_listen = enrol_port.address();
  return options;
}

std::string NewRoot() {
  std::string root = testing::TempDir() + "/root.XXXXXX";
  EXPECT_NE(mkdtemp(root.data()), nullptr);
  return root;
}

// A controller with a CA, and an admin of it.
struct JoinWorld {
  explicit JoinWorld(bool trusted = true, int servers = 2)
      : options(trusted ? JoinOptions(certificates, enrol_port)
                        : ControllerServerOptions()),
        controller(&certificates, servers, &clock, options) {
    controller.Start();
  }

  std::unique_ptr<Trust::Stub> TrustAs(const std::string& uri) {
    TlsFiles files = certificates.Issue("trust", {uri});
    if (!changed_ca.empty()) files.ca = changed_ca;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // Windows stay as they are.
    return Trust::NewStub(controller.ChannelAs(files, arguments));
  }
  std::unique_ptr<Trust::Stub> Admin() {
    return TrustAs("spiffe://test/user/ann/role/admin");
  }
  CreateTokenResponse Token(const std::string& hosts = "") {
    CreateTokenRequest request;
    request.set_hosts(hosts);
    request.set_ttl_ms(3600'000);
    CreateTokenResponse made;
    const grpc::Status status =
        Admin()->CreateToken(NewContext().get(), request, &made);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return made;
  }
  JoinFlags FlagsFor(const CreateTokenResponse& made, const std::string& name) {
    JoinFlags flags;
    flags.controller = controller.address();
    flags.enrol_port = static_cast<int>(made.enrol_port());
    flags.ca_hashes = {made.ca_hash()};
    flags.token = made.token();
    flags.name = name;
    flags.root = NewRoot();
    return flags;
  }
  absl::Status Join(const JoinFlags& flags) {
    JoinTools parts;
    parts.host_name = "unnamed";
    parts.machine_id = "machine";
    parts.now = [] { return absl::Now(); };
    parts.patience = {1, [](absl::Duration) {}, [] { return 0.5; }};
    parts.out = &out;
    return JoinCluster(flags, parts);
  }
  // Joins that host; returns its flags.
  JoinFlags Joined(const std::string& name = "server0") {
    const JoinFlags flags = FlagsFor(Token(), name);
    EXPECT_EQ(Join(flags), absl::OkStatus());
    return flags;
  }
  CertificateEntry EntryOf(const std::string& host) {
    ListCertificatesResponse list;
    const grpc::Status status =
        Admin()->ListCertificates(NewContext().get(), {}, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    for (const CertificateEntry& entry : list.certificates()) {
      if (entry.host() == host) return entry;
    }
    ADD_FAILURE() << "no entry of " << host;
    return {};
  }

  // Acts as an attacker who writes to the controller's folder and restarts it.
  void ChangeCaDir(const std::map<std::string, std::string>& files,
                   const TlsFiles& shown) {
    controller.Stop();
    for (const auto& [name, text] : files) {
      WriteTestFile(options.trust.ca_dir + "/" + name, text, 0600);
    }
    changed_ca = shown.ca;
    controller.StartAs(shown);
  }
  void ChangeCaDir(const std::map<std::string, std::string>& files) {
    ChangeCaDir(files, certificates.Controller());
  }

  TestCertificates certificates;
  MovedClock clock;
  const HeldPort enrol_port;
  const ControllerServerOptions options;
  TestController controller;
  std::string changed_ca;  // Set by ChangeCaDir.
  std::ostringstream out;
};

TlsFiles FilesOf(const JoinFlags& flags) {
  const std::string folder = flags.root + flags.folder;
  return {folder + "/ca.crt", folder + "/host.crt", folder + "/host.key"};
}

std::string SerialOf(const TlsFiles& files) {
  return ParseCertificate(TestCertificates::Text(files.certificate))->serial;
}

// clusterd's stream and its renewal, as RunDaemon puts them together.
class JoinedHost {
 public:
  JoinedHost(const std::string& controller, const std::string& name,
             const TlsFiles& files)
      : self_{"test", IdentityKind::kHost, name, Role::kViewer},
        with_roots_(
            &observer_, &record_, [] { return HostAllows(); }, nullptr,
            [files] { return ReadRoots(files); }),
        held_(files, self_, *ReadPairOf(self_, files), &log_) {
    AgentStreamOptions options;
    options.dial.controller = controller;
    options.cluster = "test";
    options.host = name;
    options.tls = files;
    options.hello.set_machine_id("machine");
    options.hello.set_boot_id("boot");
    options.backoff.min = absl::Milliseconds(1);
    options.backoff.initial = absl::Milliseconds(10);
    options.credentials = [this] { return held_.ForDial(); };
    options.on_offered_roots = [this](uint64_t bundle) {
      renewal_->OnOfferedRoots(bundle);
    };
    options.on_change = [this](bool attached) {
      if (attached) renewal_->Start();
      absl::MutexLock lock(&mutex_);
      if (attached) ++attached_;
    };
    stream_ = std::make_shared<AgentStream>(
        std::move(options),
        AgentStreamParts{&with_roots_, &loop_, &threads_, &pool_, &log_,
                         [] { return 0.5; }});
    LeafRenewal::Parts parts;
    parts.held = &held_;
    parts.files = files;
    parts.controller = controller;
    parts.ask = [this](AgentMessage question, absl::Duration wait,
                       LeafRenewal::Answered answered) {
      // The controller's clock has not moved; by a later clock, new
      // certificates would be due at once.
      clock_.Set(absl::ZeroDuration());
      stream_->Ask(std::move(question), wait, std::move(answered));
    };
    parts.reattach = [this] { stream_->ReattachIfIdle(); };
    parts.random = [] { return 0.5; };
    parts.scheduler = &clock_;
    parts.pool = &pool_;
    parts.log = &log_;
    parts.audit = &audit_;
    renewal_ = std::make_unique<LeafRenewal>(std::move(parts));
    stream_->Start();
  }
  ~JoinedHost() {
    renewal_->Stop();
    stream_->Stop();
  }

  testing::AssertionResult WaitAttached(int times) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [this, times]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return attached_ >= times;
    };
    if (mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience)) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << log_.Lines();
  }
  // Moves the host's clock until it asks, and starts its renewal.
  void RenewAfterDays(int days) {
    clock_.Set(absl::Hours(24) * days);
    renewal_->Start();
  }
  CapturedLog& log() { return log_; }
  std::string AuditText() const { return TestCertificates::Text(audit_path_); }

 private:
  const SpiffeId self_;
  CapturedLog log_;
  MemoryObserver observer_{HostFacts()};
  AppliesRecord record_;
  AgentObserver with_roots_;
  HeldIdentity held_;
  const std::string audit_path_ = NewRoot() + "/audit.jsonl";
  absl::Mutex mutex_;
  int attached_ ABSL_GUARDED_BY(mutex_) = 0;
  EventLoop loop_;
  ThreadScheduler threads_;
  MovedClock clock_;
  AuditLog audit_{audit_path_, AuditLimits{1 << 20}, "host", &threads_, &log_};
  WorkerPool pool_{2, 16};
  std::shared_ptr<AgentStream> stream_;
  std::unique_ptr<LeafRenewal> renewal_;
};

TEST(JoinTest, HostJoinsAttachesAndRenewsOverItsStream) {
  JoinWorld world;
  const JoinFlags flags = world.FlagsFor(world.Token("server0"), "server0");
  const absl::Status joined = world.Join(flags);
  ASSERT_TRUE(joined.ok()) << joined;
  EXPECT_THAT(world.out.str(), HasSubstr("host server0 has joined"));
  EXPECT_THAT(
      TestCertificates::Text(flags.root + "/etc/clusterd/agent.yaml"),
      AllOf(HasSubstr(world.controller.address()), HasSubstr("cluster: 'test'"),
            HasSubstr("allow: [observe]")));
  const TlsFiles files = FilesOf(flags);
  const std::string first = SerialOf(files);
  EXPECT_EQ(world.EntryOf("server0").serial(), first);
  const std::string first_key = TestCertificates::Text(files.key);

  JoinedHost host(world.controller.address(), "server0", files);
  ASSERT_TRUE(host.WaitAttached(1));
  host.RenewAfterDays(20);
  ASSERT_TRUE(host.WaitAttached(2));
  ASSERT_TRUE(world.controller.log().WaitFor(
      "host server0: has taken up its renewed certificate"));
  const std::string second = SerialOf(files);
  EXPECT_NE(second, first);
  EXPECT_NE(TestCertificates::Text(files.key), first_key);
  EXPECT_EQ(world.EntryOf("server0").serial(), second);
  EXPECT_EQ(world.EntryOf("server0").next_serial(), "");
  EXPECT_TRUE(ReadTlsFiles(files).ok());
}

std::string HashOf(const TestAuthority& root) {
  return RootHashes(root.certificate_pem()).front();
}

std::vector<std::string> HashesIn(const TlsFiles& files) {
  return RootHashes(TestCertificates::Text(files.ca));
}

// An attacker who controlled the controller has added a root for 100 years.
TEST(JoinTest, RootThatATakenControllerPlantsIsTakenByNoHost) {
  JoinWorld world;
  const TestAuthority& root = world.certificates.authority();
  const auto thief = TestAuthority::Create(
      "thief", {-absl::Hours(1), absl::Hours(24 * 36500)});
  const std::string planted = root.certificate_pem() + thief->certificate_pem();
  const TlsFiles files = FilesOf(world.Joined());
  const std::string first = SerialOf(files);
  JoinedHost host(world.controller.address(), "server0", files);
  ASSERT_TRUE(host.WaitAttached(1));

  world.ChangeCaDir({{"root.crt", planted}});
  ASSERT_TRUE(host.WaitAttached(2));
  host.RenewAfterDays(20);
  ASSERT_TRUE(host.log().WaitFor(
      RowPattern("msg-trust-root-not-signed", HashOf(*thief))));
  ASSERT_TRUE(host.WaitAttached(3));
  EXPECT_NE(SerialOf(files), first);
  EXPECT_THAT(HashesIn(files), ElementsAre(HashOf(root)));
  EXPECT_THAT(host.AuditText(), HasSubstr(HashOf(*thief)));

  // The same with his own bundle, for a new host, and for one that was off.
  world.ChangeCaDir(
      {{"roots.bundle", thief->RootBundle("test", "9", planted)}});
  ASSERT_TRUE(host.log().WaitFor(RowPattern("bundle-not-signed", 9)));
  EXPECT_THAT(HashesIn(files), ElementsAre(HashOf(root)));
  const JoinFlags fresh = world.Joined("server1");
  EXPECT_THAT(world.out.str(), Tells("bundle-not-signed", 9));
  EXPECT_THAT(HashesIn(FilesOf(fresh)), ElementsAre(HashOf(root)));
  world.clock.Set(absl::Hours(24) * 90);
  CapturedLog log;
  ASSERT_EQ(RenewIfEnded(FilesOf(fresh), fresh.controller, world.clock.Now(),
                         nullptr, &log),
            absl::OkStatus());
  EXPECT_THAT(log.Lines(), Tells("bundle-not-signed", 9));
  EXPECT_THAT(HashesIn(FilesOf(fresh)), ElementsAre(HashOf(root)));
  // So they do not accept a controller with a certificate of the planted root.
  const TlsPem stranger = thief->Issue({"spiffe://test/controller"});
  for (const TlsFiles& each : {files, FilesOf(fresh)}) {
    EXPECT_FALSE(CheckChain(stranger.certificate,
                            TestCertificates::Text(each.ca), absl::Now())
                     .ok());
  }
}

TEST(JoinTest, BundleThatAHostCannotTakeIsAskedForOnce) {
  JoinWorld world;
  const TestAuthority& root = world.certificates.authority();
  const auto other = TestAuthority::Create("other");
  const std::string both = root.certificate_pem() + other->certificate_pem();
  const TlsFiles files = FilesOf(world.Joined());
  JoinedHost host(world.controller.address(), "server0", files);
  ASSERT_TRUE(host.WaitAttached(1));
  world.ChangeCaDir({{"roots.bundle", other->RootBundle("test", "9", both)}});
  ASSERT_TRUE(host.log().WaitFor(RowPattern("bundle-not-signed", 9)));
  ASSERT_TRUE(host.WaitAttached(3));
  // A renewal for it now would delay the next bundle for five minutes.
  host.RenewAfterDays(1);
  world.ChangeCaDir({{"roots.bundle", root.RootBundle("test", "10", both)}});
  ASSERT_TRUE(host.log().WaitFor("root added " + HashOf(*other)));
  ASSERT_TRUE(host.WaitAttached(5));
  const std::string lines = host.log().Lines();
  EXPECT_EQ(static_cast<std::vector<std::string>>(
                absl::StrSplit(lines, "certificate is renewed"))
                .size(),
            3u)
      << lines;
}

// The steps of deploy/certificates.sh and daemon/docs/security.md, in files.
struct Rotation {
  explicit Rotation(JoinWorld* joined) : world(joined) {
    const std::string folder =
        MakeCaDir(*next, {-absl::Hours(1), absl::Hours(24 * 300)});
    for (const char* name :
         {"root.crt", "intermediate.crt", "intermediate.key"}) {
      new_ca[name] = TestCertificates::Text(folder + "/" + name);
    }
    new_ca["roots.bundle"] = bundle_1 + bundle_2;
  }
  // The controller's files by the old or new root; it trusts both.
  TlsFiles ControllerBy(const TestAuthority& root) {
    const TlsPem pem = root.Issue({"spiffe://test/controller"});
    const std::string& folder = world->certificates.folder();
    WriteTestFile(folder + "/rotation.ca", both, 0644);
    WriteTestFile(folder + "/rotation.crt", pem.certificate, 0644);
    WriteTestFile(folder + "/rotation.key", pem.key, 0600);
    return {folder + "/rotation.ca", folder + "/rotation.crt",
            folder + "/rotation.key"};
  }
  const TestAuthority& old() { return world->certificates.authority(); }

  JoinWorld* const world;
  const std::unique_ptr<TestAuthority> next = TestAuthority::Create("next");
  const std::string both = old().certificate_pem() + next->certificate_pem();
  const std::string bundle_1 = old().RootBundle("test", "1", both);
  const std::string bundle_2 =
      next->RootBundle("test", "2", next->certificate_pem());
  std::map<std::string, std::string> new_ca;
};

TEST(JoinTest, RootsGoFromOldToNewAndNeverBack) {
  JoinWorld world;
  Rotation rotation(&world);
  const std::string old_hash = HashOf(rotation.old());
  const std::string new_hash = HashOf(*rotation.next);
  const TlsFiles files = FilesOf(world.Joined());
  JoinedHost host(world.controller.address(), "server0", files);
  ASSERT_TRUE(host.WaitAttached(1));

  // The host renews for the bundle, long before half of its certificate's life.
  world.ChangeCaDir({{"roots.bundle", rotation.bundle_1}},
                    rotation.ControllerBy(rotation.old()));
  ASSERT_TRUE(host.log().WaitFor("root added " + new_hash));
  EXPECT_THAT(HashesIn(files), UnorderedElementsAre(old_hash, new_hash));
  EXPECT_EQ(ReadRoots(files).value().bundle(), 1u);
  EXPECT_THAT(host.AuditText(), HasSubstr("root added " + new_hash));
  ASSERT_TRUE(host.WaitAttached(3));

  // A host renews only once within five minutes.
  host.RenewAfterDays(1);
  world.ChangeCaDir(rotation.new_ca, rotation.ControllerBy(*rotation.next));
  ASSERT_TRUE(host.log().WaitFor("root removed " + old_hash));
  EXPECT_THAT(HashesIn(files), ElementsAre(new_hash));
  EXPECT_EQ(ReadRoots(files).value().bundle(), 2u);
  ASSERT_TRUE(host.WaitAttached(5));

  // A restored or downgraded controller does not downgrade the hosts.
  const std::string serial = SerialOf(files);
  world.ChangeCaDir({{"roots.bundle", rotation.bundle_1}},
                    rotation.ControllerBy(*rotation.next));
  ASSERT_TRUE(host.WaitAttached(6));
  host.RenewAfterDays(20);
  ASSERT_TRUE(host.log().WaitFor("bundle 1 is not above 2"));
  EXPECT_THAT(HashesIn(files), ElementsAre(new_hash));
  EXPECT_NE(SerialOf(files), serial);
}

// Its certificate has also expired meanwhile.
TEST(JoinTest, HostThatWasOffTakesAllBundlesAtItsLateRenewal) {
  JoinWorld world;
  Rotation rotation(&world);
  const JoinFlags flags = world.Joined();
  const TlsFiles files = FilesOf(flags);
  // Still by the old root, like deploy/certificates.sh cross.
  std::map<std::string, std::string> middle = rotation.new_ca;
  middle["roots.bundle"] = rotation.bundle_1;
  world.ChangeCaDir(middle, rotation.ControllerBy(rotation.old()));
  world.clock.Set(absl::Hours(24) * 90);
  CapturedLog log;
  ASSERT_EQ(
      RenewIfEnded(files, flags.controller, world.clock.Now(), nullptr, &log),
      absl::OkStatus());
  EXPECT_THAT(log.Lines(), HasSubstr("root added " + HashOf(*rotation.next)));
  EXPECT_THAT(HashesIn(files), UnorderedElementsAre(HashOf(rotation.old()),
                                                    HashOf(*rotation.next)));
}

// The host has its key, for which a certificate of the old root is on record.
TEST(JoinTest, HostThatMissedTheChangeJoinsAgain) {
  JoinWorld world;
  Rotation rotation(&world);
  const JoinFlags flags = world.Joined();
  const TlsFiles files = FilesOf(flags);
  const std::string key = TestCertificates::Text(files.key);
  world.ChangeCaDir(rotation.new_ca, rotation.ControllerBy(*rotation.next));
  JoinFlags again = world.FlagsFor(world.Token(), "server0");
  again.root = flags.root;
  ASSERT_EQ(world.Join(again), absl::OkStatus());
  EXPECT_THAT(HashesIn(files), ElementsAre(HashOf(*rotation.next)));
  EXPECT_EQ(ReadRoots(files).value().bundle(), 2u);
  EXPECT_EQ(TestCertificates::Text(files.key), key);
  JoinedHost host(world.controller.address(), "server0", files);
  EXPECT_TRUE(host.WaitAttached(1));
}

std::string Repeated(const std::string& text, size_t at_most) {
  std::string all;
  while (all.size() + text.size() <= at_most) all += text;
  return all;
}

// The packets between the enrolment port's process and the controller can hold
// the longest files that a controller accepts.
TEST(JoinTest, LongestBundlesAndRootsReachAHostThatJoins) {
  JoinWorld world;
  const TestAuthority& root = world.certificates.authority();
  const std::string& pem = root.certificate_pem();
  const std::string bundle =
      root.RootBundle("test", "1", Repeated(pem, kMaxBundleBytes - (1 << 10)));
  ASSERT_GT(bundle.size(), kMaxBundleBytes - (4 << 10));
  world.ChangeCaDir(
      {{"root.crt", Repeated(pem, kMaxRootsBytes)}, {"roots.bundle", bundle}});
  const JoinFlags flags = world.FlagsFor(world.Token(), "server0");
  ASSERT_EQ(world.Join(flags), absl::OkStatus());
  EXPECT_EQ(
      TestCertificates::Text(flags.root + "/etc/clusterd/identity/current/"
                                          "roots.bundle"),
      bundle);
  EXPECT_THAT(HashesIn(FilesOf(flags)), ElementsAre(HashOf(root)));
  EXPECT_THAT(world.controller.log().Lines(), Not(HasSubstr("has ended (")));
}

TEST(JoinTest, RuleComparesTheRootsOfHostsWithTheControllers) {
  JoinWorld world;
  const TlsFiles files = FilesOf(world.Joined());
  JoinedHost host(world.controller.address(), "server0", files);
  ASSERT_TRUE(host.WaitAttached(1));
  CheckRequest request;
  request.mutable_selection()->add_only("roots-uniform");
  Report report;
  ASSERT_TRUE(world.controller.Check(request, &report).ok());
  EXPECT_EQ(RuleOf(report, "roots-uniform").state(), PASS);
  const auto thief = TestAuthority::Create("thief");
  WriteTestFile(files.ca,
                world.certificates.authority().certificate_pem() +
                    thief->certificate_pem(),
                0644);
  ASSERT_TRUE(world.controller.Check(request, &report).ok());
  const RuleResult result = RuleOf(report, "roots-uniform");
  ASSERT_EQ(result.state(), FAIL);
  EXPECT_THAT(result.findings(0).observed(), HasSubstr(HashOf(*thief)));
}

// The host's certificate is older than its record; its stream is refused.
TEST(JoinTest, StreamOfAKeyThatIsNotOnRecordIsRefused) {
  JoinWorld world;
  world.Joined();
  RawHost by_hand(world.controller.address(),
                  world.certificates.Host("server0"));
  EXPECT_FALSE(by_hand.Attach());
  EXPECT_THAT(by_hand.End(), Fails(absl::StatusCode::kPermissionDenied,
                                   HasText("another key")));
  // A host that has not joined may have a certificate made by hand.
  RawHost other(world.controller.address(), world.certificates.Host("server1"));
  EXPECT_TRUE(other.Attach());
  EXPECT_EQ(world.EntryOf("server1").state(), CertificateEntry::BY_HAND);
}

// A user of that host tries to join from its address, with its machine id.
TEST(JoinTest, LocalUserDoesNotTakeTheNameOfAHostWithACertificateByHand) {
  JoinWorld world;
  const TlsFiles files = world.certificates.Host("server1");
  const JoinFlags flags = world.FlagsFor(world.Token(), "server1");
  {
    RawHost by_hand(world.controller.address(), files);
    ASSERT_TRUE(by_hand.Attach());
    EXPECT_TRUE(absl::IsPermissionDenied(world.Join(flags)));
  }
  // The same if the host is detached.
  const absl::Status refused = world.Join(flags);
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(refused, HasText("clusterctl certificates approve server1 "));
  // The message can be translated on a host with a Chinese locale.
  ASSERT_EQ(MessageWords(refused).values_size(), 2);
  EXPECT_EQ(MessageWords(refused).values(1).words(),
            "msg-trust-waits-for-approval");
  EXPECT_FALSE(IdentityFolder(flags.root + flags.folder).HasJoined());
  RawHost again(world.controller.address(), files);
  EXPECT_TRUE(again.Attach());
}

// The files were copied to another machine from a host that is off.
TEST(JoinTest, CopiedIdentityOfAnotherMachineMayNotAttach) {
  JoinWorld world;
  const JoinFlags flags = world.Joined();
  RawHost thief(world.controller.address(), FilesOf(flags));
  ASSERT_TRUE(thief.Send(RawHost::Hello("another machine")));
  const absl::Status end = thief.End();
  EXPECT_TRUE(absl::IsPermissionDenied(end)) << end;
  EXPECT_THAT(end.message(), Tells("msg-hub-name-bound"));
  RawHost real(world.controller.address(), FilesOf(flags));
  EXPECT_TRUE(real.Attach());
}

// An impostor that answers instead of the controller and keeps all requests.
class RecordingEnrolment : public Enrolment::Service {
 public:
  RecordingEnrolment(const TlsFiles& files, std::string roots_pem)
      : roots_pem_(std::move(roots_pem)) {
    grpc::ServerBuilder builder;
    const auto credentials = MakeOneSidedServerCredentials(files);
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~RecordingEnrolment() override { server_->Shutdown(); }

  grpc::Status Roots(grpc::ServerContext*, const RootsRequest*,
                     RootsResponse* response) override {
    ++asked_for_roots;
    response->set_cluster("test");
    response->set_roots_pem(roots_pem_);
    return grpc::Status::OK;
  }
  grpc::Status Join(grpc::ServerContext*, const JoinRequest*,
                    Enrolled*) override {
    ++tokens_seen;
    return grpc::Status(grpc::StatusCode::INTERNAL, "thank you");
  }

  int port() const { return port_; }
  std::atomic<int> asked_for_roots{0};
  std::atomic<int> tokens_seen{0};

 private:
  const std::string roots_pem_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::string HashOf(const TestCertificates& certificates) {
  const auto roots =
      SplitCertificates(certificates.authority().certificate_pem());
  return absl::StrCat("sha256:", roots.front().spki_sha256);
}

JoinFlags FlagsAgainst(const RecordingEnrolment& fake,
                       const std::string& ca_hash) {
  JoinFlags flags;
  flags.controller = "127.0.0.1:7443";
  flags.enrol_port = fake.port();
  flags.ca_hashes = {ca_hash};
  flags.token = "cj1.00000000." + std::string(32, '0');
  flags.root = NewRoot();
  return flags;
}

TEST(JoinTest, TokenIsNotSentToAControllerOfAnotherAuthority) {
  JoinWorld world(/*trusted=*/false);
  TestCertificates stranger;
  RecordingEnrolment fake(stranger.Controller(),
                          stranger.authority().certificate_pem());
  EXPECT_THAT(world.Join(FlagsAgainst(fake, HashOf(world.certificates))),
              Fails(absl::StatusCode::kPermissionDenied,
                    AllOf(HasText(HashOf(world.certificates)),
                          HasText(HashOf(stranger)),
                          HasText("the token was not sent"))));
  EXPECT_EQ(fake.asked_for_roots, 1);
  EXPECT_EQ(fake.tokens_seen, 0);
}

// The roots are public: a peer that sends the right ones must also show the
// controller's certificate by one of them.
TEST(JoinTest, TokenIsNotSentToAStrangerWithTheRightRoots) {
  JoinWorld world(/*trusted=*/false);
  TestCertificates stranger;
  const std::string roots = world.certificates.authority().certificate_pem();
  const TlsFiles shown[] = {stranger.Controller(),
                            world.certificates.Host("server0"),
                            world.certificates.User("eve")};
  for (const TlsFiles& files : shown) {
    RecordingEnrolment fake(files, roots);
    EXPECT_THAT(world.Join(FlagsAgainst(fake, HashOf(world.certificates))),
                Fails(absl::StatusCode::kUnavailable));
    EXPECT_EQ(fake.asked_for_roots, 1);
    EXPECT_EQ(fake.tokens_seen, 0);
  }
}

// A controller that answers the first joins with these codes.
class BusyEnrolment final : public RecordingEnrolment {
 public:
  BusyEnrolment(TestCertificates* certificates,
                std::vector<grpc::StatusCode> codes)
      : RecordingEnrolment(certificates->Controller(),
                           certificates->authority().certificate_pem()),
        codes_(std::move(codes)) {}

  grpc::Status Join(grpc::ServerContext*, const JoinRequest*,
                    Enrolled*) override {
    const auto call = static_cast<size_t>(tokens_seen++);
    return call < codes_.size() ? grpc::Status(codes_[call], "later")
                                : grpc::Status::OK;
  }

 private:
  const std::vector<grpc::StatusCode> codes_;
};

TEST(JoinTest, OnlyUnansweredTriesInARowEndIt) {
  constexpr auto kBusy = grpc::StatusCode::RESOURCE_EXHAUSTED;
  constexpr auto kAway = grpc::StatusCode::UNAVAILABLE;
  TestCertificates certificates;
  const TrustedRoots roots = {"test",
                              certificates.authority().certificate_pem()};
  const CallPatience patience = {30, [](absl::Duration) {}, [] { return 0.5; }};
  const auto join = [&](const BusyEnrolment& busy) {
    return AskToJoin(absl::StrCat("127.0.0.1:", busy.port()), roots, {},
                     patience)
        .status();
  };
  BusyEnrolment herd(&certificates,
                     {kBusy, kBusy, kBusy, kAway, kAway, kBusy, kAway});
  EXPECT_TRUE(join(herd).ok());
  EXPECT_EQ(herd.tokens_seen, 8);
  BusyEnrolment leaving(&certificates, {kBusy, kAway, kAway, kAway});
  EXPECT_TRUE(absl::IsUnavailable(join(leaving)));
  EXPECT_EQ(leaving.tokens_seen, 4);
}

TEST(JoinTest, ControllerWithoutAnAuthorityRefusesWithTheReason) {
  JoinWorld world(/*trusted=*/false);
  CreateTokenRequest request;
  request.set_ttl_ms(3600'000);
  CreateTokenResponse made;
  const grpc::Status refused =
      world.Admin()->CreateToken(NewContext().get(), request, &made);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("without --ca-dir"));
  EXPECT_EQ(world.EntryOf("server0").state(), CertificateEntry::NONE);
}

// It passes the first admission; then an admin resets it, when there is no
// stream to close yet.
TEST(JoinTest, HostThatIsResetWhileItAttachesIsClosed) {
  JoinWorld world(/*trusted=*/false);
  CapturedLog log;
  ThreadScheduler scheduler;
  AttachedHosts hosts(&scheduler, &log);
  ControllerParts parts;
  parts.spec = &world.controller.spec();
  parts.scheduler = &scheduler;
  parts.log = &log;
  parts.hosts = &hosts;
  parts.gate = &world.controller.gate();
  AuditLog audit(world.certificates.folder() + "/hub.jsonl",
                 AuditLimits{1 << 20}, "hub", &scheduler, &log);
  parts.audit = &audit;
  HostQuestions questions;
  std::atomic<int> asked{0};
  questions.admit = [&asked](const auto&, const auto&,
                             const auto&) -> absl::StatusOr<AdmittedHost> {
    if (++asked == 1) return AdmittedHost();
    return absl::PermissionDeniedError("was taken back");
  };
  AgentHubService hub(parts, questions);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      "127.0.0.1:0", *MakeServerCredentials(world.certificates.Controller()),
      &port);
  builder.RegisterService(&hub);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  {
    RawHost host(absl::StrCat("127.0.0.1:", port),
                 world.certificates.Host("server0"));
    EXPECT_FALSE(host.Attach());
    EXPECT_THAT(host.End(), Fails(absl::StatusCode::kPermissionDenied,
                                  HasText("was taken back")));
    EXPECT_FALSE(hosts.IsAttached("server0"));
  }
  server->Shutdown();
  server->Wait();
}

std::shared_ptr<grpc::Channel> EnrolmentChannel(
    const JoinWorld& world, const CreateTokenResponse& made) {
  return grpc::CreateChannel(
      absl::StrCat("127.0.0.1:", made.enrol_port()),
      MakeChannelCredentialsFromRoots(
          world.certificates.authority().certificate_pem(), "test"));
}

TEST(JoinTest, HostileCallersOfTheEnrolmentPortDisturbNobody) {
  JoinWorld world;
  RawHost attached(world.controller.address(),
                   world.certificates.Host("server1"));
  ASSERT_TRUE(attached.Attach());
  const int64_t since = world.controller.Entry("server1").attached_since_ms();
  world.clock.Stop();  // Slow calls also count as simultaneous.
  const CreateTokenResponse made = world.Token();
  RootsResponse roots;
  const auto long_headers = NewContext();
  long_headers->AddMetadata("x-long", std::string(8192, 'a'));
  // The connection may end with it.
  EXPECT_EQ(Enrolment::NewStub(EnrolmentChannel(world, made))
                ->Roots(long_headers.get(), {}, &roots)
                .error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto stub = Enrolment::NewStub(EnrolmentChannel(world, made));
  Enrolled enrolled;
  JoinRequest request;
  request.set_signing_request(std::string(65 << 10, 'a'));
  EXPECT_EQ(stub->Join(NewContext().get(), request, &enrolled).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  request.set_signing_request("");
  int limited = 0;
  for (int i = 0; i < 20; ++i) {
    const grpc::Status refused =
        stub->Join(NewContext().get(), request, &enrolled);
    EXPECT_FALSE(refused.ok());
    if (refused.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++limited;
  }
  EXPECT_GT(limited, 0);
  // All of them have one audit line.
  world.controller.SettleAudit();
  std::istringstream audit(
      TestCertificates::Text(world.controller.audit_path()));
  int lines = 0;
  for (std::string line; std::getline(audit, line);) {
    if (line.find("RESOURCE_EXHAUSTED: too many requests") !=
        std::string::npos) {
      EXPECT_THAT(line, HasSubstr("Join"));
      ++lines;
    }
  }
  EXPECT_EQ(lines, 1);
  const HostEntry entry = world.controller.Entry("server1");
  EXPECT_TRUE(entry.attached());
  EXPECT_EQ(entry.attached_since_ms(), since);
}

TEST(JoinTest, ViewerThatDoesNotReadDoesNotStopOthers) {
  JoinWorld world(/*trusted=*/true, /*servers=*/6'000);
  const auto slow = world.TrustAs("spiffe://test/user/eve");
  std::vector<std::unique_ptr<Unread<ListCertificatesResponse>>> unread;
  for (int i = 0; i < 4; ++i) {
    unread.push_back(std::make_unique<Unread<ListCertificatesResponse>>(
        [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
          return slow->AsyncListCertificates(context, {}, queue);
        }));
  }
  ListCertificatesResponse list;
  const grpc::Status own =
      world.TrustAs("spiffe://test/user/eve")
          ->ListCertificates(NewContext().get(), {}, &list);
  EXPECT_EQ(own.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(own.error_message(), Tells("msg-hub-too-many-calls-of-user", 4));
  const grpc::Status other =
      world.TrustAs("spiffe://test/user/bob")
          ->ListCertificates(NewContext().get(), {}, &list);
  EXPECT_TRUE(other.ok()) << other.error_message();
  EXPECT_EQ(list.certificates_size(), 6'000);
}

TEST(JoinTest, ReportsTheEndsOfTheControllersOwnCertificates) {
  JoinWorld world;
  ListCertificatesResponse list;
  ASSERT_TRUE(
      world.Admin()->ListCertificates(NewContext().get(), {}, &list).ok());
  ASSERT_EQ(list.own_size(), 2);
  EXPECT_EQ(list.own(0).what(), "controller");
  EXPECT_GT(list.own(0).ends_ms(), absl::ToUnixMillis(absl::Now()));
  EXPECT_EQ(list.own(1).what(), "intermediate CA");
  EXPECT_GT(list.own(1).ends_ms(), list.own(0).ends_ms());
  Report report;
  ASSERT_TRUE(world.controller.Check({}, &report).ok());
  EXPECT_THAT(report.notes(),
              Not(Contains(HasSubstr("spiffe://test/controller"))));
  world.clock.Set(absl::Hours(24) * 275);
  ASSERT_TRUE(world.controller.Check({}, &report).ok());
  EXPECT_THAT(report.notes(), Contains(Tells("msg-trust-certificate-ended",
                                             "spiffe://test/controller", kAny,
                                             kAny, kAny, kAny, kAny)));
  EXPECT_THAT(report.notes(),
              Contains(Tells("msg-trust-certificate-ends", kAny,
                             absl::StrCat(kAny, "intermediate.crt"), kAny, kAny,
                             Worded("noticed-after-a-restart"))));
}

// The port that needs no certificate serves only joining.
TEST(JoinTest, EnrolmentPortServesNothingElse) {
  JoinWorld world;
  const CreateTokenResponse made = world.Token();
  const auto channel = EnrolmentChannel(world, made);
  ListHostsResponse hosts;
  EXPECT_EQ(Controller::NewStub(channel)
                ->ListHosts(NewContext().get(), {}, &hosts)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  ListTokensResponse tokens;
  EXPECT_EQ(Trust::NewStub(channel)
                ->ListTokens(NewContext().get(), {}, &tokens)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

// The ninth call of a connection ends it, whatever the first eight were.
TEST(JoinTest, EnrolmentConnectionIsGoodForEightCalls) {
  JoinWorld world;
  const auto channel = EnrolmentChannel(world, world.Token());
  const auto stub = Enrolment::NewStub(channel);
  for (int i = 0; i < 8; ++i) {
    RootsResponse roots;
    const grpc::Status asked = stub->Roots(NewContext().get(), {}, &roots);
    EXPECT_TRUE(asked.ok()) << i << ": " << asked.error_message();
  }
  ASSERT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
  RootsResponse roots;
  stub->Roots(NewContext().get(), {}, &roots);
  EXPECT_TRUE(
      channel->WaitForStateChange(GRPC_CHANNEL_READY, PatientDeadline()));
}

TEST(JoinTest, EnrolmentPortIsClosedWhenTheLastTokenIsGone) {
  JoinWorld world;
  const CreateTokenResponse made = world.Token();
  const JoinFlags flags = world.FlagsFor(made, "server0");
  RevokeTokenRequest request;
  request.set_id(made.entry().id());
  RevokeTokenResponse revoked;
  ASSERT_TRUE(
      world.Admin()->RevokeToken(NewContext().get(), request, &revoked).ok());
  EXPECT_THAT(world.Join(flags),
              Fails(absl::StatusCode::kUnavailable,
                    AllOf(HasText("not reachable"),
                          HasText("clusterctl token create"))));
  // The port opens again with the number that hosts know.
  EXPECT_EQ(world.Token().enrol_port(), made.enrol_port());
}

}  // namespace
}  // namespace clusterd
