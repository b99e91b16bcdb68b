#include "daemon/process/grpc_log.h"

#include <atomic>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpc/support/log.h"

namespace clusterd {
namespace {

// gRPC's hook has no room for a pointer.
std::atomic<Log*> target{nullptr};

// gRPC 1.51 calls it an error that no certificate carries the name a client
// dialled. None of ours does: they carry SPIFFE ids.
bool IsNoNews(absl::string_view message) {
  return absl::StartsWith(message, "No match found for server name");
}

void Forward(gpr_log_func_args* message) {
  Log* const log = target.load();
  if (log == nullptr || message->severity != GPR_LOG_SEVERITY_ERROR ||
      IsNoNews(message->message)) {
    return;
  }
  log->Warning(absl::StrCat("gRPC: ", message->message));
}

}  // namespace

void SendGrpcLogTo(Log* log) {
  target.store(log);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function(&Forward);
}

}  // namespace clusterd
