#include "config/launch/rank_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using google::protobuf::Value;

constexpr size_t kMaxServerIdLength = 64;
constexpr size_t kMaxQuoted = 80;

std::string Quote(absl::string_view text) {
  const bool cut = text.size() > kMaxQuoted;
  return absl::StrCat("\"", absl::CEscape(text.substr(0, kMaxQuoted)),
                      cut ? "..." : "", "\"");
}

std::string Describe(const Value& value) {
  switch (value.kind_case()) {
    case Value::kStringValue:
      return Quote(value.string_value());
    case Value::kNumberValue:
      return absl::StrCat("number ", value.number_value());
    case Value::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case Value::kListValue:
      return "a list";
    case Value::kStructValue:
      return "an object";
    default:
      return "null";
  }
}

bool IsIpAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

// Digits only: HCCL takes no sign and no blank.
bool ParseDecimal(absl::string_view text, uint32_t* number) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, number);
}

class Reader {
 public:
  RankTable Read(const Struct& root);
  const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  void Wrong(absl::string_view place, absl::string_view what) {
    mistakes_.push_back(absl::StrCat(place, ": ", what));
  }
  // nullptr if there is none; a mistake if that is one.
  const Value* Member(const Struct& object, const std::string& place,
                      const std::string& key, bool required);
  // A JSON string; anything else counts as missing, as it does for HCCL.
  bool Text(const Struct& object, const std::string& place,
            const std::string& key, bool required, std::string* out);
  bool Number(const Struct& object, const std::string& place,
              const std::string& key, uint32_t* out);
  // nullptr, with a mistake, unless it is a list with at least one entry.
  const ListValue* List(const Struct& object, const std::string& place,
                        const std::string& key);
  const Struct* Object(const Value& value, const std::string& place);
  void Once(std::map<std::string, std::string>* seen, const std::string& what,
            const std::string& place, absl::string_view code);

  RankTableServer ReadServer(const Struct& server, const std::string& place);
  RankTableDevice ReadDevice(const Struct& device, const std::string& place);
  void ReadSuperPods(const Struct& root, RankTable* table);
  void CheckRanks(const RankTable& table);
  void CheckServers(const Struct& root, const RankTable& table);
  void CheckDeviceIps(const RankTable& table);
  void CheckSuperPods(const RankTable& table);

  bool is_super_pod_ = false;
  std::map<std::string, std::string> device_ips_;
  std::vector<std::string> mistakes_;
};

const Value* Reader::Member(const Struct& object, const std::string& place,
                            const std::string& key, bool required) {
  const auto found = object.fields().find(key);
  if (found != object.fields().end()) return &found->second;
  if (required) {
    Wrong(absl::StrCat(place, key), "is missing in the rank table (EI0017)");
  }
  return nullptr;
}

bool Reader::Text(const Struct& object, const std::string& place,
                  const std::string& key, bool required, std::string* out) {
  const Value* value = Member(object, place, key, required);
  if (value == nullptr) return false;
  if (value->kind_case() != Value::kStringValue) {
    Wrong(absl::StrCat(place, key),
          absl::StrCat(Describe(*value), ", expected a JSON string (EI0017)"));
    return false;
  }
  *out = value->string_value();
  return true;
}

bool Reader::Number(const Struct& object, const std::string& place,
                    const std::string& key, uint32_t* out) {
  std::string text;
  if (!Text(object, place, key, /*required=*/true, &text)) return false;
  if (ParseDecimal(text, out)) return true;
  Wrong(absl::StrCat(place, key),
        absl::StrCat(Quote(text), ", expected a decimal number (EI0014)"));
  return false;
}

const ListValue* Reader::List(const Struct& object, const std::string& place,
                              const std::string& key) {
  const Value* value = Member(object, place, key, /*required=*/true);
  if (value == nullptr) return nullptr;
  if (value->kind_case() != Value::kListValue ||
      value->list_value().values().empty()) {
    Wrong(absl::StrCat(place, key),
          absl::StrCat(
              value->has_list_value() ? "an empty list" : Describe(*value),
              ", expected a list that is not empty (EI0014)"));
    return nullptr;
  }
  return &value->list_value();
}

const Struct* Reader::Object(const Value& value, const std::string& place) {
  if (value.has_struct_value()) return &value.struct_value();
  Wrong(place, absl::StrCat(Describe(value), ", expected an object (EI0014)"));
  return nullptr;
}

void Reader::Once(std::map<std::string, std::string>* seen,
                  const std::string& what, const std::string& place,
                  absl::string_view code) {
  const auto inserted = seen->emplace(what, place);
  if (inserted.second) return;
  Wrong(place, absl::StrCat(Quote(what), " stands at ", inserted.first->second,
                            " already, expected every one once (", code, ")"));
}

RankTableDevice Reader::ReadDevice(const Struct& device,
                                   const std::string& place) {
  RankTableDevice read;
  Number(device, place, "device_id", &read.device_id);
  Number(device, place, "rank_id", &read.rank_id);
  std::string ips;
  if (Text(device, place, "device_ip", /*required=*/false, &ips) &&
      !ips.empty()) {
    for (absl::string_view ip : absl::StrSplit(ips, ',')) {
      read.device_ips.emplace_back(ip);
      const std::string ip_place = absl::StrCat(place, "device_ip");
      if (!IsIpAddress(read.device_ips.back())) {
        Wrong(ip_place,
              absl::StrCat(Quote(ip), ", expected an IP address (EI0014)"));
        continue;
      }
      Once(&device_ips_, read.device_ips.back(), ip_place, "EI0014");
    }
  }
  if (is_super_pod_ && Text(device, place, "super_device_id",
                            /*required=*/true, &read.super_device_id)) {
    uint32_t ignored = 0;
    if (!ParseDecimal(read.super_device_id, &ignored)) {
      Wrong(absl::StrCat(place, "super_device_id"),
            absl::StrCat(Quote(read.super_device_id),
                         ", expected a decimal number (EI0004)"));
    }
  }
  return read;
}

RankTableServer Reader::ReadServer(const Struct& server,
                                   const std::string& place) {
  RankTableServer read;
  if (Text(server, place, "server_id", /*required=*/true, &read.server_id) &&
      (read.server_id.empty() || read.server_id.size() > kMaxServerIdLength)) {
    Wrong(absl::StrCat(place, "server_id"),
          absl::StrCat(Quote(read.server_id),
                       ", expected 1 to 64 characters (EI0014)"));
  }
  if (Text(server, place, "host_ip", /*required=*/false, &read.host_ip) &&
      !IsIpAddress(read.host_ip)) {
    Wrong(
        absl::StrCat(place, "host_ip"),
        absl::StrCat(Quote(read.host_ip), ", expected an IP address (EI0014)"));
  }
  const ListValue* devices = List(server, place, "device");
  if (devices == nullptr) return read;
  std::map<std::string, std::string> ids;
  for (int i = 0; i < devices->values_size(); ++i) {
    const std::string device_place = absl::StrCat(place, "device[", i, "]");
    const Struct* device = Object(devices->values(i), device_place);
    if (device == nullptr) continue;
    read.devices.push_back(ReadDevice(*device, device_place + "."));
    Once(&ids, absl::StrCat(read.devices.back().device_id),
         device_place + ".device_id", "EI0014");
  }
  return read;
}

void Reader::ReadSuperPods(const Struct& root, RankTable* table) {
  const ListValue* pods = List(root, "", "super_pod_list");
  if (pods == nullptr) return;
  std::map<std::string, std::string> ids;
  for (int i = 0; i < pods->values_size(); ++i) {
    const std::string place = absl::StrCat("super_pod_list[", i, "].");
    const Struct* pod = Object(pods->values(i), place);
    if (pod == nullptr) continue;
    RankTableSuperPod read;
    if (Text(*pod, place, "super_pod_id", /*required=*/true,
             &read.super_pod_id)) {
      if (read.super_pod_id.empty()) {
        Wrong(place + "super_pod_id", "\"\", expected a name (EI0014)");
      }
      Once(&ids, read.super_pod_id, place + "super_pod_id", "EI0014");
    }
    const ListValue* servers = List(*pod, place, "server_list");
    const int count = servers == nullptr ? 0 : servers->values_size();
    for (int j = 0; j < count; ++j) {
      const std::string server_place =
          absl::StrCat(place, "server_list[", j, "]");
      const Struct* server = Object(servers->values(j), server_place);
      std::string id;
      if (server != nullptr && Text(*server, server_place + ".", "server_id",
                                    /*required=*/true, &id)) {
        read.server_ids.push_back(id);
      }
    }
    table->super_pods.push_back(std::move(read));
  }
}

void Reader::CheckRanks(const RankTable& table) {
  std::vector<uint32_t> ranks;
  for (const RankTableServer& server : table.servers) {
    for (const RankTableDevice& device : server.devices) {
      ranks.push_back(device.rank_id);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == i) continue;
    Wrong("rank_id",
          absl::StrCat(
              i > 0 && ranks[i] == ranks[i - 1] ? "twice " : "out of turn ",
              ranks[i], ", expected 0 to ", ranks.size() - 1,
              ", each once (EI0014)"));
    return;
  }
}

void Reader::CheckServers(const Struct& root, const RankTable& table) {
  std::map<std::string, std::string> ids;
  for (size_t i = 0; i < table.servers.size(); ++i) {
    Once(&ids, table.servers[i].server_id,
         absl::StrCat("server_list[", i, "].server_id"), "EI0014");
    if (table.servers[i].devices.size() != table.servers[0].devices.size()) {
      Wrong(absl::StrCat("server_list[", i, "].device"),
            absl::StrCat(table.servers[i].devices.size(), " devices, expected ",
                         table.servers[0].devices.size(),
                         " as on server_list[0]"));
    }
  }
  std::string text;
  uint32_t count = 0;
  if (!Text(root, "", "server_count", /*required=*/false, &text)) return;
  if (!ParseDecimal(text, &count) || count != table.servers.size()) {
    Wrong("server_count",
          absl::StrCat(Quote(text), ", expected \"", table.servers.size(),
                       "\", the number of servers listed "
                       "(EI0014)"));
  }
}

void Reader::CheckDeviceIps(const RankTable& table) {
  size_t per_device = 0;
  bool first = true;
  for (size_t i = 0; i < table.servers.size(); ++i) {
    for (size_t j = 0; j < table.servers[i].devices.size(); ++j) {
      const size_t count = table.servers[i].devices[j].device_ips.size();
      const std::string place =
          absl::StrCat("server_list[", i, "].device[", j, "].device_ip");
      if (count == 0 && table.servers.size() > 1 && !is_super_pod_) {
        Wrong(place,
              "is not set, expected an address: the table has more "
              "than one server (EI0014)");
        continue;
      }
      if (first) per_device = count;
      first = false;
      if (count != per_device) {
        Wrong(place, absl::StrCat(count, " addresses, expected ", per_device,
                                  " as on the first device (EI0014)"));
      }
    }
  }
}

void Reader::CheckSuperPods(const RankTable& table) {
  absl::flat_hash_map<std::string, std::string> pod_of;
  for (const RankTableSuperPod& pod : table.super_pods) {
    for (const std::string& server : pod.server_ids) {
      pod_of[server] = pod.super_pod_id;
      const bool listed = std::any_of(
          table.servers.begin(), table.servers.end(),
          [&](const RankTableServer& s) { return s.server_id == server; });
      if (!listed) {
        Wrong("super_pod_list",
              absl::StrCat(Quote(server),
                           " is not in server_list, expected a server of the "
                           "table (EI0014)"));
      }
    }
  }
  std::map<std::string, std::string> seen;
  for (size_t i = 0; i < table.servers.size(); ++i) {
    const RankTableServer& server = table.servers[i];
    const auto pod = pod_of.find(server.server_id);
    if (pod == pod_of.end()) {
      Wrong(absl::StrCat("server_list[", i, "]"),
            absl::StrCat(Quote(server.server_id),
                         " is in no super pod (EI0014)"));
      continue;
    }
    for (size_t j = 0; j < server.devices.size(); ++j) {
      Once(&seen,
           absl::StrCat(pod->second, "/", server.devices[j].super_device_id),
           absl::StrCat("server_list[", i, "].device[", j, "].super_device_id"),
           "EI0014");
    }
  }
}

RankTable Reader::Read(const Struct& root) {
  RankTable table;
  Text(root, "", "version", /*required=*/true, &table.version);
  is_super_pod_ = table.version == "1.2";
  std::string status;
  Text(root, "", "status", /*required=*/true, &status);
  table.completed = status == "completed";
  const ListValue* servers = List(root, "", "server_list");
  const int count = servers == nullptr ? 0 : servers->values_size();
  for (int i = 0; i < count; ++i) {
    const std::string place = absl::StrCat("server_list[", i, "]");
    const Struct* server = Object(servers->values(i), place);
    if (server != nullptr) {
      table.servers.push_back(ReadServer(*server, place + "."));
    }
  }
  if (is_super_pod_) ReadSuperPods(root, &table);
  // The relations only mean something once the parts could be read.
  if (mistakes_.empty()) {
    CheckServers(root, table);
    CheckRanks(table);
    CheckDeviceIps(table);
    if (is_super_pod_) CheckSuperPods(table);
  }
  return table;
}

}  // namespace

absl::StatusOr<RankTable> ParseRankTable(absl::string_view json) {
  if (json.size() > kMaxRankTableBytes) {
    return absl::InvalidArgumentError(absl::StrCat("rank table: ", json.size(),
                                                   " bytes, expected at most ",
                                                   kMaxRankTableBytes));
  }
  Struct root;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &root);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank table: not a JSON object (EI0004): ",
                     absl::CEscape(parsed.ToString())));
  }
  const auto version = root.fields().find("version");
  if (version == root.fields().end()) {
    return absl::UnimplementedError(
        "rank table: no \"version\", expected \"1.0\" or \"1.2\"; files of "
        "the old second template have none and are not read");
  }
  if (version->second.has_string_value() &&
      version->second.string_value() != "1.0" &&
      version->second.string_value() != "1.2") {
    return absl::UnimplementedError(absl::StrCat(
        "rank table: version ", Quote(version->second.string_value()),
        ", expected \"1.0\" or \"1.2\"; 1.1 (heterogeneous) and "
        "2.0 (Ascend 950) are not read"));
  }
  Reader reader;
  RankTable table = reader.Read(root);
  if (!reader.mistakes().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(reader.mistakes(), "\n"));
  }
  return table;
}

}  // namespace clusterd
