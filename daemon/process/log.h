// What a daemon says about itself: one line per event on standard error, each
// with the syslog level that journald understands:
//   <6>attached to controller.example:7443 as server0
// Not for results: those go to who asked for them.
#ifndef DAEMON_PROCESS_LOG_H_
#define DAEMON_PROCESS_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
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

// From now on, for the whole process, takes gRPC's own messages, such as
// handshakes that went wrong. Only errors; the `log` gets them as warnings,
// since they are about one connection. Handshakes that time out are counted
// instead: whoever connects and is silent must not fill a disk. `log` must live
// until the process ends or this is called with another one; null drops
// everything.
void SendGrpcLogTo(Log* log);

// Handshakes that have timed out since this was called last.
uint64_t TakeTimedOutHandshakes();

// Which client's TLS handshake with a server of this process failed, and why,
// from the lines that gRPC 1.51 logs under its trace "tcp":
//   READ 0x7fa838001170 (peer=ipv4:10.0.0.5:46112) error=OK
//   TCP:0x7fa838001170 got_error: UNKNOWN:FD Shutdown {… children:[UNKNOWN:Tls
//     handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate
//     verify failed {…}]}
// The message that gRPC logs by itself names no peer, and a connection that the
// other end closes in the middle gets none. The trace costs about 20 us a
// message and prints no content.
//
// Reads one message of gRPC, on the thread that logs it: "TLS handshake with
// ipv4:10.0.0.5:46112 failed: …" if it ends a handshake, otherwise empty. Also
// empty if the same was said of that address in the last ten minutes, and for a
// handshake that took too long. `peer`, if it is given, gets the address. Safe
// for concurrent use.
std::string ReadFailedHandshake(absl::string_view message,
                                std::string* peer = nullptr);

// From now on failed handshakes are logged as well, each with its peer, as
// warnings: for a process that listens. A client learns the failure from its
// call. SendGrpcLogTo ends it. `also` gets each line and its peer, from any
// thread, until this is called again; it must not block.
using FailedHandshakeListener =
    std::function<void(const std::string& peer, const std::string& line)>;
void TellFailedHandshakes(FailedHandshakeListener also = nullptr);

}  // namespace clusterd

#endif  // DAEMON_PROCESS_LOG_H_
