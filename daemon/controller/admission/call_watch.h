// Notifies a ConnectionAcceptor of the calls of its server.
#ifndef DAEMON_CONTROLLER_ADMISSION_CALL_WATCH_H_
#define DAEMON_CONTROLLER_ADMISSION_CALL_WATCH_H_

#include <string>

#include "daemon/controller/admission/connection_acceptor.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_interceptor.h"

namespace clusterd {

// Watches one call: its begin, and the end of its last part.
class CallWatch final : public grpc::experimental::Interceptor {
 public:
  CallWatch(ConnectionAcceptor* acceptor,
            grpc::experimental::ServerRpcInfo* info)
      : acceptor_(acceptor), info_(info) {}
  ~CallWatch() override {
    if (!peer_.empty()) acceptor_->OnCallEnd(peer_);
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
    if (peer_.empty() && batch->QueryInterceptionHookPoint(
                             grpc::experimental::InterceptionHookPoints::
                                 POST_RECV_INITIAL_METADATA)) {
      peer_ = info_->server_context()->peer();
      acceptor_->OnCall(peer_);
    }
    batch->Proceed();
  }

 private:
  ConnectionAcceptor* const acceptor_;
  grpc::experimental::ServerRpcInfo* const info_;
  std::string peer_;
};

class CallWatchFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallWatchFactory(ConnectionAcceptor* acceptor)
      : acceptor_(acceptor) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new CallWatch(acceptor_, info);
  }

 private:
  ConnectionAcceptor* const acceptor_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_CALL_WATCH_H_
