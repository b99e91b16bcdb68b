#include "tests/sim/tool/driver.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace clusterd::sim {
namespace {

// Return codes of the vendor's driver library.
constexpr long kOperationNotPermitted = 46;
// Health of a device that is not in the library's list of living ones.
constexpr long kNotInList = 0xffffffff;
// The tool asks a silent device once a second for this long.
constexpr int kHealthTries = 300;
constexpr int kDefaultRetryMs = 1000;

void SleepMs(long ms) {
  timespec left{ms / 1000, (ms % 1000) * 1000000};
  while (ms > 0 && nanosleep(&left, &left) != 0) {
  }
}

Outcome FromReturnCode(long code) {
  if (code == 0) return std::nullopt;
  if (code == kOperationNotPermitted) return failures::PermissionDenied();
  return failures::CommandFailed();
}

Outcome FromDeviceResult(long code) {
  switch (code) {
    case 0:
      return std::nullopt;
    case -16:
    case 0x300b:
      return failures::Busy();
    case -13:
      return failures::PermissionDenied();
    case -67:
      return failures::LinkDown();
    case 0x100:
      return failures::LockTimeout();
    default:
      return failures::CommandFailed();
  }
}

// A code such as "0x21" that is not a Mailbox.
bool IsUnlistedCall(const std::string& text) {
  constexpr Mailbox kListed[] = {
      Mailbox::kGetLldp,    Mailbox::kSetGateway,  Mailbox::kGetGateway,
      Mailbox::kGetMac,     Mailbox::kGetLink,     Mailbox::kGetMtu,
      Mailbox::kGetOptical, Mailbox::kGetVnic,     Mailbox::kGetProcess,
      Mailbox::kGetDetect,  Mailbox::kGetLinkStat, Mailbox::kGetAddress,
      Mailbox::kGetSpeed,   Mailbox::kPing,        Mailbox::kHccsPing,
  };
  if (!absl::StartsWith(text, "0x")) return false;
  const long number = strtol(text.c_str(), nullptr, 16);
  return std::none_of(
      std::begin(kListed), std::end(kListed),
      [number](Mailbox call) { return static_cast<long>(call) == number; });
}

}  // namespace

Driver::Driver(StateFile file, uid_t uid)
    : file_(std::move(file)),
      state_(file_.Read()),
      privileged_(
          uid == 0 ||
          uid == static_cast<uid_t>(state_.Number("root_uid").value_or(0))),
      product_(ProductOf(state_)) {}

void Driver::HangIf(const std::string& key) const {
  const auto value = state_.Find(key);
  if (!value || *value == "0") return;
  for (;;) pause();
}

Outcome Driver::Begin(int device) {
  SleepMs(state_.Number(DeviceKey("delay", device) + ".ms").value_or(0));
  HangIf(DeviceKey("hang", device));
  const std::string key = DeviceKey("busy", device);
  if (state_.Number(key).value_or(0) == 0) return std::nullopt;
  // Two runs may take one off at the same time, so the file decides.
  bool busy = false;
  file_.Update([&](DeviceState& state) {
    const long left = state.Number(key).value_or(0);
    busy = left != 0;
    if (left > 0) state.Set(key, absl::StrCat(left - 1));
  });
  if (!busy) return std::nullopt;
  return failures::Busy();
}

Outcome Driver::RequireHealth(int device) {
  const long booting = state_.Number(DeviceKey("booting", device)).value_or(0);
  for (int tries = 0; tries < booting || LibraryCode("health", device) != 0;
       ++tries) {
    if (tries == kHealthTries) return failures::HealthUnknown();
    SleepMs(retry_ms());
  }
  const long health = state_.Number(DeviceKey("health", device)).value_or(0);
  if (health == kNotInList) return failures::DeviceAbsent();
  return std::nullopt;
}

Outcome Driver::Ask(Mailbox call, int device) const {
  const std::string name = absl::StrFormat("0x%x", static_cast<int>(call));
  HangIf("hang.mailbox");
  HangIf(absl::StrCat("hang.", name));
  HangIf(DeviceKey(absl::StrCat("hang.", name), device));
  auto code = [&](const char* kind) {
    const std::string key = absl::StrCat(kind, ".", name);
    const auto own = state_.Number(DeviceKey(key, device));
    return own ? *own : state_.Number(key).value_or(0);
  };
  const long result = code("res");
  // The tool only distinguishes this one if two pings share a resource.
  if (call == Mailbox::kHccsPing && result == 16) return failures::Occupied();
  if (Outcome failure = FromReturnCode(code("rc"))) return failure;
  return FromDeviceResult(result);
}

Outcome Driver::AskUnlisted(int device) const {
  HangIf("hang.mailbox");
  for (const auto& [key, value] : state_.values()) {
    const std::vector<std::string> parts = absl::StrSplit(key, '.');
    if (parts.size() < 2 || !IsUnlistedCall(parts[1])) continue;
    const bool for_another =
        parts.size() > 2 && parts[2] != std::to_string(device);
    if (for_another) continue;
    if (parts[0] == "hang") HangIf(key);
    const long code = state_.Number(key).value_or(0);
    Outcome failure;
    if (parts[0] == "rc") failure = FromReturnCode(code);
    if (parts[0] == "res") failure = FromDeviceResult(code);
    if (failure) return failure;
  }
  return std::nullopt;
}

Outcome Driver::AskToChange(int device) const {
  if (!privileged_) return failures::PermissionDenied();
  if (Outcome failure = AskUnlisted(device)) return failure;
  SleepMs(state_.Number("delay.set.ms").value_or(0));
  HangIf("hang.set");
  HangIf(DeviceKey("hang.set", device));
  return std::nullopt;
}

long Driver::LibraryCode(const std::string& call, int device) const {
  HangIf("hang." + call);
  HangIf(DeviceKey("hang." + call, device));
  const std::string key = "rc." + call;
  const auto own = state_.Number(DeviceKey(key, device));
  return own ? *own : state_.Number(key).value_or(0);
}

Outcome Driver::CallLibrary(const std::string& call, int device) const {
  return FromReturnCode(LibraryCode(call, device));
}

std::optional<std::string> Driver::Value(const std::string& name,
                                         int device) const {
  return state_.Find(DeviceKey(name, device));
}

std::optional<long> Driver::Number(const std::string& name, int device) const {
  return state_.Number(DeviceKey(name, device));
}

std::optional<std::string> Driver::Setting(const std::string& key) const {
  return state_.Find(key);
}

void Driver::Change(const std::string& name, int device,
                    const std::string& value) {
  const std::string key = DeviceKey(name, device);
  state_.Set(key, value);
  file_.Update([&](DeviceState& state) { state.Set(key, value); });
}

void Driver::Erase(const std::string& name, int device) {
  const std::string key = DeviceKey(name, device);
  state_.Erase(key);
  file_.Update([&](DeviceState& state) { state.Erase(key); });
}

int Driver::retry_ms() const {
  return static_cast<int>(state_.Number("retry.ms").value_or(kDefaultRetryMs));
}

}  // namespace clusterd::sim
