// /etc/hccn.conf as the vendor's tool reads and edits it:
//   address_0=10.20.0.17
//   netmask_0=255.255.255.0
// One `key_<device>=value` a line, nothing trimmed, the first match wins. A
// write drops the lines of that key and appends the new one. The file is edited
// in place under flock(LOCK_EX): truncated, then written, so a reader without
// the lock may find it empty; a file that is renamed over meanwhile loses the
// key; and a last line without a newline is joined to the next key.
#ifndef TESTS_SIM_TOOL_HCCN_CONF_H_
#define TESTS_SIM_TOOL_HCCN_CONF_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/tool/failure.h"
#include "tests/sim/tool/locked_file.h"

namespace clusterd::sim {

class HccnConf {
 public:
  // Bytes the tool reads as one line; a longer line counts as several.
  static constexpr size_t kMaxLineBytes = 383;
  static constexpr size_t kMaxFileBytes = 1024000;

  // Every write calls `while_empty` between truncating the file and writing it.
  explicit HccnConf(const std::string& path,
                    std::function<void()> while_empty = {})
      : file_(std::make_shared<PosixLockedFile>(
            path, PosixLockedFile::Kind::kGiven, std::move(while_empty))) {}
  explicit HccnConf(std::shared_ptr<const LockedFile> file)
      : file_(std::move(file)) {}

  // ConfMissing if the file does not exist.
  Outcome RequireFile() const;
  // The value of the first line `key=…`. ConfMissing, or ConfUnreadable if the
  // file cannot be opened. A directory can be opened and holds no key.
  Outcome Read(const std::string& key, std::optional<std::string>* value) const;
  // The whole text; fails as Read does.
  Outcome ReadAll(std::string* text) const;
  // ConfMissing, ConfUnwritable or ConfFull; the file is then unchanged.
  Outcome Write(const std::string& key, const std::string& value) const;
  // Adds the line. Before that the first line that holds all of `replaced`, if
  // there are any, goes. Fails as Write does.
  Outcome Append(const std::string& added,
                 const std::vector<std::string>& replaced = {}) const;
  // Drops lines that contain `part` anywhere, as the tool does for a gateway;
  // the newline belongs to the line. ConfMissing or ConfUnwritable.
  Outcome RemoveContaining(const std::string& part) const;
  // Drops the lines of exactly this key.
  Outcome Remove(const std::string& key) const;
  // The whole text for a command that may change it: ConfUnreadable, too, if
  // the file may not be written.
  Outcome ReadToChange(std::string* text) const;

 private:
  using Change = std::function<void(std::string*)>;
  Outcome Edit(const Change& change) const;

  std::shared_ptr<const LockedFile> file_;
};

// Calls `visit` with each line as the tool reads it, with its newline if it has
// one.
void ForEachConfLine(const std::string& text,
                     const std::function<void(const std::string&)>& visit);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_HCCN_CONF_H_
