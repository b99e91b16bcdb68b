// A daemon's log: one line per event on standard error, each with the syslog
// level that journald understands:
//   <6>attached to controller.example:7443 as server0
// Results are not logged: they go to the caller.
#ifndef DAEMON_PROCESS_LOG_H_
#define DAEMON_PROCESS_LOG_H_

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// The numbers are syslog's.
enum class LogLevel { kError = 3, kWarning = 4, kNotice = 5, kInfo = 6 };

// Safe for concurrent use.
class Log {
 public:
  virtual ~Log() = default;

  // Writes one event. The text may come from an attacker.
  virtual void Write(LogLevel level, absl::string_view text) = 0;

  // The text is made of parts, as for absl::StrCat.
  template <typename... Parts>
  void Error(const Parts&... parts) {
    Write(LogLevel::kError, absl::StrCat(parts...));
  }
  template <typename... Parts>
  void Warning(const Parts&... parts) {
    Write(LogLevel::kWarning, absl::StrCat(parts...));
  }
  template <typename... Parts>
  void Notice(const Parts&... parts) {
    Write(LogLevel::kNotice, absl::StrCat(parts...));
  }
  template <typename... Parts>
  void Info(const Parts&... parts) {
    Write(LogLevel::kInfo, absl::StrCat(parts...));
  }
};

inline constexpr size_t kMaxLogLineBytes = 2000;

// Returns an event's line: control bytes are escaped, so that one event is one
// line and cannot control a terminal; cut at kMaxLogLineBytes with the newline.
std::string FormatLogLine(LogLevel level, bool with_level,
                          absl::string_view text);

// Writes to a file descriptor with one system call per line. Drops what cannot
// be written: neither a full disk must stop a daemon, nor a journald that hangs
// with its disk and no longer reads its socket. Then one line waits for 200 ms,
// and the lines after it do not wait.
class DescriptorLog final : public Log {
 public:
  // The caller keeps `fd`. `with_level`: whether lines begin with "<N>".
  DescriptorLog(int fd, bool with_level);

  void Write(LogLevel level, absl::string_view text) override;

 private:
  const int fd_;
  const bool with_level_;
  std::atomic<bool> hangs_{false};  // True after a lost line.
};

// From now on receives gRPC's own messages of the whole process. Only errors;
// the `log` gets them as warnings, since they concern one connection. Handshake
// errors name no peer and are omitted: the accepting code logs them. `log` must
// live until the process ends or the next call; null drops all.
void SendGrpcLogTo(Log* log);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_LOG_H_
