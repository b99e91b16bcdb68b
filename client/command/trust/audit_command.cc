// clusterctl audit: verifies an audit file, and lists the newest lines that
// others keep. Verifying needs no controller: the file may be on another
// machine, and the controller may be the suspect.
#include <string>
#include <utility>
#include <vector>

#include "client/command/request.h"
#include "client/files/user_files.h"
#include "config/audit/audit_chain.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// The file's own line in the list of `audit head FILE`.
constexpr char kThisFile[] = "this file";

absl::StatusOr<std::vector<AuditText>> ReadFiles(
    const std::vector<std::string>& names) {
  std::vector<AuditText> files;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(std::string text, ReadTextFile(name));
    files.push_back({name, std::move(text)});
  }
  return files;
}

class AuditHeadCommand final : public Request {
 public:
  AuditHeadCommand() : Request("audit head") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "FILE", "", file_);
    AddOutput(app, "ctl-not-of-a-list");
    AddTimeout(app, kShortTimeout);
  }

 private:
  bool AsksController() const override { return file_.empty(); }

  absl::Status Ask(ControllerClient* client) override {
    if (client != nullptr) {
      ASSIGN_OR_RETURN(
          heads_, client->Ask(&Controller::Stub::GetAuditHeads, {}, timeout_));
      heads_.set_schema_version(kReportSchemaVersion);
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<AuditText> files, ReadFiles({file_}));
    AuditFindings found = VerifyAudit(files, {});
    if (found.lines == 0) {
      return InvalidWords("msg-trust-audit-empty", file_);
    }
    heads_.set_schema_version(kReportSchemaVersion);
    found.head.set_of(kThisFile);
    *heads_.add_heads() = found.head;
    for (AuditHead& head : found.known.All()) {
      *heads_.add_heads() = std::move(head);
    }
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return heads_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    Page page(style, out);
    std::vector<Row> rows = {TitleRow(Say("audit-head-titles"))};
    for (const AuditHead& head : heads_.heads()) {
      const std::string text = AuditHeadText(head);
      rows.push_back(
          {{head.of() == kThisFile ? Say("audit-this-file")
                                   : page.Safe(head.of())},
           {page.Safe(head.contradicted() ? Say("audit-contradicted", text)
                                          : text)}});
    }
    page.PrintTable(rows, {});
  }

  std::string file_;
  GetAuditHeadsResponse heads_;
};

class AuditVerifyCommand final : public CliCommand {
 public:
  AuditVerifyCommand() : CliCommand("audit verify") {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "FILES", files_);
    AddOption(app, "--head", "SEQUENCE:SHA256", heads_text_)
        ->allow_extra_args(false);
    AddOption(app, "--of", "NAME", of_);
  }

 private:
  int Work() override {
    std::vector<AuditHead> heads;
    for (const std::string& text : heads_text_) {
      absl::StatusOr<AuditHead> head = ParseAuditHead(text);
      AddMistakes("--head: ", head.status(), mistakes_);
      if (head.ok()) heads.push_back(*std::move(head));
    }
    const auto client = of_.empty() ? nullptr : Connect();
    if (!mistakes_.empty()) return RejectUsage();
    if (client != nullptr) {
      const absl::Status asked = AskHeads(*client, &heads);
      if (!asked.ok()) return ReportFailure(asked);
    }
    const absl::StatusOr<std::vector<AuditText>> files = ReadFiles(files_);
    if (!files.ok()) {
      ReportFailure(files.status());
      return kExitUsage;
    }
    return Print(VerifyAudit(*files, heads));
  }

  // Requests the newest line and a contradicted one. The file must have both.
  absl::Status AskHeads(ControllerClient& client,
                        std::vector<AuditHead>* heads) const {
    const size_t before = heads->size();
    ASSIGN_OR_RETURN(
        const GetAuditHeadsResponse known,
        client.Ask(&Controller::Stub::GetAuditHeads, {}, kShortTimeout));
    for (const AuditHead& head : known.heads()) {
      if (head.of() == of_ && head.sequence() > 0) heads->push_back(head);
    }
    if (heads->size() > before) return absl::OkStatus();
    return NotFoundWords("msg-trust-audit-not-kept", QuotedText(of_));
  }

  int Print(const AuditFindings& found) {
    const bool utf8 = OutStyle(ColorMode::kNever).utf8;
    std::ostream& out = session().out;
    for (const FindingValue& each : found.breaks) {
      out << SafeText(ValueText(each), utf8) << "\n";
    }
    for (const FindingValue& each : found.notes) {
      out << SafeText(Say("note", each), utf8) << "\n";
    }
    FindingValue lines = Counted(found.lines, "line");
    if (found.lines > 0) {
      lines = Worded("audit-lines-to", lines, AuditHeadText(found.head));
    }
    const size_t breaks = found.breaks.size();
    out << (breaks == 0 ? Say("audit-intact", lines)
                        : Say("audit-broken", Counted(breaks, "break"), lines))
        << "\n";
    return breaks == 0 ? kExitPass : kExitFail;
  }

  std::vector<std::string> files_;
  std::vector<std::string> heads_text_;
  std::string of_;
};

}  // namespace

void AddAuditCommands(CommandList& commands) {
  AddCommands<AuditVerifyCommand, AuditHeadCommand>(commands);
}

}  // namespace clusterd
