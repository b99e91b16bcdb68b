#include "daemon/host/recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "daemon/host/recording/address_text.h"
#include "daemon/host/recording/device_state_text.h"
#include "daemon/host/recording/name_map.h"
#include "daemon/host/recording/tool_text.h"
#include "daemon/host/recording/valid_utf8.h"

namespace clusterd {
namespace {

// hccn_tool cuts LLDP answers here and adds a newline.
constexpr size_t kLldpCutBytes = 1999;

// What an hccn_tool command line asks, of either generation.
struct Query {
  std::optional<uint32_t> device;
  std::string command;  // Without its dash, e.g. "net_health".
  std::string mode;     // "get", "set" or "".
};

Query QueryOf(const std::vector<std::string>& argv) {
  Query query;
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    if (word == "-i" && i + 1 < argv.size()) {
      uint32_t id = 0;
      if (absl::SimpleAtoi(argv[++i], &id)) query.device = id;
    } else if (word == "-u" || word == "-p" || word == "-d") {
      ++i;
    } else if (word == "-g" || word == "-s") {
      query.mode = word == "-g" ? "get" : "set";
    } else if (query.command.empty() && word != "-a" &&
               absl::StartsWith(word, "-")) {
      query.command = word.substr(1);
    }
  }
  return query;
}

// The group of the published captures that the command belongs to.
std::string GroupOf(const Query& query) {
  static const auto* const kGroups = new std::map<std::string, std::string>{
      {"ip", "ip-get"},
      {"gateway", "gateway"},
      {"link", "link"},
      {"netdetect", "netdetect"},
      {"lldp", "lldp"},
      {"tls", "tls"},
      {"net_health", "net_health"},
      {"ping", "ping"},
      {"hccs_ping", "ping"},
  };
  const auto group = kGroups->find(query.command);
  return group == kGroups->end() ? "misc-get" : group->second;
}

class Anonymiser {
 public:
  Anonymiser(const HostFacts& facts, const std::vector<RecordedRun>& runs,
             const AddressMap& addresses)
      : addresses_(addresses) {
    names_.Add("host", facts.host());
    names_.Add("host", facts.identity().hostname().value());
    for (const RecordedRun& run : runs) {
      CollectSwitchNames(run.result.standard_output, &names_);
    }
  }

  std::string Argument(absl::string_view text) const {
    return ValidUtf8(ReplaceAddresses(text, addresses_));
  }
  std::string Text(absl::string_view text) {
    return Argument(names_.Replace(HideToolText(text, &names_)));
  }
  google::protobuf::Value Conf(const std::optional<std::string>& conf) {
    google::protobuf::Value value;
    if (conf.has_value()) {
      value.set_string_value(Argument(names_.Replace(HideConfComments(*conf))));
    } else {
      value.set_null_value(google::protobuf::NULL_VALUE);
    }
    return value;
  }

 private:
  const AddressMap& addresses_;
  NameMap names_;
};

google::protobuf::Value ExitOf(const CommandResult& result) {
  google::protobuf::Value exit;
  if (result.left_running) {
    exit.set_null_value(google::protobuf::NULL_VALUE);
  } else {
    exit.set_number_value(result.signal != 0 ? -result.signal
                                             : result.exit_status);
  }
  return exit;
}

std::string NoteOf(const RecordedRun& run, const RunRecord& record) {
  std::vector<std::string> notes = {
      "recorded by clusterd on a real host, "
      "addresses and names replaced"};
  const CommandResult& result = run.result;
  if (result.left_running) notes.push_back("could not be killed");
  if (result.output_cut) {
    notes.push_back(absl::StrCat("clusterd kept ", kMaxStreamBytes,
                                 " bytes of a longer stream"));
  }
  if (result.standard_output.size() >= kLldpCutBytes &&
      result.standard_output.size() != record.stdout().size()) {
    notes.push_back(absl::StrCat("standard output was ",
                                 result.standard_output.size(),
                                 " bytes before that"));
  }
  if (ValidUtf8(result.standard_output) != result.standard_output ||
      ValidUtf8(result.standard_error) != result.standard_error) {
    notes.push_back("bytes that are not UTF-8 were replaced");
  }
  return absl::StrJoin(notes, "; ");
}

std::string BuildOf(const HostFacts& facts) {
  std::string build = "a real host's";
  const VersionFacts& versions = facts.versions();
  if (versions.driver().has_value()) {
    absl::StrAppend(&build, ", driver ", versions.driver().value());
  }
  if (versions.firmware().has_value()) {
    absl::StrAppend(&build, ", firmware ", versions.firmware().value());
  }
  return ValidUtf8(build);
}

// The facts that make a device's state, without the site's addresses.
DeviceFacts Hidden(const DeviceFacts& device, const Anonymiser& anonymiser) {
  DeviceFacts hidden = device;
  if (hidden.address().has_value()) {
    for (Ipv4Setting& setting :
         *hidden.mutable_address()->mutable_value()->mutable_settings()) {
      setting.set_address(anonymiser.Argument(setting.address()));
      setting.set_netmask(anonymiser.Argument(setting.netmask()));
    }
  }
  for (TextFact* address :
       {hidden.mutable_gateway(), hidden.mutable_detect_address()}) {
    if (address->has_value()) {
      address->set_value(anonymiser.Argument(address->value()));
    }
  }
  return hidden;
}

// The state of every device in the words of a record's precondition.
std::map<uint32_t, std::string> StatesOf(const HostFacts& facts,
                                         const std::vector<RecordedRun>& runs,
                                         Anonymiser* anonymiser) {
  std::map<uint32_t, std::string> lldp;
  for (const RecordedRun& run : runs) {
    const Query query = QueryOf(run.command.argv);
    if (query.command == "lldp" && query.device.has_value() &&
        run.result.exit_status == 0) {
      lldp[*query.device] = anonymiser->Text(run.result.standard_output);
    }
  }
  std::map<uint32_t, std::string> states;
  for (const DeviceFacts& device : facts.devices()) {
    states[device.id()] =
        DeviceStateText(Hidden(device, *anonymiser), lldp[device.id()]);
  }
  return states;
}

RunRecord MakeRecord(const RecordedRun& run, const std::string& state,
                     Anonymiser* anonymiser) {
  RunRecord record;
  const Query query = QueryOf(run.command.argv);
  record.set_name(
      absl::StrCat("recorded-", query.device.has_value() ? *query.device : 0,
                   "-", anonymiser->Argument(query.command),
                   query.mode.empty() ? "" : absl::StrCat("-", query.mode)));
  record.set_group(GroupOf(query));
  record.add_argv("hccn_tool");
  for (size_t i = 1; i < run.command.argv.size(); ++i) {
    record.add_argv(anonymiser->Argument(run.command.argv[i]));
  }
  record.set_precondition(state);
  record.set_stdout(anonymiser->Text(run.result.standard_output));
  record.set_stderr(anonymiser->Text(run.result.standard_error));
  *record.mutable_exit() = ExitOf(run.result);
  *record.mutable_hccn_conf_before() = anonymiser->Conf(run.hccn_conf_before);
  *record.mutable_hccn_conf_after() = anonymiser->Conf(run.hccn_conf_after);
  record.mutable_device_changes();
  record.set_seconds(
      std::round(absl::ToDoubleSeconds(run.result.elapsed) * 1000) / 1000);
  record.set_timed_out(run.result.timed_out);
  record.set_note(NoteOf(run, record));
  return record;
}

// "x" and "x" become "x" and "x-2".
void MakeNamesUnique(std::vector<RunRecord>* records) {
  std::map<std::string, int> seen;
  for (RunRecord& record : *records) {
    const int count = ++seen[record.name()];
    if (count > 1) record.set_name(absl::StrCat(record.name(), "-", count));
  }
}

absl::Status WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::UnavailableError(std::strerror(errno));
    text.remove_prefix(written);
  }
  if (fsync(fd) != 0) return absl::UnavailableError(std::strerror(errno));
  return absl::OkStatus();
}

}  // namespace

std::vector<RunRecord> MakeRecords(const std::vector<RecordedRun>& runs,
                                   const HostFacts& facts,
                                   const AddressMap& addresses) {
  Anonymiser anonymiser(facts, runs, addresses);
  std::map<uint32_t, std::string> states = StatesOf(facts, runs, &anonymiser);
  const std::string product = NearestProduct(facts);
  const std::string build = BuildOf(facts);
  std::vector<std::pair<std::optional<uint32_t>, RunRecord>> ordered;
  for (const RecordedRun& run : runs) {
    const std::optional<uint32_t> device = QueryOf(run.command.argv).device;
    RunRecord record =
        MakeRecord(run, device.has_value() ? states[*device] : "", &anonymiser);
    record.set_product(product);
    record.set_build(build);
    ordered.emplace_back(device, std::move(record));
  }
  std::stable_sort(
      ordered.begin(), ordered.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RunRecord> records;
  for (auto& [device, record] : ordered) records.push_back(std::move(record));
  MakeNamesUnique(&records);
  return records;
}

absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string text;
  for (const RunRecord& record : records) {
    std::string line;
    const auto status =
        google::protobuf::util::MessageToJsonString(record, &line, options);
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("record \"", record.name(), "\": ", status.ToString()));
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

absl::StatusOr<std::vector<RunRecord>> ParseRecords(absl::string_view text) {
  std::vector<RunRecord> records;
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    RunRecord record;
    const auto status =
        google::protobuf::util::JsonStringToMessage(std::string(line), &record);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number,
                       ": no record of a run: ", status.message().ToString()));
    }
    records.push_back(std::move(record));
  }
  return records;
}

absl::Status WriteNewFile(const std::string& path, absl::string_view text) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
           S_IRUSR | S_IWUSR);
  if (fd < 0) {
    const int error = errno;
    const std::string message = absl::StrCat(path, ": ", std::strerror(error));
    switch (error) {
      case EEXIST:
        return absl::FailedPreconditionError(
            absl::StrCat(path, ": exists, expected the name of a new file"));
      case EACCES:
      case EPERM:
      case EROFS:
        return absl::PermissionDeniedError(message);
      case ENOENT:
      case ENOTDIR:
        return absl::NotFoundError(message);
      default:
        return absl::UnavailableError(message);
    }
  }
  absl::Status status = WriteAll(fd, text);
  close(fd);
  if (status.ok()) return status;
  unlink(path.c_str());
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace clusterd
