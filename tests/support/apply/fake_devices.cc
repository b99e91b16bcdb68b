#include "tests/support/apply/fake_devices.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"
#include "config/values/setting.h"
#include "tests/sim/tool/run_tool.h"
#include "tests/sim/tool/tool_server.h"

namespace clusterd {
namespace {

using sim::DeviceKey;
using sim::DeviceState;
using sim::LockedFile;

constexpr char kDeviceConf[] = "/etc/hccn.conf";
constexpr size_t kMaxConfBytes = 2000000;
constexpr time_t kNow = 1700000000;
// The vendor tool's records do not name this call; every change makes it.
constexpr char kRefuseChanges[] = "rc.0x99";

CommandResult Killed() {
  CommandResult result;
  result.timed_out = true;
  result.signal = 9;
  return result;
}

// False if not all of it could be written.
bool WriteOver(OpenFile* file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const auto wrote = file->WriteAt(done, text.substr(done));
    if (!wrote.ok()) return false;
    done += *wrote;
  }
  return file->Truncate(text.size()).ok();
}

void SetOrErase(DeviceState* state, const std::string& key,
                const std::string& value) {
  if (value.empty()) {
    state->Erase(key);
  } else {
    state->Set(key, value);
  }
}

}  // namespace

class FakeDevices::StateInMemory final : public LockedFile {
 public:
  explicit StateInMemory(std::string text) : text_(std::move(text)) {}

  bool Exists() const override { return true; }
  std::optional<std::string> Read() const override { return text_; }
  Edited Edit(const std::function<void(std::string*)>& change) const override {
    change(&text_);
    edited_ = true;
    return Edited::kYes;
  }

  bool edited() const { return edited_; }

 private:
  mutable std::string text_;
  mutable bool edited_ = false;
};

class FakeDevices::ConfInMemory final : public LockedFile {
 public:
  ConfInMemory(FakeFileSystem* files, const StateInMemory* state, Edits edits)
      : files_(files), state_(state), edits_(edits) {}

  bool Exists() const override { return files_->Stat(kDeviceConf).ok(); }
  std::optional<std::string> Read() const override {
    return files_->Content(kDeviceConf);
  }
  Edited Edit(const std::function<void(std::string*)>& change) const override {
    if (edits_ == Edits::kLost) return Edited::kYes;
    if (state_->edited() && edits_ != Edits::kKept) {
      if (edits_ == Edits::kRefusedAfterDevice) return Edited::kNotWritable;
      killed_ = edits_ == Edits::kKilledAfterDevice;
      return Edited::kYes;
    }
    auto file = files_->Open(kDeviceConf, OpenMode::kReadWrite);
    if (!file.ok()) return Exists() ? Edited::kNotWritable : Edited::kNoFile;
    if (!(*file)->TryLock().value_or(false)) {
      // The tool waits forever.
      killed_ = true;
      return Edited::kNotLocked;
    }
    return EditLocked(file->get(), change);
  }

  bool killed() const { return killed_; }

 private:
  Edited EditLocked(OpenFile* file,
                    const std::function<void(std::string*)>& change) const {
    const auto before = file->ReadAll(kMaxConfBytes);
    if (!before.ok()) return Edited::kNotWritable;
    std::string after = *before;
    change(&after);
    if (after == *before) return Edited::kYes;
    const bool written = WriteOver(file, after);
    if (!written) (void)WriteOver(file, *before);
    (void)file->Sync();
    return written ? Edited::kYes : Edited::kDiskFull;
  }

  FakeFileSystem* const files_;
  const StateInMemory* const state_;
  const Edits edits_;
  mutable bool killed_ = false;
};

FakeDevices::FakeDevices(FakeFileSystem* files) : files_(files) {
  // On this product the tool compares a new address with its siblings'.
  state_.Set("product", "A2-board-0x0");
  state_.Set("retry.ms", "0");
}

std::vector<uint32_t> FakeDevices::ids() const {
  std::vector<uint32_t> ids;
  for (const auto& [id, device] : devices_) ids.push_back(id);
  return ids;
}

void FakeDevices::Add(uint32_t id, const Device& device) {
  devices_[id] = device;
  std::string conf = files_->Content(kDeviceConf).value_or("");
  const auto add = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    absl::StrAppend(&conf, HccnConfKey(key, id), "=", value, "\n");
  };
  add("address", device.address);
  add("netmask", device.netmask);
  add("gateway", device.gateway);
  if (device.detect != "0.0.0.0") add("netdetect", device.detect);
  add("tls_enable", device.tls ? "1" : "0");
  for (const std::string& route : device.routes) {
    const std::vector<std::string> words = absl::StrSplit(route, ' ');
    add(absl::StrCat("route_address_", words[0], "_netmask_", words[2]),
        "gateway_" + words[1]);
  }
  files_->Put(kDeviceConf, conf, 0640, 0, 12);
}

DeviceState FakeDevices::Now() const {
  DeviceState state = state_;
  state.Set("devices", absl::StrJoin(ids(), ","));
  for (const auto& [id, device] : devices_) {
    const auto put = [&state, id = id](const char* name,
                                       const std::string& value) {
      SetOrErase(&state, DeviceKey(name, static_cast<int>(id)), value);
    };
    put("ip", device.address);
    put("mask", device.netmask);
    put("gateway", device.gateway);
    put("netdetect", device.detect);
    put("mtu", device.mtu);
    put("bitmap", device.pfc);
    put("roce_port", device.roce_port);
    put("dscp_tc", device.dscp);
    put("tls", device.tls ? "1" : "0");
    put("routes", absl::StrJoin(device.routes, ","));
  }
  return state;
}

void FakeDevices::Take(const DeviceState& state) {
  state_ = state;
  for (auto& [id, device] : devices_) {
    const auto get = [&state, id = id](const char* name) {
      return state.Find(DeviceKey(name, static_cast<int>(id))).value_or("");
    };
    device.address = get("ip");
    device.netmask = get("mask");
    device.gateway = get("gateway");
    device.detect = get("netdetect").empty() ? "0.0.0.0" : get("netdetect");
    device.mtu = get("mtu");
    device.pfc = get("bitmap");
    device.roce_port = get("roce_port");
    // The tool's list has all pairs ever set; the device has a map.
    const std::string list = get("dscp_tc");
    device.dscp =
        SettingText(MapValue(*ParseDscpClasses(absl::StripSuffix(list, ","))));
    device.tls = get("tls") == "1";
    device.routes = absl::StrSplit(get("routes"), ',', absl::SkipEmpty());
  }
}

FakeDevices::Fault FakeDevices::TakeFault(uint32_t id, bool half) {
  Device& device = devices_[id];
  if (half) return Fault::kHangsHalfWay;
  if (device.faults_left == 0) return Fault::kNone;
  if (device.faults_left > 0) --device.faults_left;
  return device.fault;
}

CommandResult FakeDevices::Run(
    const std::vector<std::string>& argv, Edits edits,
    const std::map<std::string, std::string>& script) {
  DeviceState before = Now();
  for (const auto& [key, value] : script) before.Set(key, value);
  const auto state = std::make_shared<StateInMemory>(before.Text());
  const auto conf = std::make_shared<ConfInMemory>(files_, state.get(), edits);
  sim::ToolServer server{sim::StateFile(state), sim::HccnConf(conf)};
  server.now = kNow;
  sim::FakeTerminal terminal;
  CommandResult result;
  result.exit_status =
      sim::RunTool({argv.begin() + 1, argv.end()}, server, &terminal);
  result.standard_output = terminal.out();
  result.standard_error = terminal.err();
  if (state->edited()) {
    DeviceState after = DeviceState::Parse(*state->Read());
    for (const auto& [key, value] : script) after.Erase(key);
    Take(after);
  }
  return conf->killed() ? Killed() : result;
}

CommandResult FakeDevices::RunTool(const std::vector<std::string>& argv,
                                   bool half) {
  uint32_t id = 0;
  const bool known = argv.size() > 4 && absl::SimpleAtoi(argv[2], &id) &&
                     devices_.count(id) > 0;
  if (!known) return Run(argv, Edits::kKept, {});
  if (IsSilent(id)) return Killed();
  if (argv[4] == "-g") return Run(argv, Edits::kKept, {});
  const auto script = [id](const char* key, const char* value) {
    return std::map<std::string, std::string>{
        {DeviceKey(key, static_cast<int>(id)), value}};
  };
  switch (TakeFault(id, half)) {
    case Fault::kDeviceRefuses:
      return Run(argv, Edits::kKept, script(kRefuseChanges, "1"));
    case Fault::kActsAndFails:
      return Run(argv, Edits::kRefusedAfterDevice, {});
    case Fault::kSuccessChangesNothing:
      return Run(argv, Edits::kKept, script("lies", "1"));
    case Fault::kSuccessLosesKey:
      return Run(argv, Edits::kLostAfterDevice, {});
    case Fault::kHangsHalfWay:
      return Run(argv, Edits::kKilledAfterDevice, {});
    case Fault::kBusy:
      return Run(argv, Edits::kKept, script("busy", "-1"));
    case Fault::kSpeaksNoUtf8: {
      CommandResult result;
      result.exit_status = 1;
      result.standard_error = "hccn_tool: \xca\xa7\xb0\xdc\n";
      return result;
    }
    case Fault::kHangs:
    case Fault::kSilent:
      return Killed();
    case Fault::kNone:
      break;
  }
  return Run(argv, Edits::kKept, {});
}

CommandResult FakeDevices::RunOverCopy(const std::vector<std::string>& argv) {
  uint32_t id = 0;
  if (absl::SimpleAtoi(argv[2], &id) && IsSilent(id)) return Killed();
  return Run(argv, Edits::kLost, {});
}

void FakeDevices::Boot() {
  for (auto& [id, device] : devices_) {
    Device fresh;
    fresh.tls = false;
    fresh.fault = device.fault;
    fresh.faults_left = device.faults_left;
    device = fresh;
  }
  for (const uint32_t id : ids()) {
    (void)Run({"hccn_tool", "-i", absl::StrCat(id), "-cfg", "recovery"},
              Edits::kLost, {});
  }
}

bool FakeDevices::IsSilent(uint32_t id) const {
  const auto found = devices_.find(id);
  return found != devices_.end() && found->second.fault == Fault::kSilent;
}

std::string FakeDevices::State(uint32_t id) const {
  // A device's answers about its last recovery, and the next health query, are
  // not settings.
  const std::set<std::string> skipped = {
      DeviceKey("cfg_status", static_cast<int>(id)),
      DeviceKey("detect_pending", static_cast<int>(id))};
  const DeviceState state = Now();
  std::vector<std::string> values;
  for (const auto& [key, value] : state.values()) {
    const bool mine = absl::EndsWith(key, absl::StrCat(".", id));
    if (mine && skipped.count(key) == 0) {
      values.push_back(absl::StrCat(key, "=", value));
    }
  }
  return absl::StrJoin(values, " ");
}

}  // namespace clusterd
