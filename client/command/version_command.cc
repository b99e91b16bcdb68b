// clusterctl version: ours, and the controller's when one is named.
#include "client/command/command.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

class VersionCommand final : public Command {
 public:
  VersionCommand() : Command("version") {}

  void AddOptions(CLI::App& /*app*/) override {}

 private:
  int Work() override {
    std::ostream& out = session().out;
    out << "clusterctl " << kClusterdVersion << " (protocol "
        << kProtocolVersion << ", report schema " << kReportSchemaVersion
        << ")\n";
    if (!connection().controller.has_value()) return kExitPass;
    const auto client = Connect();
    if (client == nullptr) return RejectUsage();
    const absl::StatusOr<GetSpecResponse> spec =
        client->Ask(&Controller::Stub::GetSpec, {}, kTimeout);
    if (!spec.ok()) return ReportFailure(spec.status());
    const bool utf8 = OutStyle(ColorMode::kNever).utf8;
    const std::string& version = spec->controller_version();
    out << "controller "
        << (version.empty() ? "of unknown version" : SafeText(version, utf8))
        << ", cluster " << SafeText(spec->spec().name(), utf8) << "\n";
    return kExitPass;
  }
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() {
  return std::make_unique<VersionCommand>();
}

}  // namespace clusterd
