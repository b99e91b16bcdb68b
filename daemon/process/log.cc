#include "daemon/process/log.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpc/grpc.h"
#include "grpc/support/log.h"

namespace clusterd {
namespace {

// Up to `end`, which is left out; empty if it is not there.
absl::string_view Until(absl::string_view text, absl::string_view end) {
  const size_t at = text.find(end);
  return at == absl::string_view::npos ? "" : text.substr(0, at);
}

absl::string_view Behind(absl::string_view text, absl::string_view mark) {
  const size_t at = text.find(mark);
  return at == absl::string_view::npos ? "" : text.substr(at + mark.size());
}

// Of what a thread has read last, gRPC's pointer and the other end. The thread
// that reads the last bytes of a handshake is the one that fails it.
thread_local std::string read_connection;
thread_local std::string read_peer;

struct ReasonWords {
  const char* theirs;
  const char* ours;
};

constexpr char kNotSigned[] =
    "its certificate is not signed by the CA that we read, or not valid now";

// The first row with a text that is in OpenSSL's or gRPC's.
constexpr ReasonWords kReasons[] = {
    {"certificate verify failed", kNotSigned},
    // OpenSSL says this when a signature was made by another key.
    {"EVP lib", kNotSigned},
    {"peer did not return a certificate", "it shows no certificate"},
    {"wrong version number", "it does not speak TLS"},
    {"http request", "it does not speak TLS but HTTP"},
    {"Socket closed",
     "it closed the connection in the middle; it may not trust our "
     "certificate, or only look whether the port is open"},
    {"Connection reset", "it reset the connection in the middle"}};

std::string Reason(absl::string_view message) {
  for (const ReasonWords& words : kReasons) {
    if (absl::StrContains(message, words.theirs)) return words.ours;
  }
  const absl::string_view own =
      Until(Behind(message, "handshake failed: "), " {");
  return own.empty() ? "gRPC does not say why" : std::string(own);
}

constexpr absl::Duration kRepeatAfter = absl::Minutes(10);
// More addresses than fail by accident; those of a scan are not all told.
constexpr size_t kMaxRemembered = 1000;

// Whether nobody was told so lately. gRPC's hook has no room for an object.
bool IsNews(const std::string& what) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const told = new std::map<std::string, absl::Time>();
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex);
  for (auto it = told->begin(); it != told->end();) {
    it = now - it->second < kRepeatAfter ? std::next(it) : told->erase(it);
  }
  return told->size() < kMaxRemembered && told->emplace(what, now).second;
}

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
  if (message->severity != GPR_LOG_SEVERITY_ERROR || !is_news) return;
  if (absl::StrContains(message->message, "Handshake timed out")) {
    ++timed_out;
    return;
  }
  log->Warning("gRPC: ", message->message);
}

}  // namespace

std::string ReadFailedHandshake(absl::string_view message, std::string* named) {
  if (absl::ConsumePrefix(&message, "READ ")) {
    read_connection = std::string(Until(message, " "));
    read_peer = std::string(Until(Behind(message, "(peer="), ")"));
    return "";
  }
  if (!absl::ConsumePrefix(&message, "TCP:")) return "";
  const absl::string_view connection = Until(message, " got_error: ");
  const bool failed = absl::StrContains(message, "handshake failed") ||
                      absl::StrContains(message, "Handshake read failed");
  if (connection.empty() || !failed ||
      absl::StrContains(message, "timed out") ||
      absl::StrContains(message, "Listener stopped serving")) {
    return "";
  }
  // A read that failed names its peer itself.
  std::string peer(Until(Behind(message, "target_address:\""), "\""));
  if (peer.empty()) {
    peer = connection == read_connection ? read_peer
                                         : "a peer that gRPC does not name";
  }
  const std::string reason = Reason(message);
  // Each attempt has a port of its own.
  if (!IsNews(absl::StrCat(peer.substr(0, peer.rfind(':')), " ", reason))) {
    return "";
  }
  if (named != nullptr) *named = peer;
  return absl::StrCat("TLS handshake with ", peer, " failed: ", reason);
}

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
