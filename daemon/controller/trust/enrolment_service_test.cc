#include "daemon/controller/trust/enrolment_service.h"

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

constexpr auto kDenied = absl::StatusCode::kPermissionDenied;

const SpiffeId kAdmin{"demo", IdentityKind::kUser, "ann", Role::kAdmin};

// The host's side: its key, and its request.
struct Asker {
  std::string key = *MakePrivateKey();
  std::string Request() const { return *MakeSigningRequest(key); }
};

RenewLateRequest LateOf(const Asker& asker) {
  RenewLateRequest request;
  request.set_signing_request(asker.Request());
  return request;
}

class EnrolmentServiceTest : public testing::Test {
 protected:
  EnrolmentServiceTest() { Open(); }
  // Queued work uses the service.
  ~EnrolmentServiceTest() override { pool_.Drain(); }

  void Open() {
    std::ofstream(folder_ + "/cluster.yaml") << spec_text_;
    auto spec =
        SpecHolder::Open(folder_ + "/cluster.yaml", "demo", &scheduler_);
    EXPECT_TRUE(spec.ok()) << spec.status();
    spec_ = *std::move(spec);
    parts_.spec = spec_.get();
    parts_.scheduler = &scheduler_;
    parts_.pool = &pool_;
    parts_.log = &log_;
    parts_.hosts = &hosts_;
    parts_.audit = audit_.log();
    if (gate_ == nullptr) {
      IdentityGateOptions options;
      options.cluster = "demo";
      options.state = folder_;
      gate_ = IdentityGate::Open(options, &scheduler_, &log_).value();
      parts_.gate = gate_.get();
    }
    authority_ = CertificateAuthority::Open(ca_dir_, absl::Now()).value();
    store_ = TrustStore::Open(folder_).value();
    service_ = std::make_unique<EnrolmentService>(
        parts_, authority_.get(), store_.get(), kDefaultLeafLife);
  }
  // The site's PKI revokes a certificate.
  void Revoke(const Enrolled& enrolled) {
    const auto ca =
        TestAuthority::FromPem(TextOfFile(ca_dir_ + "/intermediate.crt"),
                               TextOfFile(ca_dir_ + "/intermediate.key"))
            .value();
    const std::string leaf =
        SplitCertificates(enrolled.certificate_pem()).front().pem;
    IdentityGateOptions options;
    options.cluster = "demo";
    options.state = folder_;
    options.ca = ca_dir_ + "/root.crt";
    options.crl = folder_ + "/list.crl";
    WriteTestFile(options.crl,
                  ca->RevocationList({leaf}) + ca->certificate_pem(), 0644);
    gate_.reset();
    auto gate = IdentityGate::Open(options, &scheduler_, &log_);
    ASSERT_TRUE(gate.ok()) << gate.status();
    gate_ = *std::move(gate);
    parts_.gate = gate_.get();
    Reopen();
  }
  void Lock(const std::string& identity) {
    LockEntry lock;
    lock.set_identity(identity);
    lock.set_by(kAdmin.ToString());
    gate_->Hold(lock);
  }
  // As if the controller were restarted.
  void Reopen() {
    pool_.Drain();
    service_.reset();
    store_.reset();
    Open();
  }

  absl::StatusOr<CreateTokenResponse> NewToken(
      const std::string& hosts, absl::Duration life = absl::Hours(1),
      uint32_t uses = 0) {
    CreateTokenRequest request;
    request.set_hosts(hosts);
    request.set_uses(uses);
    request.set_ttl_ms(absl::ToInt64Milliseconds(life));
    return service_->CreateToken(request, kAdmin);
  }
  std::string Token(const std::string& hosts = "",
                    absl::Duration life = absl::Hours(1), uint32_t uses = 0) {
    return NewToken(hosts, life, uses).value().token();
  }

  // About node1.
  auto Renew(const Enrolled& has, const Asker& asker = Asker()) {
    return service_->Renew("node1", has.certificate_pem(), asker.Request());
  }
  auto RenewLate(const std::string& pem, const Asker& asker) {
    return service_->RenewLate("node1", pem, LateOf(asker), "peer");
  }
  auto Decide(const std::string& key, bool approves) {
    return service_->Decide("node1", key, approves);
  }
  auto Admit(const std::string& pem) { return service_->Admit("node1", pem); }
  auto IsCurrent(const std::string& pem) {
    return service_->IsCurrent("node1", pem);
  }

  JoinRequest RequestOf(const Asker& asker, const std::string& token,
                        const std::string& name = "node1") {
    JoinRequest request;
    request.set_token(token);
    request.set_name(name);
    request.set_machine_id("machine of " + name);
    request.set_signing_request(asker.Request());
    request.set_host_time_ms(absl::ToUnixMillis(scheduler_.Now()));
    return request;
  }
  absl::StatusOr<Enrolled> Join(const Asker& asker, const std::string& token,
                                const std::string& name = "node1") {
    return service_->Join(RequestOf(asker, token, name), "ipv4:10.0.0.5:4");
  }

  std::shared_ptr<TaskLink> Attach(const std::string& name,
                                   const std::string& machine_id,
                                   const char* peer = "ipv4:10.0.0.5:9") {
    Attachment attachment;
    attachment.host = name;
    attachment.peer = peer;
    attachment.hello.set_machine_id(machine_id);
    const auto link = std::make_shared<TaskLink>();
    attachment.link = link;
    const auto session = hosts_.Attach(attachment);
    EXPECT_TRUE(session.ok()) << session.status();
    if (session.ok()) session_ = *session;
    return link;
  }

  CertificateEntry EntryOf(const std::string& name) {
    const ListCertificatesResponse list = service_->ListCertificates();
    for (const CertificateEntry& entry : list.certificates()) {
      if (entry.host() == name) return entry;
    }
    ADD_FAILURE() << "no entry of " << name;
    return {};
  }

  const std::string folder_ = NewStateFolder();
  const std::unique_ptr<TestAuthority> root_ = TestAuthority::Create();
  std::string ca_dir_ = MakeCaDir(*root_);
  std::string spec_text_ = kJoinSpec;
  ManualScheduler scheduler_;
  CapturedLog log_;
  WorkerPool pool_{1, 16};
  AttachedHosts hosts_{&scheduler_, &log_};
  AttachedHosts::SessionId session_ = 0;
  ControllerParts parts_;
  TestAudit audit_;
  std::unique_ptr<IdentityGate> gate_;
  std::unique_ptr<SpecHolder> spec_;
  std::unique_ptr<CertificateAuthority> authority_;
  std::unique_ptr<TrustStore> store_;
  std::unique_ptr<EnrolmentService> service_;
};

std::string Message(const absl::StatusOr<Enrolled>& answer) {
  return std::string(answer.status().message());
}

std::string SerialOf(const Enrolled& answer) {
  return ParseCertificate(answer.certificate_pem())->serial;
}

TEST_F(EnrolmentServiceTest, HostWithATokenGetsItsNameAndItsKeyCertified) {
  const Asker host;
  const auto answer = Join(host, Token()).value();
  EXPECT_EQ(answer.name(), "node1");
  EXPECT_EQ(answer.cluster(), "demo");
  EXPECT_EQ(answer.roots_pem(), root_->certificate_pem());
  const auto info = ParseCertificate(answer.certificate_pem()).value();
  EXPECT_EQ(info.id.ToString(), "spiffe://demo/host/node1");
  EXPECT_EQ(info.spki_sha256, SpkiOfPrivateKey(host.key));
  EXPECT_EQ(SplitCertificates(answer.certificate_pem()).size(), 2u);
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
  EXPECT_EQ(EntryOf("node2").state(), CertificateEntry::NONE);
}

TEST_F(EnrolmentServiceTest, SameTokenNameAndKeyGetTheSameAnswerAgain) {
  const Asker host;
  const std::string token = Token();
  const auto first = Join(host, token).value();
  Reopen();  // The answer was lost, and the controller was started again.
  EXPECT_EQ(Join(host, token)->certificate_pem(), first.certificate_pem());
}

TEST_F(EnrolmentServiceTest, AnotherKeyUnderANameIsRefusedUntilAReset) {
  const std::string token = Token();
  ASSERT_TRUE(Join(Asker(), token).ok());
  const Asker other;
  EXPECT_THAT(Join(other, token),
              Fails(absl::StatusCode::kAlreadyExists,
                    Tells("msg-trust-enrolled", "node1",
                          absl::StrCat("2024-01-01", kAny))));
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_THAT(Message(Join(other, token)), HasSubstr("is spent"));
  EXPECT_TRUE(Join(other, Token()).ok());
}

TEST_F(EnrolmentServiceTest, TokenIsForOneHostOnceUnlessItIsAskedForMore) {
  const std::string token = Token();
  const Asker host;
  const auto first = Join(host, token, "node1").value();
  for (int start = 0; start < 2; ++start) {
    EXPECT_THAT(
        Join(Asker(), token, "node2"),
        Fails(kDenied, Tells("msg-trust-token-spent", kAny, 1, 1, "node2")));
    // A lost answer costs no second use.
    EXPECT_EQ(Join(host, token, "node1")->certificate_pem(),
              first.certificate_pem());
    Reopen();
  }
  const std::string two = Token("", absl::Hours(1), 2);
  EXPECT_TRUE(Join(Asker(), two, "node2").ok());
  EXPECT_TRUE(Join(Asker(), two, "node3").ok());
  EXPECT_THAT(Message(Join(Asker(), two, "node0")), HasSubstr("is spent"));
}

// However it is spelled, a name belongs to one host at most.
TEST_F(EnrolmentServiceTest, AnotherSpellingOfANameIsNoOtherHost) {
  spec_text_.replace(spec_text_.find("product:"), 0, "domain: example.com\n");
  Reopen();
  const std::string token = Token("", absl::Hours(1), 2);
  const Asker host;
  const auto first = Join(host, token, "node1.example.com").value();
  EXPECT_EQ(first.name(), "node1");
  for (const char* same : {"node1", "192.168.7.23"}) {
    EXPECT_EQ(Join(host, token, same)->certificate_pem(),
              first.certificate_pem());
    EXPECT_TRUE(absl::IsAlreadyExists(Join(Asker(), token, same).status()));
  }
  for (const char* wrong :
       {"NODE1", "Node1", "node1.", "node1.example.com.", "node1.EXAMPLE.com",
        " node1", "node1\n", "node01", "node[1-2]", "node*", ""}) {
    EXPECT_FALSE(Join(Asker(), token, wrong).ok()) << wrong;
    EXPECT_FALSE(Join(host, token, wrong).ok()) << wrong;
  }
  EXPECT_EQ(service_->ListTokens().tokens(0).used(), 1u);
}

TEST_F(EnrolmentServiceTest, ListOfATokenHasNoWildcards) {
  for (const char* wrong : {"*", "node*", "node?", "node[*]", "node[0-]",
                            "NODE1", "node1.", "node[0-99999999]"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NewToken(wrong).status())) << wrong;
  }
  // A host that is named twice still has one use.
  Token("node1,node[1-2]");
  EXPECT_EQ(service_->ListTokens().tokens(0).uses(), 2u);
}

// The uses are counted with the host's record, in one transaction.
TEST_F(EnrolmentServiceTest, TokenIsUsedNoMoreOftenHoweverManyAskAtOnce) {
  const std::string token = Token("", absl::Hours(1), 2);
  std::atomic<int> joined{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 16; ++i) {
    askers.emplace_back([&, i] {
      if (Join(Asker(), token, absl::StrCat("node", i % 4)).ok()) ++joined;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(joined, 2);
  Reopen();
  EXPECT_EQ(service_->ListTokens().tokens(0).used(), 2u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(Join(Asker(), token, absl::StrCat("node", i)).ok()) << i;
  }
}

TEST_F(EnrolmentServiceTest, HostUsesATokenOnceAlsoAfterResets) {
  const std::string token = Token("node[0-3]");
  ASSERT_TRUE(Join(Asker(), token).ok());
  for (int resets = 0; resets < 2; ++resets) {
    ASSERT_TRUE(service_->Reset("node1").ok());
    EXPECT_THAT(Message(Join(Asker(), token)), HasSubstr("is spent, 1 of 4"));
    ASSERT_TRUE(Join(Asker(), Token()).ok());
  }
  EXPECT_TRUE(Join(Asker(), token, "node2").ok());
}

TEST_F(EnrolmentServiceTest, SpentTokenTakesNoPlaceThatOthersWaitFor) {
  const std::string token = Token();
  ASSERT_TRUE(Join(Asker(), token, "node1").ok());
  Attach("node2", "the first machine");
  EXPECT_THAT(Message(Join(Asker(), token, "node2")), HasSubstr("is spent"));
  EXPECT_EQ(EntryOf("node2").state(), CertificateEntry::NONE);
}

TEST_F(EnrolmentServiceTest, EveryCertificateAndRefusalIsAudited) {
  const std::string token = Token();
  ASSERT_TRUE(Join(Asker(), token).ok());
  ASSERT_FALSE(Join(Asker(), token).ok());
  const std::vector<std::string> lines = audit_.Lines();
  ASSERT_EQ(lines.size(), 3u);
  // Without a certificate, the lines have no WHO.
  const std::string subject = " Join node1 by token " + token.substr(4, 8);
  EXPECT_EQ(lines[0], subject + ": begins");
  EXPECT_EQ(lines[1], subject + ": joined");
  EXPECT_THAT(lines[2], AllOf(HasSubstr(subject + ": refused"),
                              Tells("msg-trust-enrolled")));
}

TEST_F(EnrolmentServiceTest, RefusalsOfTwoPeersAreTwoLines) {
  for (const char* peer : {"ipv4:10.0.0.5:4", "ipv4:10.0.0.5:5",
                           "ipv4:10.0.0.6:4", "ipv4:10.0.0.6:5"}) {
    EXPECT_FALSE(service_->Join(RequestOf(Asker(), "nonsense"), peer).ok());
  }
  const std::vector<AuditEntry> entries = audit_.entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].peer(), "ipv4:10.0.0.5:4");
  EXPECT_EQ(entries[1].peer(), "ipv4:10.0.0.6:4");
  EXPECT_EQ(entries[1].subject(), "node1");
}

TEST_F(EnrolmentServiceTest, LockedHostGetsNoCertificate) {
  Lock("host/node1");
  const std::string token = Token();
  EXPECT_THAT(Join(Asker(), token), Fails(kDenied, HasText("is locked since")));
  ASSERT_TRUE(gate_->Unlock("host/node1").ok());
  EXPECT_TRUE(Join(Asker(), token).ok());
}

TEST_F(EnrolmentServiceTest, TokenIsForItsHostsAlone) {
  const std::string token = Token("node[0-1]");
  EXPECT_THAT(Join(Asker(), token, "node2"),
              Fails(kDenied, Tells("msg-trust-token-of-others", kAny, kAny,
                                   "node[0-1]", "node2")));
  EXPECT_TRUE(Join(Asker(), token, "node0").ok());
  // By the address in cluster.yaml.
  EXPECT_EQ(Join(Asker(), token, "192.168.7.23").value().name(), "node1");
}

TEST_F(EnrolmentServiceTest, NameThatClusterYamlHasNotIsRefused) {
  EXPECT_THAT(Join(Asker(), Token(), "nodee1"),
              Fails(kDenied, AllOf(HasText("is not in cluster.yaml"),
                                   HasText("did you mean \"node1\"?"),
                                   HasText("--name"))));
  EXPECT_TRUE(absl::IsInvalidArgument(Join(Asker(), Token(), "a b").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(NewToken("node[0-9]").status()));
}

TEST_F(EnrolmentServiceTest, ExpiredTokenNamesBothClocks) {
  const std::string token = Token("", absl::Minutes(10));
  scheduler_.Advance(absl::Minutes(11));
  JoinRequest request = RequestOf(Asker(), token);
  request.set_host_time_ms(
      absl::ToUnixMillis(scheduler_.Now() - absl::Hours(2)));
  EXPECT_THAT(
      service_->Join(request, "peer"),
      Fails(absl::StatusCode::kFailedPrecondition,
            AllOf(HasText("expired at 2024-01-01T00:10:00"),
                  HasText("controller's clock says 2024-01-01T00:11:00"),
                  HasText("this host's 2023-12-31T22:11:00"))));
}

TEST_F(EnrolmentServiceTest, WrongSecretAndUnknownTokenAreOneRefusal) {
  std::string wrong = Token();
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  const auto refused = Join(Asker(), wrong);
  EXPECT_TRUE(absl::IsUnauthenticated(refused.status())) << refused.status();
  EXPECT_EQ(Message(refused),
            Message(Join(Asker(), "cj1.00000000." + std::string(32, '0'))));
}

TEST_F(EnrolmentServiceTest, RevokedTokenIsGoodForNothing) {
  const std::string token = Token();
  ASSERT_TRUE(service_->RevokeToken(token.substr(4, 8)).ok());
  EXPECT_TRUE(absl::IsUnauthenticated(Join(Asker(), token).status()));
  EXPECT_TRUE(absl::IsNotFound(service_->RevokeToken("4f09c2d1").status()));
}

TEST_F(EnrolmentServiceTest, OnlyADigestOfTheSecretIsKept) {
  const std::string token = Token();
  const std::string secret = token.substr(13);
  const std::string all = TextOfFile(folder_ + "/trust.db");
  EXPECT_THAT(all, HasSubstr(token.substr(4, 8)));
  EXPECT_THAT(all, Not(HasSubstr(secret)));
  EXPECT_THAT(log_.Lines(), Not(HasSubstr(secret)));
}

TEST_F(EnrolmentServiceTest, ListOfTokensCountsTheHostsThatCame) {
  const std::string token = Token("node[0-3]");
  ASSERT_TRUE(Join(Asker(), token, "node0").ok());
  ASSERT_TRUE(Join(Asker(), token, "node2").ok());
  const ListTokensResponse list = service_->ListTokens();
  ASSERT_THAT(list, HasFields("tokens { used: 2 hosts: 'node[0-3]' }"));
  EXPECT_EQ(list.tokens(0).creator(), kAdmin.ToString());
}

TEST_F(EnrolmentServiceTest, MachineThatIsAttachedKeepsItsNameUntilAnApproval) {
  const std::string token = Token();
  const auto link = Attach("node1", "the first machine");
  const Asker host;
  const auto refused = Join(host, token);
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status()));
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::WAITS_FOR_APPROVAL);
  const std::string key = EntryOf("node1").waiting_key();
  EXPECT_EQ(key, SpkiOfPrivateKey(host.key).substr(0, 16));
  EXPECT_THAT(Message(refused),
              Tells("msg-trust-waits-for-approval", "node1", kAny, key));
  // Nothing changes between the admin's look and decision.
  EXPECT_THAT(Message(Join(Asker(), token)), Tells("msg-trust-another-waits"));
  EXPECT_THAT(Decide("0123456789abcdef", true),
              Fails(absl::StatusCode::kAborted));
  EXPECT_FALSE(EntryOf("node1").approved());
  const auto approved = Decide(key, true).value();
  EXPECT_EQ(approved.entry().waiting_machine_id(), "machine of node1");
  EXPECT_FALSE(Join(Asker(), token).ok());
  const auto joined = Join(host, token).value();
  EXPECT_TRUE(absl::IsPermissionDenied(link->end())) << link->end();
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
}

// A local user of the host has its address and its machine's id.
TEST_F(EnrolmentServiceTest,
       NameThatWasEverSeenWithACertificateByHandIsNotFree) {
  const TlsPem by_hand = root_->Issue({"spiffe://demo/host/node1"});
  absl::Notification go_on;
  // It holds even before it is on disk.
  ASSERT_TRUE(pool_.TryRun([&] { go_on.WaitForNotification(); }));
  EXPECT_FALSE(*Admit(by_hand.certificate));
  const std::string token = Token("node1");
  const Asker asker;
  EXPECT_TRUE(absl::IsPermissionDenied(Join(asker, token).status()));
  go_on.Notify();
  pool_.Drain();
  // Attached, and then down, over a restart of the controller.
  const auto link = Attach("node1", "machine of node1");
  EXPECT_TRUE(absl::IsPermissionDenied(Join(asker, token).status()));
  EXPECT_TRUE(link->end().ok()) << link->end();
  hosts_.Detach(session_, ToFindingValue("it is down"));
  Reopen();
  scheduler_.Advance(2 * kWaitsAlone);
  const std::string later = Token("node1");
  EXPECT_THAT(Join(asker, later),
              Fails(kDenied, HasText("certificates approve node1")));
  EXPECT_TRUE(IsCurrent(by_hand.certificate).ok());
  ASSERT_TRUE(Decide(EntryOf("node1").waiting_key(), true).ok());
  EXPECT_FALSE(Join(Asker(), later).ok());
  EXPECT_TRUE(Join(asker, later).ok());
}

TEST_F(EnrolmentServiceTest, ResetFreesTheNameOfAHostWithACertificateByHand) {
  scheduler_.Advance(absl::Now() + absl::Hours(1) - scheduler_.Now());
  const TlsPem by_hand = root_->Issue({"spiffe://demo/host/node1"});
  EXPECT_FALSE(*Admit(by_hand.certificate));
  pool_.Drain();
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_FALSE(Admit(by_hand.certificate).ok());
  EXPECT_TRUE(Join(Asker(), Token()).ok());
}

// An id of a machine is not secret.
TEST_F(EnrolmentServiceTest, MachineIdOrAddressAloneNeedsAnApproval) {
  for (const auto& [name, machine_id, peer] :
       {std::tuple("node1", "machine of node1", "ipv4:10.0.0.7:9"),
        std::tuple("node2", "the first machine", "ipv4:10.0.0.5:9")}) {
    const auto link = Attach(name, machine_id, peer);
    EXPECT_THAT(Join(Asker(), Token(), name), Fails(kDenied)) << name;
    EXPECT_EQ(EntryOf(name).state(), CertificateEntry::WAITS_FOR_APPROVAL);
    EXPECT_TRUE(link->end().ok()) << link->end();
  }
}

TEST_F(EnrolmentServiceTest, RefuseIsForTheMachineThatWaitsAndNothingElse) {
  const auto joined = Join(Asker(), Token()).value();
  const auto link = Attach("node1", "the first machine");
  const std::string token = Token();
  const Asker other_claimant;
  ASSERT_FALSE(Join(other_claimant, token).ok());
  const CertificateEntry both = EntryOf("node1");
  EXPECT_EQ(both.state(), CertificateEntry::WAITS_FOR_APPROVAL);
  EXPECT_EQ(both.serial(), SerialOf(joined));
  EXPECT_THAT(Message(Join(Asker(), token)),
              HasSubstr("or refuse node1 " + both.waiting_key()));
  EXPECT_TRUE(absl::IsAborted(Decide("0123456789abcdef", false).status()));
  const auto refused = Decide(both.waiting_key(), false).value();
  EXPECT_EQ(refused.entry().waiting_machine_id(), "machine of node1");
  EXPECT_TRUE(link->end().ok()) << link->end();
  EXPECT_TRUE(IsCurrent(joined.certificate_pem()).ok());
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
  EXPECT_TRUE(absl::IsNotFound(Decide(both.waiting_key(), false).status()));
}

// The thief of a key is attached, and a token's holder asks for the name in a
// loop, each time with another key.
TEST_F(EnrolmentServiceTest, ResetForgetsTheKeyWhoeverWaits) {
  const auto stolen = Join(Asker(), Token()).value();
  const auto link = Attach("node1", "the first machine");
  const std::string token = Token();
  ASSERT_FALSE(Join(Asker(), token).ok());
  const auto reset = service_->Reset("node1").value();
  EXPECT_EQ(reset.refused_machine_id(), "machine of node1");
  EXPECT_TRUE(absl::IsPermissionDenied(link->end())) << link->end();
  EXPECT_FALSE(IsCurrent(stolen.certificate_pem()).ok());
  EXPECT_FALSE(Admit(stolen.certificate_pem()).ok());
  // The name does not go to the next machine that asks.
  hosts_.Detach(session_, ToFindingValue("it is down"));
  EXPECT_THAT(Message(Join(Asker(), token)), HasSubstr("is spent"));
  Reopen();
  EXPECT_THAT(Message(Join(Asker(), token)), HasSubstr("is spent"));
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::NONE);
  EXPECT_TRUE(Join(Asker(), Token()).ok());
}

// With the host's machine id, or while the host is detached, so that no machine
// ever waits for the name.
TEST_F(EnrolmentServiceTest, ResetIsNotWonByWhoAsksInALoop) {
  const Asker host;
  const auto stolen = Join(host, Token()).value();
  const std::string token = Token("", absl::Hours(24), /*uses=*/5);
  const Asker other_claimant;
  EXPECT_TRUE(absl::IsAlreadyExists(Join(other_claimant, token).status()));
  EXPECT_EQ(service_->Reset("node1").value().refused_machine_id(), "");
  const auto expect_no_way_in = [&] {
    for (const Asker& asker : {other_claimant, Asker(), host}) {
      EXPECT_THAT(Message(Join(asker, token)), Tells("msg-trust-token-spent"));
    }
    EXPECT_THAT(Join(host, Token()), Fails(kDenied, HasText("--new-key")));
    EXPECT_FALSE(Admit(stolen.certificate_pem()).ok());
  };
  expect_no_way_in();
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::NONE);
  Reopen();
  expect_no_way_in();
  // It is good for the hosts that were not reset.
  EXPECT_TRUE(Join(Asker(), token, "node2").ok());
  const auto joined = Join(Asker(), Token()).value();
  // It is also refused after another reset.
  ASSERT_TRUE(service_->Reset("node1").ok());
  expect_no_way_in();
}

TEST_F(EnrolmentServiceTest, ResetMayNameTheKeyThatItMeans) {
  const Asker host;
  ASSERT_TRUE(Join(host, Token()).ok());
  const std::string key = SpkiOfPrivateKey(host.key);
  EXPECT_EQ(EntryOf("node1").key(), key.substr(0, 16));
  for (const std::string& wrong :
       {std::string("0123456789abcdef"), key.substr(0, 15), key.substr(1)}) {
    EXPECT_TRUE(absl::IsAborted(service_->Reset("node1", wrong).status()));
  }
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
  ASSERT_TRUE(service_->Reset("node1", key.substr(0, 16)).ok());
  const Asker anew;
  ASSERT_TRUE(Join(anew, Token()).ok());
  EXPECT_TRUE(service_->Reset("node1", SpkiOfPrivateKey(anew.key)).ok());
}

TEST_F(EnrolmentServiceTest, MachineWaitsForAnHour) {
  ASSERT_TRUE(Join(Asker(), Token()).ok());
  const auto link = Attach("node1", "the first machine");
  const std::string token = Token("", absl::Hours(24));
  const Asker other_claimant;
  ASSERT_FALSE(Join(other_claimant, token).ok());
  const std::string key = EntryOf("node1").waiting_key();
  scheduler_.Advance(absl::Minutes(59));
  // Asking again does not add time.
  ASSERT_FALSE(Join(other_claimant, token).ok());
  scheduler_.Advance(absl::Minutes(1));
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
  EXPECT_TRUE(absl::IsNotFound(Decide(key, true).status()));
  // An approval ends after an hour, too.
  ASSERT_FALSE(Join(other_claimant, token).ok());
  ASSERT_TRUE(Decide(key, true).ok());
  scheduler_.Advance(absl::Hours(1));
  EXPECT_FALSE(Join(other_claimant, token).ok());
  EXPECT_TRUE(link->end().ok()) << link->end();
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_TRUE(absl::IsNotFound(service_->Reset("node1").status()));
}

TEST_F(EnrolmentServiceTest, RenewalCountsWhenItsCertificateIsSeen) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  const Asker next;
  const auto renewed = Renew(first, next).value();
  EXPECT_NE(SerialOf(renewed), SerialOf(first));
  // Both are good until the host shows which one it has.
  EXPECT_TRUE(IsCurrent(first.certificate_pem()).ok());
  EXPECT_TRUE(Admit(first.certificate_pem()).ok());
  pool_.Drain();
  EXPECT_EQ(EntryOf("node1").serial(), SerialOf(first));
  EXPECT_EQ(EntryOf("node1").next_serial(), SerialOf(renewed));
  // Repeating the request returns the same answer.
  EXPECT_EQ(Renew(first, next)->certificate_pem(), renewed.certificate_pem());
  EXPECT_TRUE(Admit(renewed.certificate_pem()).ok());
  pool_.Drain();
  EXPECT_EQ(EntryOf("node1").serial(), SerialOf(renewed));
  EXPECT_EQ(EntryOf("node1").next_serial(), "");
  EXPECT_THAT(IsCurrent(first.certificate_pem()), Fails(kDenied));
  Reopen();
  EXPECT_EQ(EntryOf("node1").serial(), SerialOf(renewed));
}

// The host never got the answer, and asks with a new key.
TEST_F(EnrolmentServiceTest, RenewalThatWasLostIsReplaced) {
  const auto first = Join(Asker(), Token()).value();
  const auto lost = Renew(first);
  const auto second = Renew(first);
  ASSERT_TRUE(lost.ok() && second.ok()) << second.status();
  EXPECT_FALSE(IsCurrent(lost->certificate_pem()).ok());
  EXPECT_TRUE(IsCurrent(second->certificate_pem()).ok());
}

TEST_F(EnrolmentServiceTest, RenewalIsForCertificatesOnRecordAlone) {
  const TlsPem by_hand = root_->Issue({"spiffe://demo/host/node2"});
  EXPECT_THAT(service_->Renew("node2", by_hand.certificate, Asker().Request()),
              Fails(absl::StatusCode::kFailedPrecondition));
  const Asker host;
  const auto first = Join(host, Token()).value();
  const TlsPem other = root_->Issue({"spiffe://demo/host/node1"});
  EXPECT_THAT(service_->Renew("node1", other.certificate, Asker().Request()),
              Fails(kDenied));
  EXPECT_TRUE(absl::IsInvalidArgument(Renew(first, host).status()));
}

TEST_F(EnrolmentServiceTest, HostThatAsksOverAndOverIsHeldUp) {
  const auto first = Join(Asker(), Token()).value();
  absl::Status last;
  for (int i = 0; i < 10; ++i) last = Renew(first).status();
  EXPECT_TRUE(absl::IsResourceExhausted(last)) << last;
  scheduler_.Advance(absl::Minutes(9));
  EXPECT_FALSE(Renew(first).ok());
  scheduler_.Advance(absl::Minutes(2));
  EXPECT_TRUE(Renew(first).ok());
}

TEST_F(EnrolmentServiceTest, CertificateOfAnotherKeyThanTheRecordsIsRefused) {
  const TlsPem by_hand = root_->Issue({"spiffe://demo/host/node1"});
  EXPECT_FALSE(*Admit(by_hand.certificate));
  const Asker host;
  const std::string token = Token();
  ASSERT_FALSE(Join(host, token).ok());
  ASSERT_TRUE(Decide(EntryOf("node1").waiting_key(), true).ok());
  const auto joined = Join(host, token).value();
  EXPECT_THAT(Admit(by_hand.certificate),
              Fails(kDenied, HasText("clusterctl certificates reset node1")));
  EXPECT_TRUE(*Admit(joined.certificate_pem()));
}

// Even if another intermediate issued that certificate.
TEST_F(EnrolmentServiceTest, ResetHoldsWhenTheIntermediateIsReplaced) {
  const auto first = Join(Asker(), Token()).value();
  const auto second = Renew(first).value();
  ASSERT_TRUE(Admit(second.certificate_pem()).ok());
  pool_.Drain();
  scheduler_.Advance(absl::Hours(24));
  ASSERT_TRUE(service_->Reset("node1").ok());
  ca_dir_ = MakeCaDir(*root_);
  Reopen();
  for (const Enrolled& old : {first, second}) {
    ASSERT_FALSE(authority_->HasIssued(old.certificate_pem()));
    EXPECT_THAT(Admit(old.certificate_pem()), Fails(kDenied));
  }
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::NONE);
  const Asker anew;
  EXPECT_TRUE(*Admit(Join(anew, Token()).value().certificate_pem()));
}

TEST_F(EnrolmentServiceTest, HostThatWasOffRenewsByTheKeyOnRecord) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  scheduler_.Advance(absl::Hours(24 * 90));
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENDED);
  EXPECT_TRUE(service_->IsKeyOnRecord(first.certificate_pem()));
  // It uses the port of all other calls.
  EXPECT_FALSE(service_->ShouldListen());
  const auto late = RenewLate(first.certificate_pem(), host).value();
  EXPECT_NE(SerialOf(late), SerialOf(first));
  EXPECT_TRUE(Admit(late.certificate_pem()).ok());
  EXPECT_EQ(EntryOf("node1").late_renewals(), 1u);
  EXPECT_EQ(EntryOf("node1").state(), CertificateEntry::ENROLLED);
  // A lost answer costs no second certificate.
  EXPECT_TRUE(service_->IsKeyOnRecord(first.certificate_pem()));
  EXPECT_EQ(RenewLate(first.certificate_pem(), host)->certificate_pem(),
            late.certificate_pem());
  EXPECT_EQ(EntryOf("node1").late_renewals(), 1u);
}

// The host was off between getting a renewal and using it.
TEST_F(EnrolmentServiceTest, HostMayRenewLateByTheKeyThatWasNext) {
  const auto first = Join(Asker(), Token()).value();
  const Asker next;
  const auto renewed = Renew(first, next).value();
  scheduler_.Advance(absl::Hours(24 * 90));
  EXPECT_TRUE(RenewLate(renewed.certificate_pem(), next).ok());
}

TEST_F(EnrolmentServiceTest, LateRenewalIsForKnownKeysAndHalfAYear) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  const std::string& pem = first.certificate_pem();
  scheduler_.Advance(absl::Hours(24 * 90));
  // With another key than the connection's, and under another name.
  EXPECT_TRUE(absl::IsPermissionDenied(RenewLate(pem, Asker()).status()));
  EXPECT_THAT(service_->RenewLate("node2", pem, LateOf(host), "peer"),
              Fails(kDenied));
  const std::string other =
      root_->Issue({"spiffe://demo/host/node1"}).certificate;
  EXPECT_TRUE(absl::IsPermissionDenied(RenewLate(other, host).status()));
  EXPECT_FALSE(service_->IsKeyOnRecord(other));
  EXPECT_FALSE(service_->IsKeyOnRecord("none"));
  scheduler_.Advance(absl::Hours(24 * 125));
  EXPECT_THAT(RenewLate(pem, host),
              Fails(kDenied, HasText("more than 180 days")));
}

TEST_F(EnrolmentServiceTest, KeyThatWasForgottenIsNotOnRecord) {
  const auto first = Join(Asker(), Token()).value();
  EXPECT_TRUE(service_->IsKeyOnRecord(first.certificate_pem()));
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_FALSE(service_->IsKeyOnRecord(first.certificate_pem()));
}

TEST_F(EnrolmentServiceTest, RevokedCertificateIsNotRenewedLate) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  scheduler_.Advance(absl::Hours(24 * 90));
  Revoke(first);
  EXPECT_THAT(RenewLate(first.certificate_pem(), host),
              Fails(kDenied, HasText("revoked")));
  EXPECT_THAT(Join(host, Token()), Fails(kDenied, HasText("revoked")));
}

TEST_F(EnrolmentServiceTest, RevokedCertificateIsNotRenewed) {
  const auto first = Join(Asker(), Token()).value();
  Revoke(first);
  EXPECT_THAT(Renew(first), Fails(kDenied, HasText("revoked")));
}

TEST_F(EnrolmentServiceTest, HostThatClusterYamlHasNoMoreIsNotRenewed) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  const std::string& pem = first.certificate_pem();
  spec_text_.replace(spec_text_.find("node[0-3]"), 9, "node[4-7]");
  Reopen();
  const auto is_refused =
      Fails(kDenied, Tells("msg-trust-not-in-spec", "\"node1\""));
  EXPECT_THAT(RenewLate(pem, host), is_refused);
  EXPECT_THAT(Renew(first), is_refused);
  scheduler_.Advance(absl::Hours(24 * 90));
  EXPECT_THAT(RenewLate(pem, host), is_refused);
  spec_text_.replace(spec_text_.find("node[4-7]"), 9, "node[0-3]");
  Reopen();
  EXPECT_TRUE(RenewLate(pem, host).ok());
}

TEST_F(EnrolmentServiceTest, RefusedRenewalsAreAudited) {
  const Asker host;
  const auto first = Join(host, Token()).value();
  const std::string& pem = first.certificate_pem();
  const size_t before = audit_.entries().size();
  RenewLateRequest late = LateOf(host);
  const auto is_renewed = [&](const char* peer) {
    return service_->RenewLate("node1", pem, late, peer).ok();
  };
  late.set_signing_request("none");
  EXPECT_FALSE(is_renewed("ipv4:10.0.0.1:1"));
  EXPECT_FALSE(Renew(first, host).ok());
  scheduler_.Advance(absl::Hours(24 * 300));
  late = LateOf(host);
  EXPECT_FALSE(is_renewed("ipv4:10.0.0.2:1"));
  audit_.PassRefusalWindow();
  Lock("host/node1");
  EXPECT_FALSE(is_renewed("ipv4:10.0.0.3:1"));
  std::vector<std::string> lines = audit_.Lines();
  ASSERT_EQ(lines.size(), before + 4);
  lines.erase(lines.begin(), lines.begin() + static_cast<int>(before));
  EXPECT_THAT(lines[0],
              HasSubstr(" RenewLate node1: refused: INVALID_ARGUMENT"));
  EXPECT_THAT(lines[1], HasSubstr("spiffe://demo/host/node1 Renew node1: "
                                  "refused: INVALID_ARGUMENT"));
  EXPECT_THAT(lines[2], HasSubstr("more than 180 days"));
  EXPECT_THAT(lines[3], HasSubstr("is locked since"));
}

TEST_F(EnrolmentServiceTest, ListensWhileATokenLives) {
  EXPECT_FALSE(service_->ShouldListen());
  Token("", absl::Minutes(10));
  EXPECT_TRUE(service_->ShouldListen());
  scheduler_.Advance(absl::Minutes(10));
  EXPECT_FALSE(service_->ShouldListen());
}

TEST_F(EnrolmentServiceTest, TokenLivesBetweenAMinuteAndADay) {
  for (const absl::Duration life : {absl::Seconds(59), absl::Hours(25)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(NewToken("", life).status())) << life;
  }
}

TEST_F(EnrolmentServiceTest, NameIsBoundToTheMachineThatJoinedUntilAReset) {
  ASSERT_TRUE(Join(Asker(), Token()).ok());
  EXPECT_EQ(service_->BoundTo("node1", "machine of node1"), "");
  EXPECT_EQ(service_->BoundTo("node1", "another"), "machine of node1");
  EXPECT_EQ(service_->BoundTo("node1", ""), "machine of node1");
  Reopen();
  EXPECT_EQ(service_->BoundTo("node1", "another"), "machine of node1");
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_EQ(service_->BoundTo("node1", "another"), "");
}

// Images of machines before their first start have this word: many at once.
TEST_F(EnrolmentServiceTest, WordForNoMachineIdBindsNoName) {
  JoinRequest request = RequestOf(Asker(), Token());
  request.set_machine_id("uninitialized");
  ASSERT_TRUE(service_->Join(request, "ipv4:10.0.0.5:4").ok());
  EXPECT_EQ(service_->BoundTo("node1", "uninitialized"), "");
  EXPECT_EQ(service_->BoundTo("node1", "first"), "");
  pool_.Drain();
  for (const char* other : {"second", "uninitialized", ""}) {
    EXPECT_EQ(service_->BoundTo("node1", other), "first") << other;
  }
}

TEST_F(EnrolmentServiceTest,
       CertificateMadeElsewhereIsBoundWhereItAttachesFirst) {
  const TlsPem by_hand = root_->Issue({"spiffe://demo/host/node1"});
  EXPECT_EQ(service_->BoundTo("node1", ""), "") << "says nothing";
  EXPECT_EQ(service_->BoundTo("node1", "first"), "");
  for (const bool is_kept : {false, true}) {
    if (is_kept) pool_.Drain();
    EXPECT_EQ(service_->BoundTo("node1", "second"), "first");
    EXPECT_EQ(service_->BoundTo("node1", ""), "first");
    EXPECT_EQ(service_->BoundTo("node1", "first"), "");
  }
  const auto link = Attach("node1", "first");
  ASSERT_TRUE(service_->Reset("node1").ok());
  EXPECT_FALSE(link->end().ok()) << "the next one may come now";
  EXPECT_EQ(service_->BoundTo("node1", "second"), "");
  pool_.Drain();
  EXPECT_EQ(service_->BoundTo("node1", "first"), "second");
  // A certificate made after the reset counts.
  EXPECT_TRUE(Admit(by_hand.certificate).ok());
}

}  // namespace
}  // namespace clusterd
