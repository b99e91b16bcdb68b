#include "config/launch/rank_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_variables.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr size_t kMaxServerIdLength = 64;
constexpr uint32_t kMaxPort = 65535;

std::string Describe(const Value& value) {
  if (value.has_string_value()) return QuotedText(value.string_value());
  if (value.has_number_value()) {
    return absl::StrCat("number ", value.number_value());
  }
  if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
  if (value.has_list_value()) return "a list";
  return value.has_struct_value() ? "an object" : "null";
}

// What is wrong with the string that begins at `at`; moves behind it. A line
// break or a control character before its end is as if it had none.
std::string TakeString(absl::string_view text, size_t* at) {
  while (++*at < text.size() && static_cast<unsigned char>(text[*at]) >= ' ') {
    if (text[*at] == '"') {
      ++*at;
      return "";
    }
    if (text[*at] != '\\') continue;
    // Protobuf's parser takes any character behind a backslash.
    if (!absl::StrContains(R"("\/bfnrtu)", text.substr(++*at, 1))) {
      return "a backslash that does not begin an escape of JSON";
    }
  }
  return "a string without its closing double quote";
}

size_t EndOfWord(absl::string_view text, size_t at) {
  while (at < text.size() && (absl::ascii_isalnum(text[at]) ||
                              text[at] == '_' || text[at] == '$')) {
    ++at;
  }
  return at;
}

// What is wrong with the token at `at`; moves behind it.
std::string TakeToken(absl::string_view text, size_t* at) {
  const char next = text[*at];
  if (next == '"') return TakeString(text, at);
  if (next == '\v' || next == '\f') return "a form feed or vertical tab";
  if (next == '#' || next == '/') return "JSON has no comments";
  if (next == '\'') return "a single quote, expected double quotes";
  if (absl::ascii_isalpha(next) || next == '_' || next == '$') {
    const size_t begin = *at;
    *at = EndOfWord(text, begin);
    const absl::string_view word = text.substr(begin, *at - begin);
    if (word == "true" || word == "false" || word == "null") return "";
    return absl::StrCat(word.substr(0, 40), ", expected it in double quotes");
  }
  if (next == ',') {
    const size_t behind = text.find_first_not_of(" \t\r\n", *at + 1);
    if (behind != text.npos && (text[behind] == '}' || text[behind] == ']')) {
      return "a comma behind the last entry, expected none";
    }
  }
  // The exponent of a number is no word.
  *at = absl::ascii_isdigit(next) ? EndOfWord(text, *at) : *at + 1;
  return "";
}

size_t LineNumberOf(absl::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + at, '\n');
}

std::string LineOf(absl::string_view text, size_t at) {
  return absl::StrCat("line ", LineNumberOf(text, at), ": ");
}

// Counts bytes, from 1.
size_t ColumnOf(absl::string_view text, size_t at) {
  return at - text.substr(0, at).rfind('\n');
}

// "expected } for the { at line 2: column 5"; ASCII has it two behind the {.
std::string ExpectedFor(absl::string_view text, size_t open) {
  return absl::StrCat("expected ", std::string(1, text[open] + 2), " for the ",
                      text.substr(open, 1), " at ", LineOf(text, open),
                      "column ", ColumnOf(text, open));
}

// Protobuf's JSON parser takes single quotes, bare keys, trailing commas and
// comments; RFC 8259, and so HCCL's parser (nlohmann/json), does not. The first
// such mistake, or what keeps the text from beginning with an object: "line 4:
// JSON has no comments"; empty: none, and `at`, from 0 on, is the object's end.
// REQUIRES: the text is not blank.
std::string LenientJsonMistake(absl::string_view text, size_t& at) {
  std::vector<size_t> open;  // Where each bracket stands.
  bool has_value = false;
  while (at < text.size()) {
    const size_t begin = at;
    const char next = text[at];
    std::string mistake = TakeToken(text, &at);
    if (!mistake.empty()) return LineOf(text, begin) + mistake;
    if (absl::ascii_isspace(next)) continue;
    const bool is_value = next == '"' || absl::ascii_isalnum(next);
    const bool closes = next == '}' || next == ']';
    if (open.empty() && next != '{') {
      mistake = "expected { first";
    } else if (has_value && (is_value || next == '{' || next == '[')) {
      mistake = "a comma or colon is missing in front of it";
    } else if (closes && next != text[open.back()] + 2) {
      mistake = absl::StrCat("column ", ColumnOf(text, begin), " has ",
                             text.substr(begin, 1), ", ",
                             ExpectedFor(text, open.back()));
    }
    if (!mistake.empty()) return LineOf(text, begin) + mistake;
    if (next == '{' || next == '[') open.push_back(begin);
    if (closes) open.pop_back();
    has_value = is_value || closes;
    if (open.empty()) return "";
  }
  return absl::StrCat(LineOf(text, text.size()), "the text ends, ",
                      ExpectedFor(text, open.back()));
}

// 0.0.0.0 is what tools print where no address is set.
bool IsIpAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)] = {};
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return text != "0.0.0.0";
  return inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

// Files that go by the same name, by a key that HCCL's have not: MindIE's
// DeepSeek guide, https://github.com/vllm-project/vllm-ascend/issues/2498,
// MindSpore's tutorial of several clusters.
constexpr std::pair<const char*, const char*> kForeignFormats[] = {
    {"server_group_list", "MindIE's global rank table (server_group_list)"},
    {"prefill_device_list",
     "vLLM Ascend's file of prefill and decode (prefill_device_list)"},
    {"decode_device_list",
     "vLLM Ascend's file of prefill and decode (decode_device_list)"},
    {"cluster_list", "MindSpore's list of clusters (cluster_list)"},
};

// nullptr: there is none.
const Value* Find(const Struct& object, const std::string& key) {
  const auto found = object.fields().find(key);
  return found == object.fields().end() ? nullptr : &found->second;
}

// An object of the file and its path, such as "server_list[0].".
struct Object {
  const Struct* fields;
  std::string path;
};

class Reader {
 public:
  RankTable Read(const Struct& fields) {
    const Object root = {&fields, ""};
    RankTable table;
    Text(root, "version", kRequired, &table.version);
    is_super_pod_ = table.version == "1.2";
    Text(root, "status", kRequired, &table.status);
    ForEach(root, "server_list", [&](const Object& server) {
      table.servers.push_back(ReadServer(server));
    });
    if (is_super_pod_) ReadSuperPods(root, &table);
    // The relations only mean something once the parts could be read.
    if (mistakes_.empty()) {
      CheckServers(root, table);
      CheckRanks(table);
      CheckDeviceIps(table);
      if (is_super_pod_) CheckSuperPods(table);
    }
    if (!mistakes_.empty()) NameBridges(table);
    return table;
  }

  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  // Paths of what must stand only once.
  using Seen = std::map<std::string, std::string>;

  static constexpr bool kRequired = true;
  static constexpr bool kOptional = false;

  template <typename... Parts>
  void Wrong(absl::string_view path, const Parts&... parts) {
    mistakes_.push_back(absl::StrCat(path, ": ", parts...));
  }

  // nullptr if there is none; a mistake if that is one.
  const Value* Member(const Object& object, const std::string& key,
                      bool required) {
    const Value* const found = Find(*object.fields, key);
    if (found == nullptr && required) {
      Wrong(object.path + key, "is missing in the rank table (EI0017)",
            key == "super_device_id" ? "; version 1.2 needs the SDID that "
                                       "npu-smi info -t spod-info tells"
                                     : "");
    }
    return found;
  }

  // A JSON string; anything else counts as missing, as it does for HCCL.
  bool Text(const Object& object, const std::string& key, bool required,
            std::string* out) {
    const Value* value = Member(object, key, required);
    if (value == nullptr) return false;
    if (value->kind_case() != Value::kStringValue) {
      Wrong(object.path + key, Describe(*value),
            ", expected a JSON string (EI0017)");
      return false;
    }
    *out = value->string_value();
    return true;
  }

  bool Number(const Object& object, const std::string& key, uint32_t* out) {
    std::string text;
    if (!Text(object, key, kRequired, &text)) return false;
    // HCCL takes no sign and no blank.
    if (ParseDigits(text, out)) return true;
    Wrong(object.path + key, QuotedText(text),
          ", expected a decimal number (EI0014)");
    return false;
  }

  // Calls `each` for the objects of a list that has at least one entry.
  template <typename Each>
  void ForEach(const Object& object, const std::string& key, Each each) {
    const Value* value = Member(object, key, kRequired);
    if (value == nullptr) return;
    if (value->list_value().values().empty()) {
      return Wrong(object.path + key,
                   value->has_list_value() ? "an empty list" : Describe(*value),
                   ", expected a list that is not empty (EI0014)");
    }
    int i = 0;
    for (const Value& item : value->list_value().values()) {
      const std::string path = absl::StrCat(object.path, key, "[", i++, "]");
      if (item.has_struct_value()) {
        each(Object{&item.struct_value(), absl::StrCat(path, ".")});
      } else {
        Wrong(path, Describe(item), ", expected an object (EI0014)");
      }
    }
  }

  void Once(Seen* seen, const std::string& what, const std::string& path,
            absl::string_view code, absl::string_view more = "") {
    const auto [first, is_new] = seen->emplace(what, path);
    if (is_new) return;
    Wrong(path, QuotedText(what), " stands at ", first->second,
          " already, expected every one once (", code, ")", more);
  }

  void CheckPorts(const Object& object) {
    std::vector<const char*> keys = {"host_port", "backup_device_port"};
    // HCCL reads the second where the first is (GetSingleDevicePort).
    if (Find(*object.fields, "device_port") != nullptr) {
      keys.insert(keys.end(), {"device_port", "device_vnic_port"});
    }
    for (const char* key : keys) {
      std::string text;
      uint32_t port = 0;
      if (!Text(object, key, kOptional, &text)) continue;
      if (ParseDigits(text, &port) && port > 0 && port <= kMaxPort) continue;
      Wrong(object.path + key, QuotedText(text),
            ", expected a port from 1 to 65535 (EI0014)");
    }
  }

  RankTableServer ReadServer(const Object& server) {
    RankTableServer read;
    if (Text(server, "server_id", kRequired, &read.server_id) &&
        (read.server_id.empty() ||
         read.server_id.size() > kMaxServerIdLength)) {
      Wrong(server.path + "server_id", QuotedText(read.server_id),
            ", expected 1 to 64 characters (EI0014)");
    }
    if (Text(server, "host_ip", kOptional, &read.host_ip)) {
      CheckIpAddress(read.host_ip, server.path + "host_ip");
    }
    CheckPorts(server);
    Seen ids;
    ForEach(server, "device", [&](const Object& device) {
      read.devices.push_back(ReadDevice(device, &ids));
    });
    return read;
  }

  RankTableDevice ReadDevice(const Object& device, Seen* ids) {
    RankTableDevice read;
    if (Number(device, "device_id", &read.device_id)) {
      Once(ids, absl::StrCat(read.device_id), device.path + "device_id",
           "EI0014",
           "; HCCL refuses two ranks with one device_ip, whatever device_port "
           "they have");
    }
    Number(device, "rank_id", &read.rank_id);
    CheckPorts(device);
    read.device_ips = Ips(device, "device_ip", &device_ips_);
    if (is_super_pod_) {
      read.backup_device_ips = Ips(device, "backup_device_ip", &backup_ips_);
      Number(device, "super_device_id", &read.super_device_id);
    }
    return read;
  }

  // As HCCL splits them (SplitString): nothing stands behind a last comma.
  std::vector<std::string> Ips(const Object& device, const std::string& key,
                               Seen* seen) {
    std::string text;
    if (!Text(device, key, kOptional, &text) || text.empty()) return {};
    std::vector<std::string> ips =
        absl::StrSplit(absl::StripSuffix(text, ","), ',');
    for (const std::string& ip : ips) {
      if (!CheckIpAddress(ip, device.path + key)) continue;
      Once(seen, ip, device.path + key, "EI0014");
    }
    return ips;
  }

  bool CheckIpAddress(const std::string& text, const std::string& path) {
    if (IsIpAddress(text)) return true;
    Wrong(path, QuotedText(text),
          IsPlaceholder(text) || text == "0.0.0.0" ||
                  text.find_first_of("*?[]$") != text.npos ||
                  text.find_first_of("0123456789:") == text.npos
              ? " is a placeholder: what made the file found no address"
              : "",
          ", expected an IP address (EI0014)");
    return false;
  }

  void ReadSuperPods(const Object& root, RankTable* table) {
    Seen ids;
    ForEach(root, "super_pod_list", [&](const Object& pod) {
      RankTableSuperPod read;
      if (Text(pod, "super_pod_id", kRequired, &read.super_pod_id)) {
        const std::string path = pod.path + "super_pod_id";
        if (read.super_pod_id.empty()) {
          Wrong(path, "\"\", expected a name (EI0014)");
        }
        Once(&ids, read.super_pod_id, path, "EI0014");
      }
      ForEach(pod, "server_list", [&](const Object& server) {
        std::string id;
        if (Text(server, "server_id", kRequired, &id)) {
          read.server_ids.push_back(id);
        }
      });
      table->super_pods.push_back(std::move(read));
    });
  }

  void CheckRanks(const RankTable& table) {
    std::vector<uint32_t> ranks;
    for (const RankTableServer& server : table.servers) {
      for (const RankTableDevice& device : server.devices) {
        ranks.push_back(device.rank_id);
      }
    }
    std::sort(ranks.begin(), ranks.end());
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == i) continue;
      return Wrong(
          "rank_id",
          i > 0 && ranks[i] == ranks[i - 1] ? "twice " : "out of turn ",
          ranks[i], ", expected 0 to ", ranks.size() - 1,
          ", each once (EI0014)");
    }
  }

  void CheckServers(const Object& root, const RankTable& table) {
    Seen ids;
    for (size_t i = 0; i < table.servers.size(); ++i) {
      Once(&ids, table.servers[i].server_id,
           absl::StrCat("server_list[", i, "].server_id"), "EI0014");
      if (table.servers[i].devices.size() != table.servers[0].devices.size()) {
        Wrong(absl::StrCat("server_list[", i, "].device"),
              table.servers[i].devices.size(), " devices, expected ",
              table.servers[0].devices.size(), " as on server_list[0]");
      }
    }
    std::string text;
    uint32_t count = 0;
    if (!Text(root, "server_count", kOptional, &text)) return;
    if (!ParseDigits(text, &count) || count != table.servers.size()) {
      Wrong("server_count", QuotedText(text), ", expected \"",
            table.servers.size(),
            "\", the number of servers listed "
            "(EI0014)");
    }
  }

  void CheckDeviceIps(const RankTable& table) {
    size_t expected = 0;
    for (size_t i = 0; i < table.servers.size(); ++i) {
      for (size_t j = 0; j < table.servers[i].devices.size(); ++j) {
        const auto& ips = table.servers[i].devices[j].device_ips;
        const std::string path =
            absl::StrCat("server_list[", i, "].device[", j, "].device_ip");
        if (ips.empty() && (is_super_pod_ ? table.super_pods.size()
                                          : table.servers.size()) > 1) {
          Wrong(path, "is not set, expected an address: the table has more ",
                "than one ", is_super_pod_ ? "super pod" : "server",
                " (EI0014)");
          continue;
        }
        // HCCL counts one that is left out, too (GetSingleDeviceIp).
        const size_t count = std::max<size_t>(ips.size(), 1);
        if (expected == 0) expected = count;
        if (count == expected) continue;
        return Wrong(path, count, " addresses, expected ", expected,
                     " as on the first device (EI0014)");
      }
    }
  }

  void CheckSuperPods(const RankTable& table) {
    absl::flat_hash_map<std::string, std::string> pod_of;
    absl::flat_hash_set<absl::string_view> listed;
    for (const RankTableServer& server : table.servers) {
      listed.insert(server.server_id);
    }
    for (const RankTableSuperPod& pod : table.super_pods) {
      for (const std::string& server : pod.server_ids) {
        pod_of[server] = pod.super_pod_id;
        if (!listed.contains(server)) {
          Wrong("super_pod_list", QuotedText(server),
                " is not in server_list, expected a server of the "
                "table (EI0014)");
        }
      }
    }
    Seen seen;
    for (size_t i = 0; i < table.servers.size(); ++i) {
      const RankTableServer& server = table.servers[i];
      const auto pod = pod_of.find(server.server_id);
      if (pod == pod_of.end()) {
        Wrong(absl::StrCat("server_list[", i, "]"),
              QuotedText(server.server_id), " is in no super pod (EI0014)");
        continue;
      }
      for (size_t j = 0; j < server.devices.size(); ++j) {
        Once(&seen,
             absl::StrCat(pod->second, "/", server.devices[j].super_device_id),
             absl::StrCat("server_list[", i, "].device[", j,
                          "].super_device_id"),
             "EI0014");
      }
    }
  }

  void NameBridges(const RankTable& table) {
    for (size_t i = 0; i < table.servers.size(); ++i) {
      const std::string& id = table.servers[i].server_id;
      if (!IsOfDockerBridge(id)) continue;
      Wrong(absl::StrCat("server_list[", i, "].server_id"), QuotedText(id),
            " is an address of Docker's bridge, expected the host's: start "
            "containers with --net=host");
    }
  }

  bool is_super_pod_ = false;
  Seen device_ips_;
  Seen backup_ips_;
  std::vector<std::string> mistakes_;
};

// Unimplemented for another kind of table.
absl::Status CheckVersion(const Struct& root) {
  const Value* const version = Find(root, "version");
  const Value* const status = Find(root, "status");
  if (version == nullptr && Find(root, "group_list") != nullptr) {
    return absl::UnimplementedError(
        "rank table: no \"version\", expected \"1.0\" or \"1.2\"; files of "
        "the old second template have none and are not read");
  }
  if (version == nullptr && status != nullptr && root.fields().size() == 1 &&
      status->string_value() != "completed") {
    return Unimplemented("rank table: status ", Describe(*status),
                         " and nothing more yet, expected a table");
  }
  if (version != nullptr && version->has_string_value() &&
      version->string_value() != "1.0" && version->string_value() != "1.2") {
    return Unimplemented(
        "rank table: version ", QuotedText(version->string_value()),
        ", expected \"1.0\" or \"1.2\"; 1.1 (heterogeneous) and "
        "2.0 (Ascend 950) are not read");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckUtf8(absl::string_view file, absl::string_view text) {
  const std::string valid = ValidUtf8(text);
  const size_t at = absl::c_mismatch(text, valid).first - text.begin();
  if (at == text.size()) return absl::OkStatus();
  const bool is_utf16 =
      absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff");
  return InvalidArgument(file, ": ", LineOf(text, at), "byte ",
                         ColumnOf(text, at), " is not UTF-8",
                         is_utf16 ? ": the text is UTF-16" : "");
}

bool IsOfDockerBridge(const std::string& server_id) {
  return absl::StartsWith(server_id, "172.17.") && IsIpAddress(server_id);
}

absl::StatusOr<RankTable> ParseRankTable(absl::string_view json) {
  if (json.size() > kMaxRankTableBytes) {
    return InvalidArgument("rank table: ", json.size(),
                           " bytes, expected at most ", kMaxRankTableBytes);
  }
  absl::ConsumePrefix(&json, "\xef\xbb\xbf");  // HCCL's parser skips it too.
  Struct root;
  size_t end = 0;
  std::string mistake = absl::StripAsciiWhitespace(json).empty()
                            ? "the text is empty"
                            : LenientJsonMistake(json, end);
  if (mistake.empty()) {
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(json.data(), end), &root);
    // Behind its first line stands a piece of the text.
    const std::string why(parsed.message());
    if (!parsed.ok()) mistake = PrintableText(why.substr(0, why.find('\n')));
  }
  if (!mistake.empty()) {
    return InvalidArgument("rank table: not a JSON object (EI0004): ", mistake);
  }
  for (const auto& [key, what] : kForeignFormats) {
    if (root.fields().count(key) == 0) continue;
    return InvalidArgument("rank table: this is ", what,
                           ", expected HCCL's own, version 1.0 or 1.2, with "
                           "server_list (EI0004)");
  }
  RETURN_IF_ERROR(CheckVersion(root));
  Reader reader;
  RankTable table = reader.Read(root);
  end = json.find_first_not_of(" \t\r\n", end);
  if (end != json.npos) table.behind_line = LineNumberOf(json, end);
  std::vector<std::string> mistakes = reader.mistakes();
  if (mistakes.empty()) return table;
  if (end != json.npos) {
    mistakes.push_back(LineOf(json, end) + "text behind the last }");
  }
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

}  // namespace clusterd
