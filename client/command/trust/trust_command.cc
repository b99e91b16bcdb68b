// clusterctl token and certificates: the joining of hosts, and the end of
// certificates. clusterctl lock, unlock and locks: identities that the
// controller refuses at once, despite a valid certificate.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/command/request.h"
#include "client/print/hosts_table.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {
namespace {

constexpr absl::Duration kDefaultLife = absl::Hours(1);
constexpr absl::Duration kLeastLife = absl::Minutes(1);

class TokenCreateCommand final
    : public OneCall<CreateTokenRequest, CreateTokenResponse, Trust> {
 public:
  TokenCreateCommand() : OneCall("token create", &Trust::Stub::CreateToken) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "--hosts", "LIST", *asked_.mutable_hosts());
    AddOption(app, "--uses", "N", uses_text_);
    AddOption(app, "--ttl", "DURATION", life_text_);
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    const absl::Duration life =
        ReadDuration("--ttl", life_text_, kLeastLife, kDefaultLife);
    asked_.set_ttl_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(life)));
    asked_.set_uses(ReadCount("--uses", uses_text_, 0));
    if (asked_.hosts().empty()) return;
    const auto names = ExpandHostlist(asked_.hosts());
    if (!names.ok()) AddMistakes("--hosts: ", names.status(), mistakes_);
  }

  int Finish() override {
    if (absl::StartsWith(controller_, "127.") ||
        absl::StartsWith(controller_, "localhost:")) {
      Tell("warning", Worded("msg-trust-local-address", controller_));
    }
    return Deliver(kExitPass);
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    const std::string hosts = answer_.entry().hosts();
    out << SafeText(Say("token-created", answer_.entry().id(),
                        Counted(answer_.entry().uses(), "host"),
                        hosts.empty() ? "cluster.yaml" : hosts,
                        UtcMinute(absl::FromUnixMillis(
                            answer_.entry().expires_ms()))),
                    style.utf8)
        << "\n"
        << Say("token-run-there") << "\n\n  " << SafeShort(style) << "\n";
  }
  std::string Short() const override { return JoinLine(answer_, controller_); }

  std::string life_text_;
  std::string uses_text_;
};

class TokenListCommand final
    : public OneCall<ListTokensRequest, ListTokensResponse, Trust> {
 public:
  TokenListCommand() : OneCall("token list", &Trust::Stub::ListTokens) {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app, "ctl-not-of-a-list");
    AddTimeout(app, kShortTimeout);
  }

 private:
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintTokens(answer_, style, session().now(), out);
  }
};

class TokenRevokeCommand final
    : public OneCall<RevokeTokenRequest, RevokeTokenResponse, Trust> {
 public:
  TokenRevokeCommand() : OneCall("token revoke", &Trust::Stub::RevokeToken) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "ID", id_);
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    // The whole token contains the id.
    const bool is_whole = absl::StartsWith(id_, "cj1.");
    asked_.set_id(is_whole ? id_.substr(4, 8) : id_);
  }
  std::string Short() const override {
    return Say("token-revoked", answer_.entry().id());
  }

  std::string id_;
};

// Makes one of four calls: the list, and three decisions about one host.
class CertificatesCommand final : public Request {
 public:
  CertificatesCommand() : Request("certificates") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "ACTION", "", action_text_);
    AddOption(app, "HOST", "", host_);
    AddOption(app, "KEY", "", key_);
    Request::AddOptions(app);
  }

 private:
  enum Action { kList, kApprove, kRefuse, kReset };

  void ReadOptions() override {
    if (!action_text_.empty()) {
      action_ = static_cast<Action>(ReadChoice(
          "ACTION", action_text_, {"list", "approve", "refuse", "reset"}));
    }
    if (action_ == kList && !host_.empty()) {
      AddMistake("msg-trust-host-not-expected", host_);
    }
    if (action_ != kList && !IsHostName(host_)) {
      AddMistake("msg-trust-host-name", QuotedText(host_));
    }
    const bool is_about_one = action_ == kApprove || action_ == kRefuse;
    if (is_about_one && key_.empty()) {
      AddMistake("msg-trust-key-missing");
    }
  }

  template <typename Call, typename CallRequest, typename Response>
  absl::Status AskTrust(Call call, const CallRequest& request,
                        Response* response) {
    RpcClient<Trust> client = ClientOf<Trust>();
    ASSIGN_OR_RETURN(*response, client.Ask(call, request, timeout_));
    response->set_schema_version(kReportSchemaVersion);
    return absl::OkStatus();
  }

  absl::Status Ask(ControllerClient* /*client*/) override {
    if (action_ == kApprove || action_ == kRefuse) {
      ApproveHostRequest request;
      request.set_name(host_);
      request.set_key(key_);
      return AskTrust(action_ == kApprove ? &Trust::Stub::ApproveHost
                                          : &Trust::Stub::RefuseHost,
                      request, &approved_);
    }
    if (action_ == kReset) {
      ResetHostRequest request;
      request.set_name(host_);
      request.set_key(key_);
      return AskTrust(&Trust::Stub::ResetHost, request, &reset_);
    }
    return AskTrust(&Trust::Stub::ListCertificates, ListCertificatesRequest(),
                    &list_);
  }

  const google::protobuf::Message& Answer() const override {
    if (action_ == kList) return list_;
    if (action_ == kReset) return reset_;
    return approved_;
  }
  void PrintTable(const Style& style, std::ostream& out) override {
    if (action_ != kList) return Request::PrintTable(style, out);
    PrintCertificates(list_, style, session().now(), out);
  }
  std::string Short() const override {
    if (action_ == kList) {
      return JoinParts(": ", {list_.cluster(), CertificatesShort(list_)});
    }
    if (action_ != kReset) {
      const CertificateEntry& entry = approved_.entry();
      return Say(
          action_ == kRefuse ? "certificates-refused" : "certificates-approved",
          entry.host(), entry.waiting_machine_id(), entry.waiting_key(),
          entry.waiting_peer());
    }
    const std::string& waited = reset_.refused_machine_id();
    return Say(
        waited.empty() ? "certificates-reset" : "certificates-reset-both",
        reset_.host(), waited);
  }

  std::string action_text_;
  std::string host_;
  std::string key_;
  Action action_ = kList;
  ListCertificatesResponse list_;
  ApproveHostResponse approved_;
  ResetHostResponse reset_;
};

constexpr char kSecond[] = "%Y-%m-%d %H:%M:%S %Ez";
constexpr size_t kMaxReason = 200;  // As in the controller.

FindingValue LockWords(const LockEntry& lock, absl::TimeZone zone) {
  return Worded(
      lock.reason().empty() ? "lock" : "lock-with-reason", lock.identity(),
      absl::FormatTime(kSecond, absl::FromUnixMillis(lock.since_ms()), zone),
      lock.by(), lock.reason());
}

class LockCommand final : public OneCall<LockRequest, LockResponse> {
 public:
  LockCommand() : OneCall("lock", &Controller::Stub::Lock) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "IDENTITY", *asked_.mutable_identity());
    AddOption(app, "--reason", "TEXT", *asked_.mutable_reason());
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    if (asked_.identity().empty()) AddMistake("msg-trust-identity-missing");
    if (asked_.reason().size() > kMaxReason) {
      AddMistake("msg-trust-reason-too-long", asked_.reason().size(),
                 kMaxReason);
    }
  }

  int Finish() override {
    if (answer_.not_on_disk().empty()) return Deliver(kExitPass);
    Tell("warning",
         Worded("about", answer_.lock().identity(), answer_.not_on_disk()));
    return Deliver(kExitFail);
  }

  std::string Short() const override {
    return Say("lock-made", LockWords(answer_.lock(), session().zone),
               Counted(answer_.ended(), "stream"));
  }
};

class UnlockCommand final : public OneCall<UnlockRequest, UnlockResponse> {
 public:
  UnlockCommand() : OneCall("unlock", &Controller::Stub::Unlock) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "IDENTITY", *asked_.mutable_identity());
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override {
    if (asked_.identity().empty()) AddMistake("msg-trust-identity-missing");
  }

  std::string Short() const override {
    return Say("lock-ended", LockWords(answer_.lock(), session().zone));
  }
};

class LocksCommand final : public OneCall<ListLocksRequest, ListLocksResponse> {
 public:
  LocksCommand() : OneCall("locks", &Controller::Stub::ListLocks) {}

 private:
  void PrintTable(const Style& style, std::ostream& out) override {
    for (const LockEntry& lock : answer_.locks()) {
      out << SafeText(ValueText(LockWords(lock, session().zone)), style.utf8)
          << "\n";
    }
    if (answer_.locks().empty()) out << Say("locks-none") << "\n";
  }
  std::string Short() const override {
    std::vector<std::string> names;
    for (const LockEntry& lock : answer_.locks()) {
      names.push_back(lock.identity());
    }
    return JoinParts(
        ": ", {Say("locks-count", names.size()), absl::StrJoin(names, ", ")});
  }
};

}  // namespace

void AddTrustCommands(CommandList& commands) {
  AddCommands<TokenCreateCommand, TokenListCommand, TokenRevokeCommand,
              CertificatesCommand>(commands);
}

void AddLockCommands(CommandList& commands) {
  AddCommands<LockCommand, UnlockCommand, LocksCommand>(commands);
}

}  // namespace clusterd
