// Ties a call that streams to its client's identity: when the gate does not let
// it in any more, the stream ends with the reason, whether the client reads or
// not.
#ifndef DAEMON_CONTROLLER_END_WHEN_REFUSED_H_
#define DAEMON_CONTROLLER_END_WHEN_REFUSED_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "grpcpp/server_context.h"

namespace clusterd {

// Once the call was admitted, before its handler returns. The audit file has a
// line of a stream that ends so.
template <typename Event>
void EndWhenRefused(const ControllerParts& parts,
                    const grpc::CallbackServerContext& context,
                    absl::string_view call,
                    const std::shared_ptr<EventStream<Event>>& stream) {
  const auto end = [weak = std::weak_ptr(stream), audit = parts.audit,
                    caller =
                        AuditCaller(context, call)](const absl::Status& why) {
    const auto open = weak.lock();
    if (open == nullptr) return;
    open->EndForGood(why);
    audit->Refuse(caller, why);
  };
  parts.gate->Watch(*context.auth_context(), IdentityKind::kUser, stream, end);
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_END_WHEN_REFUSED_H_
