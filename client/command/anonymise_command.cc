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

class AnonymiseCommand final : public Command {
 public:
  AnonymiseCommand() : Command("anonymise") {}

  void AddOptions(CLI::App& app) override {
    app.add_option("FILE", file_, "New file, for this user only")->required();
    AddOption(app, "--from", "FILE", from_,
              "What clusterd --record wrote [standard input]");
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    if (from_ == kStandardInput && session().terminal.in_is_terminal) {
      AddMistake("nothing comes on standard input, expected `clusterd ",
                 "--record | clusterctl anonymise FILE`");
      return RejectUsage();
    }
    const absl::StatusOr<int> runs = Anonymise();
    if (!runs.ok()) return ReportFailure(runs.status());
    session().out << file_ << ": " << *runs
                  << " runs of hccn_tool, addresses and names replaced. Read "
                     "it before you send it.\n";
    return *runs == 0 ? kExitNoVerdict : kExitPass;
  }

  // How many runs were written. The names in the recording are among those that
  // the file must not hold, so messages are about the path alone.
  absl::StatusOr<int> Anonymise() const {
    ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(from_));
    const absl::StatusOr<HostRecording> recording = ParseHostRecording(bytes);
    if (!recording.ok()) {
      return absl::Status(
          recording.status().code(),
          absl::StrCat(from_, ": ", recording.status().message()));
    }
    ASSIGN_OR_RETURN(std::string key, RandomAddressKey());
    ASSIGN_OR_RETURN(
        const std::string text,
        FormatRecords(MakeRecords(*recording, AddressMap(std::move(key)))));
    RETURN_IF_ERROR(WriteNewFile(file_, text));
    return recording->runs_size();
  }

  std::string file_;
  std::string from_ = kStandardInput;
};

}  // namespace

void AddAnonymiseCommand(CommandList& commands) {
  commands.push_back(std::make_unique<AnonymiseCommand>());
}

}  // namespace clusterd
