// clusterctl lock, unlock and locks: an identity that the controller refuses at
// once, whatever its certificate says.
#include <string>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
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

class LockCommand final : public OneCall<LockRequest, LockResponse> {
 public:
  LockCommand() : OneCall("lock", &Controller::Stub::Lock) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "IDENTITY", "", *asked_.mutable_identity(),
              "HOST, user/NAME or host/NAME")
        ->required();
    AddOption(app, "--reason", "TEXT", *asked_.mutable_reason(),
              "For whoever is refused, and for clusterctl locks");
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    if (asked_.identity().empty()) AddMistake("IDENTITY: is empty");
    if (asked_.reason().size() > kMaxReason) {
      AddMistake("--reason: ", asked_.reason().size(),
                 " bytes, expected at most ", kMaxReason);
    }
  }

  int Finish() override {
    if (answer_.not_on_disk().empty()) return Deliver(kExitPass);
    Tell("warning: ", answer_.lock().identity(), ": ", answer_.not_on_disk());
    return Deliver(kExitFail);
  }

  std::string Short(bool utf8) const override {
    return SafeText(
        absl::StrCat(LockLine(answer_.lock(), session().zone), " (",
                     answer_.ended(),
                     answer_.ended() == 1 ? " stream" : " streams", " ended)"),
        utf8);
  }
};

class UnlockCommand final : public OneCall<UnlockRequest, UnlockResponse> {
 public:
  UnlockCommand() : OneCall("unlock", &Controller::Stub::Unlock) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "IDENTITY", "", *asked_.mutable_identity(),
              "HOST, user/NAME or host/NAME, as clusterctl locks names it")
        ->required();
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    if (asked_.identity().empty()) AddMistake("IDENTITY: is empty");
  }

  std::string Short(bool utf8) const override {
    return SafeText(
        absl::StrCat("unlocked ", LockLine(answer_.lock(), session().zone)),
        utf8);
  }
};

class LocksCommand final : public OneCall<ListLocksRequest, ListLocksResponse> {
 public:
  LocksCommand() : OneCall("locks", &Controller::Stub::ListLocks) {}

  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void PrintTable(const Style& style, std::ostream& out) override {
    for (const LockEntry& lock : answer_.locks()) {
      out << SafeText(LockLine(lock, session().zone), style.utf8) << "\n";
    }
    if (answer_.locks().empty()) out << "nobody is locked\n";
  }
  std::string Short(bool utf8) const override {
    std::string names;
    for (const LockEntry& lock : answer_.locks()) {
      absl::StrAppend(&names, names.empty() ? ": " : ", ", lock.identity());
    }
    return SafeText(absl::StrCat(answer_.locks_size(), " locked", names), utf8);
  }
};

}  // namespace

void AddLockCommands(CommandList& commands) {
  commands.push_back(std::make_unique<LockCommand>());
  commands.push_back(std::make_unique<UnlockCommand>());
  commands.push_back(std::make_unique<LocksCommand>());
}

}  // namespace clusterd
