// A text file that several runs of the tool read and edit at once, in place and
// under flock: hccn.conf, and the simulated devices' state.
#ifndef TESTS_SIM_TOOL_LOCKED_FILE_H_
#define TESTS_SIM_TOOL_LOCKED_FILE_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace clusterd::sim {

class LockedFile {
 public:
  enum class Edited { kYes, kNoFile, kNotWritable, kNotLocked, kDiskFull };

  virtual ~LockedFile() = default;

  virtual bool Exists() const = 0;
  // nullopt if it cannot be opened. A directory can be, and is empty.
  virtual std::optional<std::string> Read() const = 0;
  // Hands the text to `change` and stores the result in the same file, unless
  // it is the same. After kDiskFull the text is as before.
  virtual Edited Edit(
      const std::function<void(std::string*)>& change) const = 0;
};

class PosixLockedFile final : public LockedFile {
 public:
  enum class Kind {
    // Must be there, and readers keep each other out, as the vendor's tool has
    // it: hccn.conf.
    kGiven,
    // Edit makes it, and readers share it: the state.
    kMadeWhenEdited,
  };
  // A kGiven file is empty for a moment while it is written; then
  // `while_empty` is called, under the lock.
  PosixLockedFile(std::string path, Kind kind,
                  std::function<void()> while_empty = {})
      : path_(std::move(path)),
        kind_(kind),
        while_empty_(std::move(while_empty)) {}

  bool Exists() const override;
  std::optional<std::string> Read() const override;
  Edited Edit(const std::function<void(std::string*)>& change) const override;

 private:
  const std::string path_;
  const Kind kind_;
  const std::function<void()> while_empty_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_LOCKED_FILE_H_
