// Messages of every size arrive whole. gRPC 1.51 itself does not send those
// that fill the buffers of its TLS to the last byte.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "config/identity/tls_credentials.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "tests/support/config/ca_dir.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// Answers a call with its message.
class Echo : public grpc::ServerGenericBidiReactor {
 public:
  Echo() { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (ok) return StartWriteAndFinish(&message_, {}, grpc::Status::OK);
    Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

class EchoService : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext*) override {
    return new Echo;
  }
};

// Returns the answer, or why the call failed.
std::string Echoed(grpc::GenericStub& stub, const std::string& text) {
  grpc::ClientContext context;
  context.set_deadline(PatientDeadline());
  const grpc::Slice slice(text);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  absl::Notification done;
  grpc::Status status;
  stub.UnaryCall(&context, "/clusterd.Test/Echo", {}, &request, &response,
                 [&](grpc::Status ended) {
                   status = std::move(ended);
                   done.Notify();
                 });
  done.WaitForNotification();
  std::vector<grpc::Slice> parts;
  if (!status.ok() || !response.Dump(&parts).ok())
    return status.error_message();
  std::string whole;
  for (const grpc::Slice& part : parts) {
    whole.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return whole;
}

TEST(TlsFlushTest, MessagesOfEverySizeArrive) {
  const auto authority = TestAuthority::Create();
  const TlsPem pem = authority->Issue({"spiffe://demo/controller"});
  std::string folder = testing::TempDir() + "/flush.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const TlsFiles files = {folder + "/ca.crt", folder + "/own.crt",
                          folder + "/own.key"};
  WriteTestFile(files.ca, pem.ca, 0644);
  WriteTestFile(files.certificate, pem.certificate, 0644);
  WriteTestFile(files.key, pem.key, 0600);
  const auto credentials = MakeServerCredentials(files).value();
  EchoService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, 4096);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  grpc::GenericStub stub(grpc::CreateCustomChannel(
      "127.0.0.1:" + std::to_string(port),
      MakeChannelCredentialsFromPem(
          authority->Issue({"spiffe://demo/user/ada"}), "demo"),
      arguments));
  for (size_t size = 12'000; size < 16'500; ++size) {
    const std::string text(size, static_cast<char>(size));
    const std::string echo = Echoed(stub, text);
    ASSERT_TRUE(echo == text) << size << " bytes: " << echo.substr(0, 80);
  }
  server->Shutdown();
}

}  // namespace
}  // namespace clusterd
