#include "config/launch/launch.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/hccl/job_ports.h"
#include "config/launch/launch_methods.h"
#include "config/values/hostlist.h"
#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "config/values/text_form.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr uint32_t kSshPort = 22;
// CM_WORKER_SIZE's bound (HCCL's page of the variable).
constexpr size_t kMostCmWorkers = 32768;
// Without tiers every worker and every server's agent keeps a connection to the
// one agent on the master. The guide of torch_npu_run advises tiers for "large
// clusters" but gives no number. This is as many connections as the usual soft
// limit of open files allows a process.
constexpr size_t kTieredFrom = 1024;
using Values = std::map<std::string, std::string>;
using Replacements = std::vector<std::pair<std::string, std::string>>;

class Maker {
 public:
  Maker(const ClusterSpec& job, absl::Span<const HostFacts* const> facts,
        const LaunchOptions& options)
      : job_(job), facts_(facts), options_(options) {}

  absl::StatusOr<Launch> Make() {
    method_ = FindMethod();
    if (method_ != nullptr) {
      mistakes_ = FindOptionMistakes(*method_, options_);
      CheckServers();
    }
    ReadNodes();
    if (mistakes_.empty() && !options_.standalone) ChoosePort();
    if (mistakes_.empty() && !options_.standalone) ChooseTiers();
    Launch launch;
    launch.method = options_.method;
    for (int s = 0; mistakes_.empty() && s < job_.servers_size(); ++s) {
      launch.nodes.push_back(Node(s));
    }
    if (!mistakes_.empty()) {
      return WithWords(absl::InvalidArgumentError(""), Lines(mistakes_));
    }
    launch.notes = std::move(notes_);
    return launch;
  }

 private:
  template <typename... Values>
  void Wrong(absl::string_view row, const Values&... values) {
    mistakes_.push_back(Worded(row, values...));
  }
  template <typename... Values>
  void Note(absl::string_view row, const Values&... values) {
    notes_.push_back(Worded(row, values...));
  }

  const LaunchMethod* FindMethod() {
    const LaunchMethod* const found =
        FirstWith(AllLaunchMethods(), &LaunchMethod::name, options_.method);
    if (found != nullptr) return found;
    const std::vector<absl::string_view> names = LaunchMethods();
    Wrong("msg-job-word", "--method", QuotedText(options_.method),
          absl::StrJoin(names, ", "), DidYouMeanWords(options_.method, names));
    return nullptr;
  }

  void CheckServers() {
    if (job_.servers().empty() ||
        facts_.size() != static_cast<size_t>(job_.servers_size())) {
      return Wrong("msg-job-facts-count", Counted(facts_.size(), "host"),
                   Counted(job_.servers_size(), "server"));
    }
    const ServerSpec& first = job_.servers(0);
    if (options_.standalone && job_.servers_size() > 1) {
      Wrong("msg-job-standalone-servers", job_.servers_size());
    } else if (options_.standalone) {
      Note("job-say-standalone");
    }
    for (const ServerSpec& server : job_.servers()) {
      world_size_ += server.devices_size();
      if (!IsHostName(server.host())) {
        Wrong("msg-job-host-name", "host", QuotedText(server.host()));
      }
      if (!Ipv4Address::Parse(server.address()).ok()) {
        Wrong("msg-job-host-without-address", server.host(),
              "MASTER_ADDR, HCCL_IF_IP");
      }
      if (server.devices_size() == first.devices_size()) continue;
      uniform_ = false;
      if (method_->from_master) continue;
      Wrong("msg-job-uneven-devices", server.host(),
            Counted(server.devices_size(), "device"), first.host(),
            first.devices_size());
    }
    if (method_->from_master && options_.rank_table.empty() &&
        world_size_ > kMostCmWorkers) {
      Wrong("msg-job-too-many-workers", world_size_, kMostCmWorkers);
    }
  }

  void ReadNodes() {
    static const LazyRE2 kNodes = {R"((\d{1,6})(?::(\d{1,6}))?)"};
    const uint32_t servers = job_.servers_size();
    nnodes_ = absl::StrCat(servers);
    if (options_.nnodes.empty()) return;
    uint32_t least = 0;
    std::optional<uint32_t> most;
    if (!HasForm(options_.nnodes, *kNodes, &least, &most) || least == 0 ||
        most.value_or(least) != servers || least > servers) {
      return Wrong("msg-job-nnodes", QuotedText(options_.nnodes), servers);
    }
    if (!most.has_value() || *most == least) return;
    if (method_ != nullptr && !method_->takes_range) {
      return Wrong("msg-job-nnodes-range", QuotedText(options_.nnodes),
                   options_.method, servers);
    }
    static const LazyRE2 kId = {"[A-Za-z0-9_.:+@-]*"};
    if (!HasForm(options_.job_id, *kId)) {
      Wrong("msg-job-letters", "--job-id", QuotedText(options_.job_id));
    }
    nnodes_ = options_.nnodes;
    range_ = true;
    Note("job-say-node-range");
  }

  void ChoosePort() {
    absl::StatusOr<MasterPort> chosen = ChooseMasterPort(
        job_, *facts_[0], options_.master_port, options_.port_option);
    if (!chosen.ok()) {
      return mistakes_.push_back(MessageWords(chosen.status()));
    }
    port_ = chosen->port;
    // torch_npu/distributed/rendezvous.py: the store is that of --master_addr
    // and --master_port, whatever the endpoint is.
    const std::string& endpoint = options_.rdzv_endpoint;
    const std::string port = absl::StrCat(":", port_);
    const std::string expected = job_.servers(0).address() + port;
    if (!endpoint.empty() && endpoint != expected &&
        endpoint != job_.servers(0).host() + port) {
      return Wrong("msg-job-endpoint", QuotedText(endpoint), expected);
    }
    if (method_->from_master && !options_.rank_table.empty()) return;
    absl::c_move(chosen->notes, std::back_inserter(notes_));
  }

  void ChooseTiers() {
    if (method_->name != "torch-npu-run") return;
    const size_t connections = world_size_ + job_.servers_size();
    tiered_ = options_.tiered.value_or(connections >= kTieredFrom);
    if (options_.tiered.has_value()) return;
    Note(tiered_ ? "job-say-tiers-on" : "job-say-tiers-off", connections,
         kTieredFrom);
  }

  Values ValuesOf(int index) {
    const ServerSpec& server = job_.servers(index);
    const std::string& master = job_.servers(0).address();
    Values values = {
        {"MASTER_ADDR", master},
        {"MASTER_IP_ADDR", master},
        {"MASTER_PORT", absl::StrCat(port_)},
        {"NODE_RANK", absl::StrCat(index)},
        {"NNODES", nnodes_},
        {"NPUS_PER_NODE", absl::StrCat(server.devices_size())},
        {"PYTHON", options_.python},
        {"JOB_ID", options_.job_id.empty() ? "clusterd" : options_.job_id},
        {"RDZV_ID", options_.rdzv_id},
        {"LOCAL_ADDR", server.address()},
    };
    if (options_.standalone) values.erase("MASTER_PORT");
    if (!range_) values["WORLD_SIZE"] = absl::StrCat(world_size_);
    if (method_->from_master) AddMpiValues(values);
    return values;
  }

  void AddMpiValues(Values& values) {
    values["num_server"] = nnodes_;
    if (uniform_) {
      values["local_rank_size"] = absl::StrCat(job_.servers(0).devices_size());
    }
    values["num_process"] = absl::StrCat(world_size_);
    values["interface"] = interfaces_;
    if (!options_.mpi_args.empty()) values["mpi_args"] = options_.mpi_args;
    values["SSH_PORT"] = absl::StrCat(options_.ssh_port);
    const auto add = [](std::string* out, const ServerSpec& server) {
      absl::StrAppend(out, server.address(), ":", server.devices_size());
    };
    values["HOSTS"] = absl::StrJoin(job_.servers(), ",", add);
  }

  // MPI and Horovod take the names that any of the hosts has. horovodrun puts
  // them unchanged into a line for /bin/sh (horovod, runner/mpi_run.py).
  void FindInterfaces() {
    static const LazyRE2 kPlain = {"[A-Za-z0-9_.:@-]+"};
    std::set<std::string> names;
    for (int s = 0; s < job_.servers_size(); ++s) {
      const HostInterface* const found =
          FindInterface(*facts_[s], job_.servers(s).address());
      if (found == nullptr) {
        Wrong("msg-job-interface-not-known", job_.servers(s).host(),
              job_.servers(s).address(),
              IsKnown(facts_[s]->interfaces())
                  ? Worded("job-say-interface-without-address")
                  : MissingWords(MissingOf(facts_[s]->interfaces())));
        continue;
      }
      if (!HasForm(found->name(), *kPlain)) {
        Wrong("msg-job-interface-name", job_.servers(s).host(),
              QuotedText(found->name()));
        continue;
      }
      names.insert(found->name());
    }
    interfaces_ = absl::StrJoin(names, ",");
    if (names.size() > 1) {
      Note("job-say-interfaces-differ", PrintableText(interfaces_));
    }
  }

  NodeLaunch Node(int index) {
    if (method_->from_master && index == 0) FindInterfaces();
    const Values values = ValuesOf(index);
    NodeLaunch node;
    node.host = job_.servers(index).host();
    node.node_rank = index;
    const bool starts = !method_->from_master || index == 0;
    if (starts) AddVariables(values, node);
    for (const absl::string_view file : method_->sources) {
      if (!options_.sources) node.sources.emplace_back(file);
    }
    if (options_.sources) node.sources = *options_.sources;
    node.folders = method_->folders;
    AddHcclVariables(index, values, node);
    if (starts) {
      AddCommand(values, node);
    } else {
      AddRemarks(node);
    }
    return node;
  }

  void AddVariables(const Values& values, NodeLaunch& node) {
    for (const absl::string_view name : method_->variables) {
      const auto value = values.find(std::string(name));
      if (value == values.end() || options_.standalone) continue;
      LaunchVariable variable = {value->first, value->second, method_->exports};
      if (name == "WORLD_SIZE")
        variable.formula = "$(($NPUS_PER_NODE*$NNODES))";
      if (name == "num_process" && uniform_) {
        variable.formula = "$((${num_server}*${local_rank_size}))";
      }
      node.variables.push_back(std::move(variable));
    }
    // Feature value detection, of torch_npu (the migration guide's example).
    if (method_->of_torch) {
      node.variables.push_back({"NPU_ASD_ENABLE", absl::StrCat(options_.asd)});
    }
  }

  // horovodrun passes the master's environment to all servers (horovod,
  // runner/mpi_run.py: "-x" for each name), so values of a single host would be
  // wrong on the others.
  void AddHcclVariables(int index, const Values& values, NodeLaunch& node) {
    const ServerSpec& server = job_.servers(index);
    auto& variables = node.hccl_variables;
    variables.push_back({"HCCL_WHITELIST_DISABLE", "1"});
    if (!method_->from_master) {
      variables.push_back({"HCCL_IF_IP", server.address()});
    }
    if (job_.hccl().base_port() != 0 && !job_.hccl().base_port_auto()) {
      variables.push_back(
          {"HCCL_IF_BASE_PORT", absl::StrCat(job_.hccl().base_port())});
    }
    AddVisibleDevices(server, variables);
    if (!options_.rank_table.empty()) {
      variables.push_back({"RANK_TABLE_FILE", options_.rank_table});
    } else if (method_->from_master) {
      // Instead of a rank table (ascend-facts 5.2: HCCL's pages of CM_*).
      variables.push_back({"CM_CHIEF_IP", values.at("MASTER_ADDR")});
      variables.push_back({"CM_CHIEF_PORT", values.at("MASTER_PORT")});
      variables.push_back(
          {"CM_CHIEF_DEVICE", absl::StrCat(job_.servers(0).devices(0).id())});
      variables.push_back({"CM_WORKER_SIZE", values.at("WORLD_SIZE")});
      variables.push_back({"CM_WORKER_IP", server.address()});
    }
    auto environment = options_.environment;
    auto pods = options_.super_pods;
    pods.resize(job_.servers_size());
    if (method_->from_master && pods[index] != pods[0]) {
      Wrong("msg-job-one-environment", "logic_super_pod");
    }
    if (!pods[index].empty()) {
      environment.emplace_back("HCCL_LOGIC_SUPERPOD_ID", pods[index]);
    }
    for (const auto& [name, value] : environment) {
      if (absl::c_linear_search(method_->variables, name)) {
        if (index == 0) Note("job-say-variable-left-out", name);
        continue;
      }
      auto ours = variables.begin();
      while (ours != variables.end() && ours->name != name) ++ours;
      if (ours != variables.end()) variables.erase(ours);
      variables.push_back({name, value});
    }
  }

  // Scripts use the device of their local rank. If the job's devices are not
  // the first ones, ASCEND_RT_VISIBLE_DEVICES gives CANN their ids (CANN's
  // environment variable reference: ids ascending, index 0 is the first).
  void AddVisibleDevices(const ServerSpec& server,
                         std::vector<LaunchVariable>& variables) {
    const auto ids = Each<uint32_t>(server.devices(), &DeviceSpec::id);
    const auto same = [&](const ServerSpec& other) {
      return absl::c_equal(other.devices(), server.devices(),
                           [](const DeviceSpec& a, const DeviceSpec& b) {
                             return a.id() == b.id();
                           });
    };
    if (method_->from_master && !absl::c_all_of(job_.servers(), same) &&
        server.host() == job_.servers(0).host()) {
      Wrong("msg-job-one-environment", "devices");
    }
    if (ids.empty() || ids.back() + 1 == ids.size()) return;
    variables.push_back({"ASCEND_RT_VISIBLE_DEVICES", absl::StrJoin(ids, ",")});
  }

  void AddCommand(const Values& values, NodeLaunch& node) {
    Replacements all;
    Replacements braces;
    for (const auto& [name, value] : values) {
      const std::string brace = absl::StrCat("{", name, "}");
      const std::string shell = absl::StrCat("$", brace);
      all.insert(all.end(), {{absl::StrCat("\"", shell, "\""), value},
                             {shell, value},
                             {brace, value},
                             {absl::StrCat("$", name), value}});
      braces.insert(braces.end(), {{shell, shell}, {brace, value}});
    }
    const LaunchConditions is = {
        job_.servers_size() > 1,
        !range_,
        range_,
        tiered_,
        !options_.mpi_args.empty(),
        options_.ssh_port != 0 && options_.ssh_port != kSshPort,
        options_.standalone,
        !options_.standalone,
        !options_.rdzv_endpoint.empty(),
        !options_.rdzv_id.empty(),
        options_.local_addr};
    for (const MethodWord& row : method_->words) {
      if (row.when != nullptr && !(is.*row.when)) continue;
      for (const absl::string_view text : absl::StrSplit(row.text, ' ')) {
        LaunchWord word = {absl::StrReplaceAll(text, all), ""};
        if (absl::StrContains(text, '$')) {
          word.shell = absl::StrReplaceAll(text, braces);
        }
        node.command.push_back(std::move(word));
      }
    }
    node.gathered_name = std::string(method_->gathered_name);
    if (!node.gathered_name.empty()) node.gathered = node.command.size() - 1;
    if (method_->per_device) {
      node.processes = job_.servers(node.node_rank).devices_size();
    }
    node.command.push_back({options_.script, ""});
    AddArguments(values, node);
  }

  void AddArguments(const Values& values, NodeLaunch& node) {
    Replacements of_user;
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK",
                             "NNODES", "NPUS_PER_NODE", "WORLD_SIZE"}) {
      const auto value = values.find(name);
      if (value == values.end()) continue;
      of_user.push_back({absl::StrCat("{", name, "}"), value->second});
    }
    for (const std::string& argument : options_.arguments) {
      LaunchWord word = {absl::StrReplaceAll(argument, of_user), ""};
      for (const absl::string_view name : method_->variables) {
        if (argument == absl::StrCat("{", name, "}")) {
          word.shell = absl::StrCat("$", name);
        }
      }
      node.command.push_back(std::move(word));
    }
  }

  // The remarks use the words of the Rec SDK's guide.
  void AddRemarks(NodeLaunch& node) {
    node.remarks.push_back(absl::StrCat(
        "Nothing is started on this host: horovodrun of ",
        job_.servers(0).host(),
        " logs in. Put what it needs on this host alone into ~/.bashrc."));
    if (!options_.rank_table.empty()) return;
    const std::string& address = job_.servers(node.node_rank).address();
    node.remarks.insert(
        node.remarks.end(),
        {absl::StrCat("horovodrun brings the master's CM_WORKER_IP along: at "
                      "the top of ",
                      options_.script, ", behind \"import os\", add"),
         "if not os.getenv(\"RANK_TABLE_FILE\", \"\"):",
         absl::StrCat("    os.environ['CM_WORKER_IP'] = \"", address, "\"")});
  }

  const ClusterSpec& job_;
  const absl::Span<const HostFacts* const> facts_;
  const LaunchOptions& options_;
  const LaunchMethod* method_ = nullptr;
  std::string nnodes_;
  bool range_ = false;
  bool uniform_ = true;  // All servers have the same number of devices.
  bool tiered_ = false;
  size_t world_size_ = 0;
  uint32_t port_ = 0;
  std::string interfaces_;
  std::vector<FindingValue> mistakes_;
  std::vector<FindingValue> notes_;
};

// net.ipv4.ip_local_port_range as Linux has it (ip-sysctl).
constexpr uint32_t kFirstEphemeral = 32768;
constexpr uint32_t kLastEphemeral = 60999;

std::string PortsText(const PortSet::Range& range) {
  return absl::StrCat(range.first, "-", range.second);
}

// The most ports that any version of CANN takes, and those of the spec.
PortSet HcclRange(const ClusterSpec& job) {
  PortSet ports;
  const uint32_t first = job.hccl().base_port();
  if (first == 0) return ports;
  const uint32_t count =
      std::max(job.hccl().port_count(), CannPorts{}.possible);
  ports.Add(first, std::min<uint32_t>(65535, first + count - 1));
  return ports;
}

// The process that holds the port on the host, according to the sockets read.
std::optional<FindingValue> HolderOf(uint32_t port, const HostFacts& host) {
  for (const BoundSocket& socket : host.sockets().value().sockets()) {
    // A listener may take a port whose connections only wait for their end.
    if (socket.port() != port || !absl::StartsWith(socket.protocol(), "tcp") ||
        socket.state() == "TIME_WAIT") {
      continue;
    }
    return socket.pid() == 0 ? Worded("job-say-process-not-seen")
                             : Worded("job-say-process", socket.pid(),
                                      PrintableText(socket.command()));
  }
  return std::nullopt;
}

// Why the port cannot be used; nullopt if it is free.
std::optional<FindingValue> WhyNot(uint32_t port, const ClusterSpec& job,
                                   const HostFacts& master) {
  if (port > 65535) return Worded("job-say-port-not-valid");
  const PortSet hccl = HcclRange(job);
  if (hccl.Contains(port)) {
    return Worded("job-say-port-of-hccl", PortsText(hccl.ranges()[0]));
  }
  if (port == job.ssh_port() || port == kSshPort) {
    return Worded("job-say-port-of-ssh");
  }
  const auto holder = HolderOf(port, master);
  if (!holder.has_value()) return std::nullopt;
  return Worded("job-say-port-taken", master.host(), *holder);
}

}  // namespace

std::vector<absl::string_view> LaunchMethods() {
  return Each<absl::string_view>(AllLaunchMethods(), &LaunchMethod::name);
}

absl::StatusOr<Launch> MakeLaunch(const ClusterSpec& job,
                                  absl::Span<const HostFacts* const> facts,
                                  const LaunchOptions& options) {
  return Maker(job, facts, options).Make();
}

absl::StatusOr<MasterPort> ChooseMasterPort(const ClusterSpec& job,
                                            const HostFacts& master,
                                            uint32_t asked,
                                            absl::string_view option) {
  const std::string handed_out = PortsText({kFirstEphemeral, kLastEphemeral});
  MasterPort chosen = {asked != 0 ? asked : job.rendezvous_port(), {}};
  if (chosen.port != 0) {
    const auto why_not = WhyNot(chosen.port, job, master);
    if (why_not.has_value()) {
      return InvalidWords("msg-job-port-not-usable",
                          asked != 0 ? option : "cluster.yaml: rendezvous_port",
                          chosen.port, *why_not);
    }
  } else {
    chosen.port = kFirstMasterPort;
    while (WhyNot(chosen.port, job, master).has_value()) {
      if (++chosen.port > kLastMasterPort) {
        return InvalidWords("msg-job-no-free-port", kFirstMasterPort,
                            kLastMasterPort);
      }
    }
    chosen.notes.push_back(
        Worded("job-say-port-chosen", chosen.port, handed_out));
  }
  // Hosts were asked about the port that the job names, or about all candidates
  // (MakeObserveRequest).
  if (!IsKnown(master.sockets())) {
    chosen.notes.push_back(Worded("job-say-port-not-known", chosen.port,
                                  master.host(),
                                  MissingWords(MissingOf(master.sockets()))));
  }
  const auto reserved =
      PortSet::Parse(master.kernel().reserved_ports().value());
  if (chosen.port >= kFirstEphemeral && chosen.port <= kLastEphemeral &&
      !(reserved.ok() && reserved->Contains(chosen.port))) {
    chosen.notes.push_back(Worded("job-say-port-handed-out", chosen.port,
                                  handed_out, master.host()));
  }
  return chosen;
}

}  // namespace clusterd
