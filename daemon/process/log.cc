#include "daemon/process/log.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "grpc/support/log.h"

namespace clusterd {
namespace {

// gRPC's hook does not take a pointer.
std::atomic<Log*> target{nullptr};

void Forward(gpr_log_func_args* message) {
  Log* const log = target.load();
  if (log == nullptr || message->severity != GPR_LOG_SEVERITY_ERROR) return;
  // gRPC 1.51 reports as an error that no certificate has the dialled name
  // (ours have SPIFFE ids), and connections that a stopping server ends. Its
  // handshake errors name no peer, and listening errors are logged elsewhere.
  const absl::string_view text = message->message;
  const bool is_news =
      !absl::StartsWith(text, "No match found for server name") &&
      !absl::StrContains(text, "Listener stopped serving") &&
      !absl::StrContains(text, "Handshake timed out") &&
      !absl::StartsWith(text, "Handshake failed with fatal error") &&
      !absl::StartsWith(text, "UNKNOWN:No address added");
  if (is_news) log->Warning("gRPC: ", text);
}

}  // namespace

std::string FormatLogLine(LogLevel level, bool with_level,
                          absl::string_view text) {
  std::string line;
  if (with_level) absl::StrAppend(&line, "<", static_cast<int>(level), ">");
  for (const char c : text) {
    if (line.size() + 8 > kMaxLogLineBytes) {
      line += "...";
      break;
    }
    const unsigned char byte = static_cast<unsigned char>(c);
    if (absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&line, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  line += '\n';
  return line;
}

DescriptorLog::DescriptorLog(int fd, bool with_level)
    : fd_(fd), with_level_(with_level) {
  const timeval patience = {0, 200'000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

void DescriptorLog::Write(LogLevel level, absl::string_view text) {
  const std::string line = FormatLogLine(level, with_level_, text);
  const int flags = MSG_NOSIGNAL | (hangs_ ? MSG_DONTWAIT : 0);
  ssize_t written;
  do {
    written = send(fd_, line.data(), line.size(), flags);
    if (written < 0 && errno == ENOTSOCK) {
      written = write(fd_, line.data(), line.size());
    }
  } while (written < 0 && errno == EINTR);
  hangs_ = written < 0 && errno == EAGAIN;
}

void SendGrpcLogTo(Log* log) {
  target.store(log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&Forward);
}

}  // namespace clusterd
