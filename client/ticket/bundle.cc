#include "client/ticket/bundle.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/report/message_json.h"
#include "config/report/report_table.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"

namespace clusterd {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxFileBytes = size_t{1} << 31;
// zlib.h: 15 bits of window, and 16 for a gzip header.
constexpr int kGzipWindow = 15 + 16;
// The longest last part of a name, and the longest text before it.
constexpr size_t kMaxLastPart = 100;
constexpr size_t kMaxFolders = 155;

// A header, with its fields where pax(1) has them.
std::string HeaderOf(absl::string_view name, size_t size, int64_t changed) {
  std::string header(kBlock, '\0');
  const auto put = [&header](size_t at, absl::string_view text) {
    text.copy(&header[at], text.size());
  };
  if (name.size() > kMaxLastPart) {
    const size_t slash = name.rfind('/');
    put(345, name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  put(0, name);
  put(100, "0000600");  // Mode, user and group.
  put(108, "0000000");
  put(116, "0000000");
  put(124, absl::StrFormat("%011o", size));
  constexpr int64_t kMaxTime = 077777777777;
  put(136, absl::StrFormat("%011o", std::clamp<int64_t>(changed, 0, kMaxTime)));
  // The sum counts its own field as blanks.
  put(148, std::string(8, ' '));
  put(156, "0");  // A regular file.
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const unsigned char byte : header) sum += byte;
  put(148, absl::StrFormat("%06o", sum));
  header[154] = '\0';
  return header;
}

absl::Status CheckName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const size_t last = parts.back().size();
  if (last > 0 && last <= kMaxLastPart && name[0] != '/' &&
      (name.size() <= kMaxLastPart || name.size() - last - 1 <= kMaxFolders) &&
      !absl::c_linear_search(parts, "..") &&
      name.find('\0') == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return InvalidWords("msg-record-name-not-valid", QuotedText(name));
}

// A kind of secret: the text before it, and the secret. Matches bytes, so that
// invalid UTF-8 does not end a match.
struct SecretForm {
  const char* kind;
  LazyRE2 form;
};

SecretForm kForms[] = {
    // RFC 7468: labels of keys end in "PRIVATE KEY".
    {"private key",
     {R"((?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----))"
      R"((.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|.*))",
      RE2::Latin1}},
    // The beginning of this key was cut off.
    {"private key",
     {R"((?s)\A()([A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----))",
      RE2::Latin1}},
    {"authorization",
     {R"((?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+))"
      R"(([^\s"',;]+))",
      RE2::Latin1}},
    // Quoted values; in JSON each quote has a backslash.
    {"value",
     {R"((?i)([\w.-]{0,64}(?:token|passw(?:or)?d|passphrase|secret|credential|)"
      R"(api_?-?key|access_?-?key|private_?-?key)[\w.-]{0,64}\\?["']?\s*[=:]\s*)"
      R"(b?\\?["'])((?:[^"'\\\n]|\\[^"'])+))",
      RE2::Latin1}},
    {"value",
     {R"((?i)([\w.-]{0,64}(?:token|passw(?:or)?d|passphrase|secret|credential|)"
      R"(api_?-?key|access_?-?key|private_?-?key)[\w.-]{0,64}\\?["']?\s*[=:]\s*))"
      R"(([^\s"',;&\\\[\]{}()](?:[^\s"',;&\\]|\\[^"'])*))",
      RE2::Latin1}},
    // A program's option and its value, also in a list of words; not a path.
    {"value",
     {R"((?i)(--[\w-]{0,64}(?:token|passw|secret|api_?-?key)[\w-]{0,64}["',\\]{0,3})"
      R"(\s+["'\\]{0,2})([^\s"',;&\\/.\[-][^\s"',;&\\]*))",
      RE2::Latin1}},
    {"address",
     {R"((\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@]{1,128}:))"
      R"(([^\s/@]{1,256})@)",
      RE2::Latin1}},
    {"token",
     {R"((\b)(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|gh[pousr]_\w{20,}|)"
      R"(github_pat_\w{20,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|)"
      R"((?:AKIA|ASIA)[0-9A-Z]{16}))",
      RE2::Latin1}}};

std::string Without(SecretForm& form, absl::string_view text,
                    RemovedSecrets* removed) {
  std::string kept;
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece head;
  re2::StringPiece secret;
  const char* from = text.data();
  while (RE2::FindAndConsume(&rest, *form.form, &head, &secret)) {
    kept.append(from, static_cast<size_t>(secret.data() - from));
    kept.append("[removed]");
    from = secret.data() + secret.size();
    // Do not count a secret again that another form has removed.
    if (secret != "[removed]") ++(*removed)[form.kind];
  }
  kept.append(from, static_cast<size_t>(text.data() + text.size() - from));
  return kept;
}

constexpr char kTop[] = "clusterd-bundle/";
constexpr size_t kMaxNameBytes = 64;

// One part of a path that is safe in every file system and shell.
std::string FileName(absl::string_view text) {
  std::string name(text.substr(
      text.size() > kMaxNameBytes ? text.size() - kMaxNameBytes : 0));
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  if (!name.empty() && name[0] == '.') name[0] = '_';
  return name.empty() ? "_" : name;
}

std::string EndOf(const HostRecording::Run& run) {
  if (run.timed_out()) return "killed at its deadline";
  if (run.signal() != 0) return absl::StrCat("ended by signal ", run.signal());
  return absl::StrCat("status ", run.exit_status());
}

// The runs, as in a shell session.
std::string RunsText(const HostRecording& recording, absl::string_view tool) {
  std::string text;
  for (const HostRecording::Run& run : recording.runs()) {
    if (run.argv().empty() || !absl::EndsWith(run.argv(0), tool)) continue;
    absl::StrAppend(&text, "$ ", absl::StrJoin(run.argv(), " "), "\n",
                    run.standard_output(), run.standard_error(), "[",
                    EndOf(run), ", ", run.elapsed_us() / 1000, " ms",
                    run.output_cut() ? ", output cut" : "", "]\n\n");
  }
  return text;
}

}  // namespace

TarGz::TarGz() {
  begun_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                        kGzipWindow, /*memLevel=*/8, Z_DEFAULT_STRATEGY);
}

TarGz::~TarGz() { deflateEnd(&stream_); }

absl::Status TarGz::Write(absl::string_view bytes, int flush) {
  if (begun_ != Z_OK) {
    return ExhaustedWords("msg-record-no-memory");
  }
  char buffer[64 << 10];
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer);
    stream_.avail_out = sizeof(buffer);
    deflate(&stream_, flush);
    out_.append(buffer, sizeof(buffer) - stream_.avail_out);
  } while (stream_.avail_out == 0);
  return absl::OkStatus();
}

absl::Status TarGz::Add(absl::string_view name, absl::string_view text,
                        int64_t changed_at_s) {
  RETURN_IF_ERROR(CheckName(name));
  if (text.size() >= kMaxFileBytes) {
    return InvalidWords("msg-record-file-too-long", name, text.size());
  }
  RETURN_IF_ERROR(Write(HeaderOf(name, text.size(), changed_at_s), Z_NO_FLUSH));
  RETURN_IF_ERROR(Write(text, Z_NO_FLUSH));
  const size_t over = text.size() % kBlock;
  return Write(std::string(over == 0 ? 0 : kBlock - over, '\0'), Z_NO_FLUSH);
}

absl::StatusOr<std::string> TarGz::Finish() {
  RETURN_IF_ERROR(Write(std::string(2 * kBlock, '\0'), Z_FINISH));
  return std::move(out_);
}

std::string WithoutSecrets(absl::string_view text, RemovedSecrets* removed) {
  std::string kept(text);
  for (SecretForm& form : kForms) kept = Without(form, kept, removed);
  return kept;
}

Bundle::Bundle(std::string cluster, absl::Time made_at)
    : cluster_(std::move(cluster)), made_at_(made_at) {}

void Bundle::Add(const std::string& name, absl::string_view text,
                 std::string from, std::string cut, int64_t changed_at_s) {
  if (text.size() >
      kMaxBundleTextBytes - std::min(bytes_, kMaxBundleTextBytes)) {
    return AddGap(absl::StrCat(name, ": left out, the bundle has ",
                               kMaxBundleTextBytes >> 20, " MiB already"));
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
  Add("check.json", MessageJson(report, /*with_defaults=*/false),
      "check made for this bundle");
  std::ostringstream text;
  PrintReportTable(report, Style(), /*verbose=*/true, text);
  Add("check.txt", text.str(), "the same for people");
}

void Bundle::AddFacts(const HostFacts& facts) {
  Add(absl::StrCat(FileName(facts.host()), "/facts.json"),
      MessageJson(facts, /*with_defaults=*/false), "observed now");
}

void Bundle::AddHost(const LogsOfHost& host) {
  const std::string folder = FileName(host.host());
  if (!host.error().empty()) {
    AddGap(absl::StrCat(host.host(), ": ", host.error()));
  }
  if (host.has_recording()) {
    const HostRecording& recording = host.recording();
    AddFacts(recording.facts());
    const std::string cut =
        recording.complete() ? "" : "outputs are missing where it says so";
    Add(folder + "/hccn_tool.txt", RunsText(recording, "hccn_tool"),
        "runs of hccn_tool", cut);
    Add(folder + "/npu-smi.txt", RunsText(recording, "npu-smi"),
        "runs of npu-smi", cut);
    Add(folder + "/dmesg.txt", recording.kernel_log(), "the kernel's log",
        recording.kernel_log().size() < 128 << 10 ? "" : "its last 128 KiB");
    for (const std::string& gap : recording.gaps()) {
      AddGap(absl::StrCat(host.host(), ": ", gap));
    }
    if (!recording.msnpureport().empty()) {
      AddGap(absl::StrCat(host.host(), ": the devices' own logs: run ",
                          recording.msnpureport(),
                          " as root in an empty folder and send that, too"));
    }
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
    Add(absl::StrFormat(
            "%s/logs/%03d-%s", folder, number,
            FileName(file.path().substr(file.path().rfind('/') + 1))),
        content, absl::StrCat(file.path(), " of ", file.user()),
        whole ? ""
              : absl::StrCat("the last ", content.size(), " of ",
                             file.size_bytes(), " bytes"),
        file.changed_at_ms() / 1000);
  }
  Add(folder + "/logs.json", MessageJson(summary, /*with_defaults=*/false),
      "codes and files of logs");
}

std::string Bundle::Index() const {
  std::string text = absl::StrCat(
      "Bundle of cluster ", SafeText(cluster_, true), ", made at ",
      UtcText(made_at_), " by clusterctl ", kClusterdVersion, "\n\n");
  for (const auto& [name, entry] : entries_) {
    absl::StrAppend(&text, name, "\n    ", entry.text.size(), " bytes, from ",
                    SafeText(entry.from, true), "\n");
    if (!entry.cut.empty()) {
      absl::StrAppend(&text, "    cut: ", SafeText(entry.cut, true), "\n");
    }
    if (!entry.removed.empty()) {
      absl::StrAppend(&text, "    taken out: ", CountsList(entry.removed),
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
      removed_.empty() ? "none" : CountsList(removed_),
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
