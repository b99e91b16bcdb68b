// What a daemon says about itself: one line per event on standard error, each
// with the syslog level that journald understands:
//   <6>attached to controller.example:7443 as server0
// Not for results: those go to who asked for them.
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

  // Writes one event. The text may come from somebody hostile.
  virtual void Write(LogLevel level, absl::string_view text) = 0;

  // The text is made of parts as absl::StrCat takes them.
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

// The line for an event: control bytes escaped, so that one event is one line
// and no terminal obeys it; cut at kMaxLogLineBytes, newline included.
std::string FormatLogLine(LogLevel level, bool with_level,
                          absl::string_view text);

// Writes to a file descriptor with one system call per line. What cannot be
// written is dropped: neither a full disk must stop a daemon, nor a journald
// that hangs with its disk and no longer reads its socket. In that case one
// line waits for 200 ms, and the lines behind it do not wait.
class DescriptorLog final : public Log {
 public:
  // `fd` stays the caller's. `with_level`: whether lines begin with "<N>".
  DescriptorLog(int fd, bool with_level);

  void Write(LogLevel level, absl::string_view text) override;

 private:
  const int fd_;
  const bool with_level_;
  std::atomic<bool> hangs_{false};  // As the last line found it.
};

// From now on, for the whole process, takes gRPC's own messages. Only errors;
// the `log` gets them as warnings, since they are about one connection, but not
// of handshakes that went wrong: these lines name no peer, so whoever has
// accepted the connection says it. `log` must live until the process ends or
// this is called with another one; null drops everything.
void SendGrpcLogTo(Log* log);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_LOG_H_
