// clusterctl watch: the current state of the cluster, redrawn in place on a
// terminal until Ctrl-C. It reopens its stream when the controller is back.
#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "client/command/command.h"
#include "client/print/now_table.h"
#include "config/report/message_json.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

// Longest life of one stream; then another one is opened.
constexpr absl::Duration kLongestStream = absl::Hours(24 * 30);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kLongestRetry = absl::Seconds(10);
// After this time the controller is not expected back.
constexpr absl::Duration kLongestAway = absl::Hours(1);
constexpr int kUsualRows = 24;  // If the terminal reports none.

// True if the controller, or the connection to it, may return.
bool MayPass(const absl::Status& end) {
  return end.ok() || absl::IsUnavailable(end) || absl::IsCancelled(end) ||
         absl::IsDeadlineExceeded(end) || absl::IsResourceExhausted(end);
}

class WatchCommand final : public CliCommand {
 public:
  WatchCommand() : CliCommand("watch") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "-o,--output", "FORMAT", format_text_);
    AddColor(app);
  }

 private:
  int Work() override {
    is_jsonl_ = ReadChoice("--output", format_text_, {"table", "jsonl"}) == 1;
    ReadColor();
    const std::unique_ptr<ControllerClient> client = Connect();
    if (!mistakes_.empty()) return RejectUsage();
    const absl::Status end = Follow(*client);
    screen_ = nullptr;
    if (session().interrupt.fired()) return kExitPass;
    const int status = ReportFailure(end);
    if (is_jsonl_) {
      session().out << OnOneLine(
          MessageJson(ErrorDocument(name(), end.message(), status)));
    }
    return status;
  }

  // Runs until Ctrl-C; otherwise returns why it cannot continue.
  absl::Status Follow(ControllerClient& client) {
    for (;;) {
      const absl::Status end = client.ReadAll(
          &Controller::Stub::Watch, WatchRequest(), kLongestStream,
          [this](ClusterNow& now) { Show(now); });
      // Before the first answer an error is final: the address may be wrong.
      if (session().interrupt.fired() || !now_.has_value() || !MayPass(end)) {
        return end;
      }
      const absl::Time now = session().now();
      if (!away_since_.has_value()) LoseController(end, now);
      if (now - *away_since_ > kLongestAway) return end;
      if (session().interrupt.Await(retry_)) return end;
      retry_ = std::min(2 * retry_, kLongestRetry);
    }
  }

  void Show(ClusterNow& now) {
    now_ = std::move(now);
    away_since_.reset();
    trouble_.clear();
    retry_ = kFirstRetry;
    Draw();
    // The reader has left.
    if (!session().out) session().interrupt.Fire();
  }

  void LoseController(const absl::Status& end, absl::Time now) {
    away_since_ = now;
    trouble_ = Say(
        "now-retries",
        end.ok() ? Worded("now-ended-call", controller_) : MessageWords(end),
        absl::FormatTime("%H:%M:%S", now, session().zone));
    if (screen_ == nullptr) return Tell("headed", "", trouble_);
    Draw();
  }

  void Draw() {
    std::ostream& out = session().out;
    if (is_jsonl_) {
      out << OnOneLine(MessageJson(*now_)) << std::flush;
      return;
    }
    if (session().read_terminal) terminal_ = session().read_terminal();
    const Terminal& terminal = terminal_ ? *terminal_ : session().terminal;
    const Style style = StyleOf(&Terminal::out_is_terminal, terminal,
                                session().environment, color_);
    std::ostringstream text;
    if (!trouble_.empty()) {
      Page(style, text)
          .Sentence(Say("now-controller-away"), Paint::kRed, trouble_);
    }
    PrintClusterNow(*now_, style, session().zone, text);
    if (!style.rewrites) {
      out << text.str() << "\n" << std::flush;
      return;
    }
    if (screen_ == nullptr) screen_ = std::make_unique<LiveScreen>(out);
    screen_->Show(text.str(),
                  terminal.height > 0 ? terminal.height : kUsualRows);
  }

  std::string format_text_ = "table";
  bool is_jsonl_ = false;
  std::optional<Terminal> terminal_;    // As last read.
  std::unique_ptr<LiveScreen> screen_;  // Null: it does not redraw, or not yet.
  std::optional<ClusterNow> now_;       // None: no answer so far.
  std::optional<absl::Time> away_since_;
  std::string trouble_;  // Empty: connected.
  absl::Duration retry_ = kFirstRetry;
};

}  // namespace

void AddWatchCommand(CommandList& commands) {
  AddCommands<WatchCommand>(commands);
}

}  // namespace clusterd
