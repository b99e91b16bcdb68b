// clusterctl anonymise: a recording of a real host without its addresses and
// names. Here and not in the daemon, which is root.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/files/user_files.h"
#include "client/recording/address_map.h"
#include "client/recording/recording.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr char kStandardInput[] = "/dev/stdin";

// The names in the recording are among those that the file must not hold, so
// messages are about the path alone.
absl::Status WriteAnonymised(const std::string& path,
                             const HostRecording& recording) {
  ASSIGN_OR_RETURN(std::string key, RandomAddressKey());
  ASSIGN_OR_RETURN(
      const std::string text,
      FormatRecords(MakeRecords(recording, AddressMap(std::move(key)))));
  return WriteNewFile(path, text);
}

class AnonymiseCommand final : public Command {
 public:
  AnonymiseCommand() : Command("anonymise") {}

  void AddOptions(CLI::App& app) override {
    app.add_option("FILE", file_, "New file, for this user only")->required();
    app.add_option("--from", from_,
                   "What clusterd --record wrote [standard input]")
        ->type_name("FILE");
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    if (from_ == kStandardInput && session().terminal.in_is_terminal) {
      mistakes_.push_back(
          "nothing comes on standard input, expected `clusterd --record | "
          "clusterctl anonymise FILE`");
      return RejectUsage();
    }
    const absl::StatusOr<std::string> bytes = ReadTextFile(from_);
    if (!bytes.ok()) return ReportFailure(bytes.status());
    const absl::StatusOr<HostRecording> recording = ParseHostRecording(*bytes);
    if (!recording.ok()) {
      return ReportFailure(absl::Status(
          recording.status().code(),
          absl::StrCat(from_, ": ", recording.status().message())));
    }
    const absl::Status written = WriteAnonymised(file_, *recording);
    if (!written.ok()) return ReportFailure(written);
    session().out << file_ << ": " << recording->runs_size()
                  << " runs of hccn_tool, addresses and names replaced. Read "
                     "it before you send it.\n";
    return recording->runs().empty() ? kExitNoVerdict : kExitPass;
  }

  std::string file_;
  std::string from_ = kStandardInput;
};

}  // namespace

std::unique_ptr<Command> MakeAnonymiseCommand() {
  return std::make_unique<AnonymiseCommand>();
}

}  // namespace clusterd
