#include "config/launch/rank_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_variables.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr size_t kMaxServerIdLength = 64;
constexpr uint32_t kMaxPort = 65535;

FindingValue Describe(const Value& value) {
  if (value.has_string_value()) {
    return ToFindingValue(QuotedText(value.string_value()));
  }
  if (value.has_number_value()) {
    return Worded("job-say-number", absl::StrCat(value.number_value()));
  }
  if (value.has_list_value()) return Worded("job-say-a-list");
  if (value.has_struct_value()) return Worded("job-say-an-object");
  return ToFindingValue(!value.has_bool_value() ? "null"
                        : value.bool_value()    ? "true"
                                                : "false");
}

// The words for the mistake in the string at `at`, which is moved past it. A
// line break or a control character inside means that it has no end.
absl::string_view TakeString(absl::string_view text, size_t* at) {
  while (++*at < text.size() && static_cast<unsigned char>(text[*at]) >= ' ') {
    if (text[*at] == '"') {
      ++*at;
      return "";
    }
    if (text[*at] != '\\') continue;
    // Protobuf's parser accepts any character after a backslash.
    if (!absl::StrContains(R"("\/bfnrtu)", text.substr(++*at, 1))) {
      return "job-say-json-escape";
    }
  }
  return "job-say-json-open-text";
}

size_t EndOfWord(absl::string_view text, size_t at) {
  while (at < text.size() && (absl::ascii_isalnum(text[at]) ||
                              text[at] == '_' || text[at] == '$')) {
    ++at;
  }
  return at;
}

// The words for the mistake in the token at `at`, which is moved past it.
absl::string_view TakeToken(absl::string_view text, size_t* at) {
  const char next = text[*at];
  if (next == '"') return TakeString(text, at);
  if (next == '\v' || next == '\f') return "job-say-json-form-feed";
  if (next == '#' || next == '/') return "job-say-json-comment";
  if (next == '\'') return "job-say-json-quote";
  if (absl::ascii_isalpha(next) || next == '_' || next == '$') {
    const size_t begin = *at;
    *at = EndOfWord(text, begin);
    const absl::string_view word = text.substr(begin, *at - begin);
    if (word == "true" || word == "false" || word == "null") return "";
    return "job-say-json-word";
  }
  if (next == ',') {
    const size_t behind = text.find_first_not_of(" \t\r\n", *at + 1);
    if (behind != text.npos && (text[behind] == '}' || text[behind] == ']')) {
      return "job-say-json-comma";
    }
  }
  // The exponent of a number is not a word.
  *at = absl::ascii_isdigit(next) ? EndOfWord(text, *at) : *at + 1;
  return "";
}

size_t LineNumberOf(absl::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + at, '\n');
}

// Counts bytes, from 1.
size_t ColumnOf(absl::string_view text, size_t at) {
  return at - text.substr(0, at).rfind('\n');
}

// "expected } for the { at line 2: column 5"; in ASCII, } is two after {.
FindingValue ExpectedFor(absl::string_view text, size_t open) {
  return Worded("job-say-json-expected", std::string(1, text[open] + 2),
                text.substr(open, 1), LineNumberOf(text, open),
                ColumnOf(text, open));
}

// Protobuf's JSON parser accepts single quotes, bare keys, trailing commas and
// comments; RFC 8259, and so HCCL's parser (nlohmann/json), does not. Returns
// the first such mistake, or why the text does not begin with an object: "line
// 4: JSON has no comments". If there is none, `at`, from 0 on, is the object's
// end. REQUIRES: the text is not blank.
std::optional<FindingValue> LenientJsonMistake(absl::string_view text,
                                               size_t& at) {
  const auto at_line = [&text](size_t place, const FindingValue& mistake) {
    return Worded("job-say-at-line", LineNumberOf(text, place), mistake);
  };
  std::vector<size_t> open;  // Positions of brackets.
  bool has_value = false;
  while (at < text.size()) {
    const size_t begin = at;
    const char next = text[at];
    const absl::string_view mistake = TakeToken(text, &at);
    if (!mistake.empty()) {
      const size_t length = std::min<size_t>(at - begin, 40);
      return at_line(
          begin, Worded(mistake, PrintableText(text.substr(begin, length))));
    }
    if (absl::ascii_isspace(next)) continue;
    const bool is_value = next == '"' || absl::ascii_isalnum(next);
    const bool closes = next == '}' || next == ']';
    if (open.empty() && next != '{') {
      return at_line(begin, Worded("job-say-json-first", "{"));
    }
    if (has_value && (is_value || next == '{' || next == '[')) {
      return at_line(begin, Worded("job-say-json-separator"));
    }
    if (closes && next != text[open.back()] + 2) {
      return at_line(
          begin, Worded("job-say-json-bracket", ColumnOf(text, begin),
                        text.substr(begin, 1), ExpectedFor(text, open.back())));
    }
    if (next == '{' || next == '[') open.push_back(begin);
    if (closes) open.pop_back();
    has_value = is_value || closes;
    if (open.empty()) return std::nullopt;
  }
  return at_line(text.size(),
                 Worded("job-say-json-end", ExpectedFor(text, open.back())));
}

// 0.0.0.0 is what tools print if no address is set.
bool IsIpAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)] = {};
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return text != "0.0.0.0";
  return inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

// Other files of the same name, by a key that HCCL's do not have: MindIE's
// DeepSeek guide, https://github.com/vllm-project/vllm-ascend/issues/2498,
// MindSpore's tutorial of several clusters.
constexpr std::pair<const char*, const char*> kForeignFormats[] = {
    {"server_group_list", "job-say-of-mindie"},
    {"prefill_device_list", "job-say-of-prefill"},
    {"decode_device_list", "job-say-of-decode"},
    {"cluster_list", "job-say-of-clusters"},
};

// nullptr if there is none.
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
    // Relations are judged only if the parts could be read.
    if (mistakes_.empty()) {
      CheckServers(root, table);
      CheckRanks(table);
      CheckDeviceIps(table);
      if (is_super_pod_) CheckSuperPods(table);
    }
    if (!mistakes_.empty()) NameBridges(table);
    return table;
  }

  const std::vector<FindingValue>& mistakes() const { return mistakes_; }

 private:
  // Paths of values that must be unique.
  using Seen = std::map<std::string, std::string>;

  static constexpr bool kRequired = true;
  static constexpr bool kOptional = false;

  template <typename... Values>
  void Wrong(absl::string_view row, const Values&... values) {
    mistakes_.push_back(Worded(row, values...));
  }

  // nullptr if it is missing; that is a mistake if it is required.
  const Value* Member(const Object& object, const std::string& key,
                      bool required) {
    const Value* const found = Find(*object.fields, key);
    if (found == nullptr && required) {
      Wrong(key == "super_device_id" ? "msg-job-table-sdid-missing"
                                     : "msg-job-table-key-missing",
            object.path + key);
    }
    return found;
  }

  // A JSON string; any other type counts as missing, as it does for HCCL.
  bool Text(const Object& object, const std::string& key, bool required,
            std::string* out) {
    const Value* value = Member(object, key, required);
    if (value == nullptr) return false;
    if (value->kind_case() != Value::kStringValue) {
      Wrong("msg-job-table-not-text", object.path + key, Describe(*value));
      return false;
    }
    *out = value->string_value();
    return true;
  }

  bool Number(const Object& object, const std::string& key, uint32_t* out) {
    std::string text;
    if (!Text(object, key, kRequired, &text)) return false;
    // HCCL accepts neither a sign nor a blank.
    if (ParseDigits(text, out)) return true;
    Wrong("msg-job-table-not-number", object.path + key, QuotedText(text));
    return false;
  }

  // Calls `each` for the objects of a list that has at least one entry.
  template <typename Each>
  void ForEach(const Object& object, const std::string& key, Each each) {
    const Value* value = Member(object, key, kRequired);
    if (value == nullptr) return;
    if (value->list_value().values().empty()) {
      return Wrong("msg-job-table-not-list", object.path + key,
                   value->has_list_value() ? Worded("job-say-empty-list")
                                           : Describe(*value));
    }
    int i = 0;
    for (const Value& item : value->list_value().values()) {
      const std::string path = absl::StrCat(object.path, key, "[", i++, "]");
      if (item.has_struct_value()) {
        each(Object{&item.struct_value(), absl::StrCat(path, ".")});
      } else {
        Wrong("msg-job-table-not-object", path, Describe(item));
      }
    }
  }

  void Once(Seen* seen, const std::string& what, const std::string& path,
            absl::string_view row = "msg-job-table-twice") {
    const auto [first, is_new] = seen->emplace(what, path);
    if (!is_new) Wrong(row, path, QuotedText(what), first->second);
  }

  void CheckPorts(const Object& object) {
    std::vector<const char*> keys = {"host_port", "backup_device_port"};
    // HCCL reads the second key in place of the first (GetSingleDevicePort).
    if (Find(*object.fields, "device_port") != nullptr) {
      keys.insert(keys.end(), {"device_port", "device_vnic_port"});
    }
    for (const char* key : keys) {
      std::string text;
      uint32_t port = 0;
      if (!Text(object, key, kOptional, &text)) continue;
      if (ParseDigits(text, &port) && port > 0 && port <= kMaxPort) continue;
      Wrong("msg-job-table-port", object.path + key, QuotedText(text));
    }
  }

  RankTableServer ReadServer(const Object& server) {
    RankTableServer read;
    if (Text(server, "server_id", kRequired, &read.server_id) &&
        (read.server_id.empty() ||
         read.server_id.size() > kMaxServerIdLength)) {
      Wrong("msg-job-table-server-id", server.path + "server_id",
            QuotedText(read.server_id));
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
           "msg-job-table-device-twice");
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

  // Like HCCL's SplitString: a final comma adds no empty part.
  std::vector<std::string> Ips(const Object& device, const std::string& key,
                               Seen* seen) {
    std::string text;
    if (!Text(device, key, kOptional, &text) || text.empty()) return {};
    std::vector<std::string> ips =
        absl::StrSplit(absl::StripSuffix(text, ","), ',');
    for (const std::string& ip : ips) {
      if (!CheckIpAddress(ip, device.path + key)) continue;
      Once(seen, ip, device.path + key);
    }
    return ips;
  }

  bool CheckIpAddress(const std::string& text, const std::string& path) {
    if (IsIpAddress(text)) return true;
    Wrong(IsPlaceholder(text) || text == "0.0.0.0" ||
                  text.find_first_of("*?[]$") != text.npos ||
                  text.find_first_of("0123456789:") == text.npos
              ? "msg-job-table-placeholder"
              : "msg-job-table-not-address",
          path, QuotedText(text));
    return false;
  }

  void ReadSuperPods(const Object& root, RankTable* table) {
    Seen ids;
    ForEach(root, "super_pod_list", [&](const Object& pod) {
      RankTableSuperPod read;
      if (Text(pod, "super_pod_id", kRequired, &read.super_pod_id)) {
        const std::string path = pod.path + "super_pod_id";
        if (read.super_pod_id.empty()) Wrong("msg-job-table-pod-id", path);
        Once(&ids, read.super_pod_id, path);
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
      return Wrong(i > 0 && ranks[i] == ranks[i - 1]
                       ? "msg-job-table-rank-twice"
                       : "msg-job-table-rank-gap",
                   ranks[i], ranks.size() - 1);
    }
  }

  void CheckServers(const Object& root, const RankTable& table) {
    Seen ids;
    for (size_t i = 0; i < table.servers.size(); ++i) {
      Once(&ids, table.servers[i].server_id,
           absl::StrCat("server_list[", i, "].server_id"));
      if (table.servers[i].devices.size() != table.servers[0].devices.size()) {
        Wrong("msg-job-table-device-count",
              absl::StrCat("server_list[", i, "].device"),
              Counted(table.servers[i].devices.size(), "device"),
              table.servers[0].devices.size());
      }
    }
    std::string text;
    uint32_t count = 0;
    if (!Text(root, "server_count", kOptional, &text)) return;
    if (!ParseDigits(text, &count) || count != table.servers.size()) {
      Wrong("msg-job-table-server-count", QuotedText(text),
            table.servers.size());
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
          Wrong("msg-job-table-address-missing", path,
                Worded(is_super_pod_ ? "job-say-super-pod" : "job-say-server"));
          continue;
        }
        // HCCL also counts a missing one (GetSingleDeviceIp).
        const size_t count = std::max<size_t>(ips.size(), 1);
        if (expected == 0) expected = count;
        if (count == expected) continue;
        return Wrong("msg-job-table-address-count", path, count, expected);
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
          Wrong("msg-job-table-server-not-listed", QuotedText(server));
        }
      }
    }
    Seen seen;
    for (size_t i = 0; i < table.servers.size(); ++i) {
      const RankTableServer& server = table.servers[i];
      const auto pod = pod_of.find(server.server_id);
      if (pod == pod_of.end()) {
        Wrong("msg-job-table-server-without-pod",
              absl::StrCat("server_list[", i, "]"),
              QuotedText(server.server_id));
        continue;
      }
      for (size_t j = 0; j < server.devices.size(); ++j) {
        Once(&seen,
             absl::StrCat(pod->second, "/", server.devices[j].super_device_id),
             absl::StrCat("server_list[", i, "].device[", j,
                          "].super_device_id"));
      }
    }
  }

  void NameBridges(const RankTable& table) {
    for (size_t i = 0; i < table.servers.size(); ++i) {
      const std::string& id = table.servers[i].server_id;
      if (!IsOfDockerBridge(id)) continue;
      Wrong("msg-job-table-docker-bridge",
            absl::StrCat("server_list[", i, "].server_id"), QuotedText(id));
    }
  }

  bool is_super_pod_ = false;
  Seen device_ips_;
  Seen backup_ips_;
  std::vector<FindingValue> mistakes_;
};

// Unimplemented for other kinds of tables.
absl::Status CheckVersion(const Struct& root) {
  const Value* const version = Find(root, "version");
  const Value* const status = Find(root, "status");
  if (version == nullptr && Find(root, "group_list") != nullptr) {
    return UnimplementedWords("msg-job-table-second-template");
  }
  if (version == nullptr && status != nullptr && root.fields().size() == 1 &&
      status->string_value() != "completed") {
    return UnimplementedWords("msg-job-table-not-written-yet",
                              Describe(*status));
  }
  if (version != nullptr && version->has_string_value() &&
      version->string_value() != "1.0" && version->string_value() != "1.2") {
    return UnimplementedWords("msg-job-table-version",
                              QuotedText(version->string_value()));
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
  return InvalidWords(is_utf16 ? "msg-job-utf16" : "msg-job-not-utf8", file,
                      LineNumberOf(text, at), ColumnOf(text, at));
}

bool IsOfDockerBridge(const std::string& server_id) {
  return absl::StartsWith(server_id, "172.17.") && IsIpAddress(server_id);
}

absl::StatusOr<RankTable> ParseRankTable(absl::string_view json) {
  if (json.size() > kMaxRankTableBytes) {
    return InvalidWords("msg-job-too-many-bytes", Worded("job-say-rank-table"),
                        json.size(), kMaxRankTableBytes);
  }
  absl::ConsumePrefix(&json, "\xef\xbb\xbf");  // HCCL's parser skips it too.
  Struct root;
  size_t end = 0;
  std::optional<FindingValue> mistake = absl::StripAsciiWhitespace(json).empty()
                                            ? Worded("job-say-json-empty")
                                            : LenientJsonMistake(json, end);
  if (!mistake.has_value()) {
    const auto parsed = google::protobuf::util::JsonStringToMessage(
        google::protobuf::StringPiece(json.data(), end), &root);
    // After the first line, the message quotes part of the text.
    const std::string why(parsed.message());
    if (!parsed.ok()) {
      mistake = ToFindingValue(PrintableText(why.substr(0, why.find('\n'))));
    }
  }
  if (mistake.has_value()) {
    return InvalidWords("msg-job-table-not-json", *mistake);
  }
  for (const auto& [key, what] : kForeignFormats) {
    if (root.fields().count(key) == 0) continue;
    return InvalidWords("msg-job-table-of-another-program", Worded(what));
  }
  RETURN_IF_ERROR(CheckVersion(root));
  Reader reader;
  RankTable table = reader.Read(root);
  end = json.find_first_not_of(" \t\r\n", end);
  if (end != json.npos) table.behind_line = LineNumberOf(json, end);
  std::vector<FindingValue> mistakes = reader.mistakes();
  if (mistakes.empty()) return table;
  if (end != json.npos) {
    mistakes.push_back(
        Worded("msg-job-table-text-behind", table.behind_line, "}"));
  }
  return WithWords(absl::InvalidArgumentError(""), Lines(mistakes));
}

}  // namespace clusterd
