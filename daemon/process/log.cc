#include "daemon/process/log.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "daemon/process/failed_handshakes.h"
#include "grpc/grpc.h"
#include "grpc/support/log.h"

namespace clusterd {
namespace {

// gRPC's hook has no room for a pointer.
std::atomic<Log*> target{nullptr};
std::atomic<uint64_t> timed_out{0};
ABSL_CONST_INIT absl::Mutex handshakes_mutex(absl::kConstInit);
// Never deleted: gRPC's threads may log until the process ends.
FailedHandshakeListener* const on_failed_handshake
    ABSL_PT_GUARDED_BY(handshakes_mutex) = new FailedHandshakeListener();

void Forward(gpr_log_func_args* message) {
  Log* const log = target.load();
  if (log == nullptr) return;
  if (message->severity == GPR_LOG_SEVERITY_INFO) {
    std::string peer;
    const std::string failed = ReadFailedHandshake(message->message, &peer);
    if (!failed.empty()) {
      absl::MutexLock lock(&handshakes_mutex);
      if (*on_failed_handshake) (*on_failed_handshake)(peer, failed);
      log->Warning(failed);
    }
  }
  // gRPC 1.51 calls it an error that no certificate carries the name a client
  // dialled. None of ours does: they carry SPIFFE ids. And what a server that
  // stops breaks off. What it says of a handshake that failed names no peer,
  // and who cannot listen says so in our words.
  const absl::string_view text = message->message;
  const bool is_news =
      !absl::StartsWith(text, "No match found for server name") &&
      !absl::StrContains(text, "Listener stopped serving") &&
      !absl::StartsWith(text, "Handshake failed with fatal error") &&
      !absl::StartsWith(text, "UNKNOWN:No address added");
  if (message->severity != GPR_LOG_SEVERITY_ERROR || !is_news) {
    return;
  }
  if (absl::StrContains(message->message, "Handshake timed out")) {
    ++timed_out;
    return;
  }
  log->Warning(absl::StrCat("gRPC: ", message->message));
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
  grpc_tracer_set_enabled("tcp", 0);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&Forward);
}

void TellFailedHandshakes(FailedHandshakeListener also) {
  {
    absl::MutexLock lock(&handshakes_mutex);
    *on_failed_handshake = std::move(also);
  }
  grpc_tracer_set_enabled("tcp", 1);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO);
}

uint64_t TakeTimedOutHandshakes() { return timed_out.exchange(0); }

}  // namespace clusterd
