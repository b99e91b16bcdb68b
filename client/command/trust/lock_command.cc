// clusterctl lock, unlock and locks: an identity that the controller refuses at
// once, whatever its certificate says.
#include <string>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr char kSecond[] = "%Y-%m-%d %H:%M:%S %Ez";
constexpr size_t kMaxReason = 200;  // Of the controller, too.

std::string LockLine(const LockEntry& lock, absl::TimeZone zone) {
  return absl::StrCat(
      lock.identity(), ": locked since ",
      absl::FormatTime(kSecond, absl::FromUnixMillis(lock.since_ms()), zone),
      " by ", lock.by(), lock.reason().empty() ? "" : ": ", lock.reason());
}

class LockCommand final : public Request {
 public:
  LockCommand() : Request("lock") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "IDENTITY", "", request_identity_,
              "HOST, user/NAME or host/NAME")
        ->required();
    AddOption(app, "--reason", "TEXT", reason_,
              "For whoever is refused, and for clusterctl locks");
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    if (request_identity_.empty()) AddMistake("IDENTITY: is empty");
    if (reason_.size() > kMaxReason) {
      AddMistake("--reason: ", reason_.size(), " bytes, expected at most ",
                 kMaxReason);
    }
  }

  absl::Status Ask(ControllerClient* client) override {
    LockRequest request;
    request.set_identity(request_identity_);
    request.set_reason(reason_);
    ASSIGN_OR_RETURN(locked_,
                     client->Ask(&Controller::Stub::Lock, request, timeout_));
    return absl::OkStatus();
  }

  int Finish() override {
    if (locked_.not_on_disk().empty()) return Deliver(kExitPass);
    Tell("warning: ", locked_.lock().identity(), ": ", locked_.not_on_disk());
    return Deliver(kExitFail);
  }

  const google::protobuf::Message& Answer() const override { return locked_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    out << Short(style.utf8) << "\n";
  }
  std::string Short(bool utf8) const override {
    return SafeText(
        absl::StrCat(LockLine(locked_.lock(), session().zone), " (",
                     locked_.ended(),
                     locked_.ended() == 1 ? " stream" : " streams", " ended)"),
        utf8);
  }

  std::string request_identity_;
  std::string reason_;
  LockResponse locked_;
};

class UnlockCommand final : public Request {
 public:
  UnlockCommand() : Request("unlock") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "IDENTITY", "", identity_,
              "HOST, user/NAME or host/NAME, as clusterctl locks names it")
        ->required();
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    if (identity_.empty()) AddMistake("IDENTITY: is empty");
  }

  absl::Status Ask(ControllerClient* client) override {
    UnlockRequest request;
    request.set_identity(identity_);
    ASSIGN_OR_RETURN(unlocked_,
                     client->Ask(&Controller::Stub::Unlock, request, timeout_));
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return unlocked_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    out << Short(style.utf8) << "\n";
  }
  std::string Short(bool utf8) const override {
    return SafeText(
        absl::StrCat("unlocked ", LockLine(unlocked_.lock(), session().zone)),
        utf8);
  }

  std::string identity_;
  UnlockResponse unlocked_;
};

class LocksCommand final : public Request {
 public:
  LocksCommand() : Request("locks") {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  absl::Status Ask(ControllerClient* client) override {
    ASSIGN_OR_RETURN(locks_,
                     client->Ask(&Controller::Stub::ListLocks, {}, timeout_));
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return locks_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    for (const LockEntry& lock : locks_.locks()) {
      out << SafeText(LockLine(lock, session().zone), style.utf8) << "\n";
    }
    if (locks_.locks().empty()) out << "nobody is locked\n";
  }
  std::string Short(bool utf8) const override {
    std::string names;
    for (const LockEntry& lock : locks_.locks()) {
      absl::StrAppend(&names, names.empty() ? ": " : ", ", lock.identity());
    }
    return SafeText(absl::StrCat(locks_.locks_size(), " locked", names), utf8);
  }

  ListLocksResponse locks_;
};

}  // namespace

void AddLockCommands(CommandList& commands) {
  commands.push_back(std::make_unique<LockCommand>());
  commands.push_back(std::make_unique<UnlockCommand>());
  commands.push_back(std::make_unique<LocksCommand>());
}

}  // namespace clusterd
