#include "client/ticket/bundle.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/ticket/tar_gz.h"
#include "config/report/message_json.h"
#include "config/report/report_table.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

constexpr char kTop[] = "clusterd-bundle/";
constexpr size_t kMaxNameBytes = 64;

// One part of a path that means the same to every file system and shell.
std::string FileName(absl::string_view text) {
  std::string name(text.substr(
      text.size() > kMaxNameBytes ? text.size() - kMaxNameBytes : 0));
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  if (!name.empty() && name[0] == '.') name[0] = '_';
  return name.empty() ? "_" : name;
}

absl::string_view LastPart(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string EndOf(const HostRecording::Run& run) {
  if (run.timed_out()) return "killed at its deadline";
  if (run.signal() != 0) return absl::StrCat("ended by signal ", run.signal());
  return absl::StrCat("status ", run.exit_status());
}

// As a person would have seen it in a shell.
std::string RunsText(const HostRecording& recording) {
  std::string text;
  for (const HostRecording::Run& run : recording.runs()) {
    absl::StrAppend(&text, "$ ", absl::StrJoin(run.argv(), " "), "\n",
                    run.standard_output(), run.standard_error(), "[",
                    EndOf(run), ", ", run.elapsed_us() / 1000, " ms",
                    run.output_cut() ? ", output cut" : "", "]\n\n");
  }
  return text;
}

std::string RemovedText(const RemovedSecrets& removed) {
  return absl::StrJoin(removed, ", ", [](std::string* out, const auto& kind) {
    absl::StrAppend(out, kind.second, " ", kind.first);
  });
}

}  // namespace

Bundle::Bundle(std::string cluster, absl::Time made_at)
    : cluster_(std::move(cluster)), made_at_(made_at) {}

void Bundle::Add(const std::string& name, absl::string_view text,
                 std::string from, std::string cut, int64_t changed_at_s) {
  if (text.size() > kMaxBundleBytes - std::min(bytes_, kMaxBundleBytes)) {
    return AddGap(absl::StrCat(name, ": left out, the bundle has ",
                               kMaxBundleBytes >> 20, " MiB already"));
  }
  bytes_ += text.size();
  Entry& entry = entries_[kTop + name];
  entry.text = WithoutSecrets(text, &entry.removed);
  entry.from = std::move(from);
  entry.cut = std::move(cut);
  entry.changed_at_s =
      changed_at_s > 0 ? changed_at_s : absl::ToUnixSeconds(made_at_);
  for (const auto& [kind, count] : entry.removed) removed_[kind] += count;
}

void Bundle::AddReport(const Report& report) {
  Add("check.json", SparseJson(report), "check made for this bundle");
  std::ostringstream text;
  PrintReportTable(report, Style(), /*verbose=*/true, text);
  Add("check.txt", text.str(), "the same for people");
}

void Bundle::AddFacts(const HostFacts& facts) {
  Add(absl::StrCat(FileName(facts.host()), "/facts.json"), SparseJson(facts),
      "observed now");
}

void Bundle::AddHost(const LogsOfHost& host) {
  const std::string folder = FileName(host.host());
  if (!host.error().empty()) {
    AddGap(absl::StrCat(host.host(), ": ", host.error()));
  }
  if (host.has_recording()) {
    const HostRecording& recording = host.recording();
    AddFacts(recording.facts());
    Add(folder + "/hccn_tool.txt", RunsText(recording), "runs of hccn_tool",
        recording.complete() ? "" : "outputs are missing where it says so");
    for (const HostRecording::Run& run : recording.runs()) {
      if (!run.has_hccn_conf_before()) continue;
      Add(folder + "/hccn.conf", run.hccn_conf_before(), "/etc/hccn.conf");
      break;
    }
  }
  if (!host.has_logs()) return;
  if (host.logs().has_missing()) {
    AddGap(
        absl::StrCat(host.host(), ": logs: ", host.logs().missing().detail()));
  }
  HostLogs summary = host.logs();
  int number = 0;
  for (LogFile& file : *summary.mutable_files()) {
    ++number;
    const std::string content = std::move(*file.mutable_content());
    file.clear_content();
    if (content.empty()) continue;
    const bool whole = content.size() >= file.size_bytes();
    Add(absl::StrFormat("%s/logs/%03d-%s", folder, number,
                        FileName(LastPart(file.path()))),
        content, absl::StrCat(file.path(), " of ", file.user()),
        whole ? ""
              : absl::StrCat("the last ", content.size(), " of ",
                             file.size_bytes(), " bytes"),
        file.changed_at_ms() / 1000);
  }
  Add(folder + "/logs.json", SparseJson(summary), "codes and files of logs");
}

std::string Bundle::Index() const {
  std::string text = absl::StrCat(
      "Bundle of cluster ", SafeText(cluster_, true), ", made at ",
      absl::FormatTime(absl::RFC3339_sec, made_at_, absl::UTCTimeZone()),
      " by clusterctl ", kClusterdVersion, "\n\n");
  for (const auto& [name, entry] : entries_) {
    absl::StrAppend(&text, name, "\n    ", entry.text.size(), " bytes, from ",
                    SafeText(entry.from, true), "\n");
    if (!entry.cut.empty()) {
      absl::StrAppend(&text, "    cut: ", SafeText(entry.cut, true), "\n");
    }
    if (!entry.removed.empty()) {
      absl::StrAppend(&text, "    taken out: ", RemovedText(entry.removed),
                      "\n");
    }
  }
  absl::StrAppend(&text, "\nNot in it:\n");
  for (const std::string& gap : gaps_) {
    absl::StrAppend(&text, "    ", SafeText(gap, true), "\n");
  }
  if (gaps_.empty()) absl::StrAppend(&text, "    nothing was missing\n");
  return absl::StrCat(
      text, "\nSecrets taken out, each replaced by [removed]: ",
      removed_.empty() ? "none" : RemovedText(removed_),
      "\nThey were found by their form; read the files before you send them. "
      "Addresses,\nhost names and user names are in them.\n");
}

absl::StatusOr<std::string> Bundle::Finish() const {
  TarGz archive;
  RETURN_IF_ERROR(archive.Add(absl::StrCat(kTop, "INDEX.txt"), Index(),
                              absl::ToUnixSeconds(made_at_)));
  for (const auto& [name, entry] : entries_) {
    RETURN_IF_ERROR(archive.Add(name, entry.text, entry.changed_at_s));
  }
  return archive.Finish();
}

}  // namespace clusterd
