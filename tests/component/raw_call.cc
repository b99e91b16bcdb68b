#include "tests/component/raw_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "google/protobuf/descriptor.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/component/test_controller.h"

namespace clusterd {
namespace {

const google::protobuf::MethodDescriptor& MethodOf(const CallRole& row) {
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
          absl::StrCat("clusterd.", row.service, ".", row.method));
  EXPECT_NE(method, nullptr) << row.service << "." << row.method;
  return *method;
}

}  // namespace

std::unique_ptr<google::protobuf::Message> RequestOf(const CallRole& row,
                                                     bool with_field) {
  auto* const factory = google::protobuf::MessageFactory::generated_factory();
  std::unique_ptr<google::protobuf::Message> request(
      factory->GetPrototype(MethodOf(row).input_type())->New());
  if (!with_field) return request;
  const auto* const field =
      request->GetDescriptor()->FindFieldByName(std::string(row.field));
  const auto* const reflection = request->GetReflection();
  if (field->type() == google::protobuf::FieldDescriptor::TYPE_BOOL) {
    reflection->SetBool(request.get(), field, true);
  } else {
    reflection->MutableMessage(request.get(), field, factory);
  }
  return request;
}

RawCall::RawCall(const std::shared_ptr<grpc::Channel>& channel,
                 const CallRole& row, const std::string& request)
    : stub_(channel), context_(NewContext()) {
  call_ = stub_.PrepareCall(
      context_.get(), absl::StrCat("/clusterd.", row.service, "/", row.method),
      &queue_);
  call_->StartCall(this);
  bool good = Await();
  const grpc::Slice slice(request);
  if (good) {
    call_->Write(grpc::ByteBuffer(&slice, 1), this);
    good = Await();
  }
  if (good && !MethodOf(row).client_streaming()) {
    call_->WritesDone(this);
    Await();
  }
}

RawCall::~RawCall() {
  if (ended_) return;
  context_->TryCancel();
  End();
}

bool RawCall::Read() {
  grpc::ByteBuffer answer;
  call_->Read(&answer, this);
  return Await();
}

grpc::Status RawCall::End() {
  while (Read()) {
  }
  ended_ = true;
  grpc::Status status;
  call_->Finish(&status, this);
  Await();
  return status;
}

bool RawCall::Await() {
  void* tag = nullptr;
  bool good = false;
  EXPECT_TRUE(queue_.Next(&tag, &good));
  return good;
}

TlsSessions::TlsSessions(TlsPem pem)
    : pem_(std::move(pem)), cache_(grpc_ssl_session_cache_create_lru(16)) {}

TlsSessions::~TlsSessions() { grpc_ssl_session_cache_destroy(cache_); }

std::shared_ptr<grpc::Channel> TlsSessions::Connect(
    const std::string& address) const {
  const grpc_arg session = grpc_ssl_session_cache_create_channel_arg(cache_);
  grpc::ChannelArguments arguments;
  arguments.SetPointerWithVtable(session.key, session.value.pointer.p,
                                 session.value.pointer.vtable);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Sessions are kept by the requested server name.
  arguments.SetSslTargetNameOverride("controller.test");
  return grpc::CreateCustomChannel(
      address, MakeChannelCredentialsFromPem(pem_, "test"), arguments);
}

bool TlsSessions::Resumed(const grpc::ClientContext& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr) return false;
  for (const auto& value :
       auth->FindPropertyValues(GRPC_SSL_SESSION_REUSED_PROPERTY)) {
    if (value == "true") return true;
  }
  return false;
}

}  // namespace clusterd
