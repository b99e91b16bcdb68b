// Calls by their rows in the table of roles, so that tests try every call,
// including new ones.
#ifndef TESTS_COMPONENT_RAW_CALL_H_
#define TESTS_COMPONENT_RAW_CALL_H_

#include <memory>
#include <string>

#include "config/identity/certificate.h"
#include "daemon/controller/gate/call_roles.h"
#include "google/protobuf/message.h"
#include "grpc/grpc_security.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"

namespace clusterd {

// An empty request, or one with the row's field set.
std::unique_ptr<google::protobuf::Message> RequestOf(const CallRole& row,
                                                     bool with_field);

// A call with one request, which is sent at once. Its client side stays open.
class RawCall {
 public:
  RawCall(const std::shared_ptr<grpc::Channel>& channel, const CallRole& row,
          const std::string& request);
  ~RawCall();
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;

  // False when the call has ended.
  bool Read();
  // Reads to the end. Call it once.
  grpc::Status End();
  const grpc::ClientContext& context() const { return *context_; }

 private:
  bool Await();

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  const std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool ended_ = false;
};

// Connections of one client that keep and resume TLS sessions, as any client
// may.
class TlsSessions {
 public:
  explicit TlsSessions(TlsPem pem);
  ~TlsSessions();
  TlsSessions(const TlsSessions&) = delete;
  TlsSessions& operator=(const TlsSessions&) = delete;

  // Opens a new connection.
  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const;
  // True if the call's connection had resumed an earlier session.
  static bool Resumed(const grpc::ClientContext& context);

 private:
  const TlsPem pem_;
  grpc_ssl_session_cache* const cache_;
};

}  // namespace clusterd

#endif  // TESTS_COMPONENT_RAW_CALL_H_
