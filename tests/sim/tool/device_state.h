// The state of one server's simulated devices, and their faults: keys and
// values in a text file, one `key=value` per line or several with `;` between:
//   product=A2; ip.0=10.0.0.1; mask.0=255.255.255.0
//   net_health.3=2
//   lldp.0=Chassis ID TLV\n\tMAC: 00:11:22:33:44:55
// A key ends in the device id if it belongs to one device. README.md of
// tests/sim lists the keys. Pieces without `=` are ignored. In values `\n`,
// `\t`, `\;` and `\\` stand for the character.
#ifndef TESTS_SIM_TOOL_DEVICE_STATE_H_
#define TESTS_SIM_TOOL_DEVICE_STATE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "tests/sim/tool/locked_file.h"

namespace clusterd::sim {

// A value type.
class DeviceState {
 public:
  static DeviceState Parse(absl::string_view text);
  // One key a line, sorted; Parse of it gives the same state.
  std::string Text() const;

  std::optional<std::string> Find(const std::string& key) const;
  // Decimal, 0x… or negative; nullopt if absent or not a number.
  std::optional<long> Number(const std::string& key) const;
  void Set(const std::string& key, const std::string& value);
  void Erase(const std::string& key);

  const std::map<std::string, std::string>& values() const& { return values_; }
  // A loop over a temporary's values would read freed memory.
  void values() const&& = delete;

 private:
  std::map<std::string, std::string> values_;
};

// "ip", 3 -> "ip.3".
std::string DeviceKey(absl::string_view name, int device);

// The state of one server, which several runs may change at the same time.
class StateFile {
 public:
  explicit StateFile(const std::string& path)
      : file_(std::make_shared<PosixLockedFile>(
            path, PosixLockedFile::Kind::kMadeWhenEdited)) {}
  explicit StateFile(std::shared_ptr<const LockedFile> file)
      : file_(std::move(file)) {}

  // Empty if the file does not exist.
  DeviceState Read() const;
  // False if the file cannot be written; `change` has then not taken effect.
  bool Update(const std::function<void(DeviceState&)>& change) const;

 private:
  std::shared_ptr<const LockedFile> file_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_DEVICE_STATE_H_
