#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "config/hccl/job_variables.h"
#include "config/launch/job_spec.h"
#include "config/spec/device_plan.h"
#include "config/spec/mistakes.h"
#include "config/spec/network_keys.h"
#include "config/spec/product_profile.h"
#include "config/spec/yaml_document.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Large enough for the largest cluster with one line for each server.
constexpr YamlLimits kLimits = {size_t{32} << 20, size_t{4} << 20};

constexpr uint32_t kMaxPort = 65535;
constexpr uint32_t kMaxRanks = 1 << 24;
// Far above any product's limit, which the rules check.
constexpr uint32_t kMaxProcesses = 1024;

// A number of devices, or their ids.
struct Devices {
  std::vector<uint32_t> ids;
  uint32_t count = 0;

  void Fill(JobServer* server) const {
    server->mutable_devices()->Assign(ids.begin(), ids.end());
    server->set_device_count(count);
  }
};

absl::StatusOr<Devices> ParseDevices(absl::string_view text) {
  Devices devices;
  if (ParseDigits(text, &devices.count) && !text.empty()) {
    if (devices.count > 0 && devices.count <= kMaxDeviceId + 1) return devices;
    return InvalidWords("msg-job-device-number", QuoteValue(text),
                        kMaxDeviceId + 1);
  }
  ASSIGN_OR_RETURN(devices.ids, ParseIdList(text, kMaxDeviceId));
  return devices;
}

class Loader {
 public:
  Loader(std::string* rank_table_path, Mistakes* mistakes)
      : rank_table_path_(rank_table_path), mistakes_(mistakes) {}

  JobSpec Load(const YamlNode& root) {
    std::vector<absl::string_view> keys(std::begin(kJobKeys),
                                        std::end(kJobKeys));
    if (rank_table_path_ == nullptr) {
      DropIf(&keys, [](absl::string_view key) {
        return key == "rank_table" || key == "python" ||
               key == "requirements" || key == "script";
      });
    }
    const YamlMap map(&root, "", keys, mistakes_);
    if (root.kind == YamlNode::Kind::kNothing) {
      mistakes_->Add(root.position, "msg-job-file-empty");
    }
    if (root.kind != YamlNode::Kind::kMap) return {};
    job_.set_id(Formed(map["id"], 256, R"([!-~]+)", "job-say-no-blanks"));
    job_.set_user(User(map["user"]));
    LoadProduct(map["product"]);
    LoadTypes(map["dtypes"]);
    job_.set_method(map["method"].Word(kLaunchMethods).value_or(""));
    job_.set_processes_per_device(
        map["processes_per_device"].Number(1, kMaxProcesses).value_or(0));
    job_.set_framework(map["framework"].Word(kFrameworks).value_or(""));
    LoadSsh(map["ssh"]);
    LoadServicePorts(map["ports"], job_.mutable_ports());
    LoadEnvironment(map["environment"]);
    if (rank_table_path_ != nullptr) {
      *rank_table_path_ = map["rank_table"].Text().value_or("");
      LoadPython(map);
    }
    LoadServers(map);
    return std::move(job_);
  }

 private:
  // Empty if absent or wrong. `expected` is a row of words.
  static std::string Formed(const YamlValue& value, size_t most,
                            const char* form, absl::string_view expected) {
    const std::string text = value.Text().value_or("");
    if (text.empty() || (text.size() <= most && RE2::FullMatch(text, form))) {
      return text;
    }
    value.Wrong("msg-job-form", QuoteValue(text), Worded(expected), most);
    return "";
  }

  // It goes on the command line of ssh.
  static std::string User(const YamlValue& value) {
    return Formed(value, 64, R"([A-Za-z_][A-Za-z0-9_.@-]*\$?)",
                  "job-say-account");
  }

  void LoadProduct(const YamlValue& value) {
    const std::string product = value.Text().value_or("");
    if (product.empty()) return;
    const auto profile = FindProductProfile(product, "");
    if (!profile.ok()) {
      mistakes_->AddError(value.position(), profile.status());
    }
    job_.set_product(product);
  }

  void LoadTypes(const YamlValue& value) {
    if (value.node() == nullptr) return;
    for (const YamlValue& item : value.Items()) {
      const std::string name = item.Text().value_or("");
      if (name.empty()) continue;
      const absl::string_view type = HcclDataType(name);
      if (type.empty()) {
        item.Wrong("msg-job-word", QuoteValue(name),
                   absl::StrJoin(HcclDataTypes(), ", "),
                   DidYouMeanWords(name, HcclDataTypes()));
      }
      job_.add_dtypes(std::string(type));
    }
  }

  void LoadSsh(const YamlValue& value) {
    if (value.node() == nullptr) return;
    const YamlMap map(value.node(), "ssh", kJobKeys, mistakes_);
    JobSsh* ssh = job_.mutable_ssh();
    ssh->set_user(User(map["user"]));
    ssh->set_port(map["port"].Number(1, kMaxPort).value_or(0));
    ssh->set_container_port(
        map["container_port"].Number(1, kMaxPort).value_or(0));
    ssh->set_before(map["before"].Bool().value_or(false));
  }

  void LoadPython(const YamlMap& map) {
    job_.set_python(Formed(map["python"], 512,
                           R"(/(?:[^\x00-\x1f]*/)?python[0-9.]*)",
                           "job-say-interpreter"));
    job_.set_script_file(map["script"].Text().value_or(""));
    const YamlValue requirements = map["requirements"];
    if (!requirements.Is(YamlNode::Kind::kList)) {
      return job_.set_requirements_file(requirements.Text().value_or(""));
    }
    for (const YamlValue& item : requirements.Items()) {
      absl::StrAppend(job_.mutable_requirements(), item.Text().value_or(""),
                      "\n");
    }
  }

  void LoadEnvironment(const YamlValue& value) {
    static const LazyRE2 kName = {R"([A-Za-z_][A-Za-z0-9_]*)"};
    if (value.node() == nullptr) return;
    if (!value.Is(YamlNode::Kind::kMap)) {
      value.WrongKind("job-say-variables", "{HCCL_IF_BASE_PORT: 50000}");
      return;
    }
    for (const YamlEntry& entry : value.node()->entries) {
      const YamlValue inner =
          value.Inner(entry.value, absl::StrCat("environment.", entry.key));
      if (!HasForm(entry.key, *kName)) {
        inner.Wrong("msg-job-variable-name");
      }
      EnvironmentVariable* const variable = job_.add_environment();
      variable->set_name(entry.key);
      variable->set_value(inner.Text().value_or(""));
      variable->set_file("job file");
      variable->set_line(entry.position.line);
    }
  }

  // Loads the values for the launch from one mapping, for its servers.
  static void LoadLaunch(const YamlMap& map, JobServer* server) {
    const std::string address = map["master_addr"].Text().value_or("");
    if (!address.empty()) {
      if (!IsHostName(address)) {
        map["master_addr"].Wrong("msg-job-master-addr", QuoteValue(address));
      }
      server->set_master_addr(address);
    }
    if (const auto port = map["master_port"].Number(1, kMaxPort)) {
      server->set_master_port(*port);
    }
    if (const auto size = map["world_size"].Number(1, kMaxRanks)) {
      server->set_world_size(*size);
    }
    if (map["logic_super_pod"].node() != nullptr) {
      server->set_logic_super_pod(Formed(map["logic_super_pod"], 128,
                                         R"([!-~]+)", "job-say-no-blanks"));
    }
  }

  static Devices LoadDevices(const YamlValue& value) {
    if (!value.Is(YamlNode::Kind::kList)) {
      return value.Parsed(ParseDevices).value_or(Devices());
    }
    std::vector<std::string> ids;
    for (const YamlValue& item : value.Items()) {
      ids.push_back(item.Text().value_or(""));
    }
    Devices devices;
    const auto parsed = ParseIdList(absl::StrJoin(ids, ","), kMaxDeviceId);
    if (parsed.ok()) {
      devices.ids = *parsed;
    } else {
      value.Wrong("job-say-of", MessageWords(parsed.status()));
    }
    return devices;
  }

  void LoadServers(const YamlMap& map) {
    const YamlValue nodes = map["nodes"];
    const YamlValue servers = map["servers"];
    JobServer common;
    LoadLaunch(map, &common);
    FillFromVariables(HostFacts::default_instance(), job_, &common);
    LoadDevices(map["devices"]).Fill(&common);
    if (nodes.node() != nullptr && servers.node() != nullptr) {
      servers.Wrong("msg-job-nodes-and-servers", ToString(nodes.position()));
    } else if (nodes.node() == nullptr && servers.node() == nullptr) {
      mistakes_->Add(map.position(), "msg-job-nodes-missing");
    }
    AddHosts(nodes, common);
    if (servers.node() == nullptr) return;
    if (!servers.Is(YamlNode::Kind::kList)) {
      servers.WrongKind("job-say-servers", "{host: node01}");
      return;
    }
    for (size_t i = 0; i < servers.node()->items.size(); ++i) {
      LoadServer(servers.node()->items[i], absl::StrCat("servers[", i, "]"),
                 common);
    }
  }

  void LoadServer(const YamlNode& node, const std::string& path,
                  JobServer server) {
    const YamlMap map(&node, path, kJobKeys, mistakes_);
    LoadLaunch(map, &server);
    if (map["devices"].node() != nullptr) {
      LoadDevices(map["devices"]).Fill(&server);
    }
    if (const auto rank = map["node_rank"].Number(0, kMaxRanks)) {
      server.set_node_rank(*rank);
    }
    const size_t hosts = AddHosts(map.Require("host"), server);
    if (hosts > 1 && server.has_node_rank()) {
      map["node_rank"].Wrong("msg-job-rank-of-several", hosts);
    }
  }

  // Adds the hosts of a hostlist or a list of them; returns their number.
  size_t AddHosts(const YamlValue& value, const JobServer& like) {
    size_t added = 0;
    if (value.node() == nullptr) return added;
    for (const YamlValue& item : value.Items()) {
      const auto names = item.Parsed([](const std::string& list) {
        return ExpandHostlist(list, kMaxServers);
      });
      if (!names.has_value()) continue;
      for (const std::string& name : *names) {
        ++added;
        AddHost(name, item.position(), like);
      }
    }
    return added;
  }

  void AddHost(const std::string& name, TextPosition position,
               const JobServer& like) {
    const auto [first, is_new] = seen_.try_emplace(name, position);
    if (!is_new) {
      return mistakes_->Add(position, "msg-job-file-host-twice",
                            QuoteValue(name), ToString(first->second));
    }
    if (static_cast<size_t>(job_.servers_size()) == kMaxServers) {
      return mistakes_->AddOnce(position, "too many",
                                "msg-job-too-many-servers", kMaxServers);
    }
    JobServer* server = job_.add_servers();
    *server = like;
    server->set_host(name);
  }

  std::string* const rank_table_path_;  // Null: not read.
  Mistakes* const mistakes_;
  absl::flat_hash_map<std::string, TextPosition> seen_;
  JobSpec job_;
};

}  // namespace

absl::StatusOr<JobSpec> LoadJobSpec(absl::string_view file_name,
                                    absl::string_view text,
                                    std::string* rank_table_path) {
  JobSpec job;
  RETURN_IF_ERROR(ReadYaml(file_name, text, kLimits,
                           [&](const YamlNode& tree, Mistakes* found) {
                             job = Loader(rank_table_path, found).Load(tree);
                           }));
  return job;
}

absl::Status SetJobDevices(absl::string_view text, JobSpec* job) {
  const absl::StatusOr<Devices> devices = ParseDevices(text);
  RETURN_IF_ERROR(devices.status());
  for (JobServer& server : *job->mutable_servers()) {
    if (server.devices().empty() && server.device_count() == 0) {
      devices->Fill(&server);
    }
  }
  return absl::OkStatus();
}

}  // namespace clusterd
