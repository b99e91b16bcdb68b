// Sends messages that are small on the wire and large when unpacked to each
// server and channel of ours. None of them unpacks these.
#include <malloc.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/connection/connector.h"
#include "config/identity/grpc_status.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/agent/local/local_server.h"
#include "daemon/controller/gate/call_roles.h"
#include "gmock/gmock.h"
#include "grpc/byte_buffer.h"
#include "grpc/slice.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.grpc.pb.h"
#include "proto/controller.grpc.pb.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"

namespace clusterd {
namespace {

// The unpacked size of a message, and the bound for the growth of the process:
// unpacking a single message exceeds it by far.
constexpr size_t kUnpacked = size_t{192} << 20;
constexpr size_t kMayGrow = size_t{64} << 20;

constexpr grpc_compression_algorithm kAlgorithms[] = {GRPC_COMPRESS_DEFLATE,
                                                      GRPC_COMPRESS_GZIP};

// Measures the growth of a process, this one or a child, from now on.
class Growth {
 public:
  explicit Growth(std::string process = "self")
      : folder_("/proc/" + process + "/") {
    malloc_trim(0);  // Freed memory would hide growth.
    // Resets the peak: proc(5).
    std::ofstream(folder_ + "clear_refs") << "5" << std::flush;
    start_ = Field("VmHWM:");
    EXPECT_LT(start_, Field("VmRSS:") + (size_t{8} << 20));
  }

  // Linux counts pages per processor, so the sum may even be a bit lower.
  size_t Bytes() const { return std::max(Field("VmHWM:"), start_) - start_; }

 private:
  size_t Field(absl::string_view name) const {
    std::ifstream status(folder_ + "status");
    for (std::string line; std::getline(status, line);) {
      absl::string_view rest = line;
      size_t kilobytes = 0;
      if (!absl::ConsumePrefix(&rest, name)) continue;
      EXPECT_TRUE(absl::ConsumeSuffix(&rest, " kB"));
      EXPECT_TRUE(absl::SimpleAtoi(rest, &kilobytes));
      return kilobytes << 10;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }

  const std::string folder_;
  size_t start_ = 0;
};

// Zeros, packed as by a gRPC peer: zlib writes "deflate".
std::string PackedZeros(grpc_compression_algorithm algorithm,
                        size_t unpacked = kUnpacked) {
  static const auto* const kZeros = new std::string(size_t{1} << 20, '\0');
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED,
                         algorithm == GRPC_COMPRESS_GZIP ? 15 + 16 : 15, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  std::string packed(size_t{1} << 20, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  for (size_t done = 0; done < unpacked; done += kZeros->size()) {
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(kZeros->data()));
    stream.avail_in = static_cast<uInt>(kZeros->size());
    EXPECT_EQ(deflate(&stream, Z_NO_FLUSH), Z_OK);
  }
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

const std::string& Packed(grpc_compression_algorithm algorithm) {
  static const auto* const kDeflate =
      new std::string(PackedZeros(GRPC_COMPRESS_DEFLATE));
  static const auto* const kGzip =
      new std::string(PackedZeros(GRPC_COMPRESS_GZIP));
  return algorithm == GRPC_COMPRESS_GZIP ? *kGzip : *kDeflate;
}

// A message marked as compressed, which gRPC sends unchanged. Its C++ interface
// cannot make one, but can hold one from its C interface.
grpc::ByteBuffer Marked(const std::string& bytes,
                        grpc_compression_algorithm algorithm) {
  grpc_slice slice = grpc_slice_from_copied_buffer(bytes.data(), bytes.size());
  grpc_byte_buffer* const made =
      grpc_raw_compressed_byte_buffer_create(&slice, 1, algorithm);
  grpc_slice_unref(slice);
  grpc::ByteBuffer buffer;
  static_assert(sizeof(buffer) == sizeof(made));
  std::memcpy(static_cast<void*>(&buffer), &made, sizeof(made));
  return buffer;
}

// Sends one message in a call; returns the call's status.
grpc::Status EndOfCall(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& method,
                       const grpc::ByteBuffer& message,
                       const std::function<void(grpc::ClientContext*)>& set) {
  grpc::GenericStub stub(channel);
  const auto context = NewContext();
  set(context.get());
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool good = false;
  const auto call = stub.PrepareCall(context.get(), method, &queue);
  call->StartCall(&queue);
  EXPECT_TRUE(queue.Next(&tag, &good));
  if (good) {
    call->Write(message, &queue);
    EXPECT_TRUE(queue.Next(&tag, &good));
  }
  if (good) {
    call->WritesDone(&queue);
    EXPECT_TRUE(queue.Next(&tag, &good));
  }
  grpc::ByteBuffer answer;
  do {
    call->Read(&answer, &queue);
    EXPECT_TRUE(queue.Next(&tag, &good));
  } while (good);
  grpc::Status status;
  call->Finish(&status, &queue);
  EXPECT_TRUE(queue.Next(&tag, &good));
  return status;
}

// Sends a message packed with that algorithm, like a gRPC peer.
grpc::Status Send(const std::shared_ptr<grpc::Channel>& channel,
                  const std::string& method,
                  grpc_compression_algorithm algorithm,
                  const std::string& packed) {
  return EndOfCall(channel, method, Marked(packed, algorithm),
                   [algorithm](grpc::ClientContext* context) {
                     context->set_compression_algorithm(algorithm);
                   });
}

// Answers every call with such a message.
class PackedAnswers final : public grpc::CallbackGenericService {
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Call(const grpc::ByteBuffer& answer) : answer_(answer) {
      StartWrite(&answer_);
    }
    void OnWriteDone(bool) override { Finish(grpc::Status::OK); }
    void OnDone() override { delete this; }

   private:
    const grpc::ByteBuffer answer_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    context->set_compression_algorithm(algorithm_);
    return new Call(Marked(Packed(algorithm_), algorithm_));
  }

 public:
  PackedAnswers(grpc_compression_algorithm algorithm,
                const std::string& address,
                std::shared_ptr<grpc::ServerCredentials> credentials)
      : algorithm_(algorithm) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, std::move(credentials), &port);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~PackedAnswers() override {
    server_->Shutdown();
    server_->Wait();
  }

  const std::string& address() const { return address_; }

 private:
  const grpc_compression_algorithm algorithm_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

class CompressedTest : public testing::Test {
 protected:
  CompressedTest() {
    // Packs the messages now, so that their cost is not measured.
    for (const auto algorithm : kAlgorithms) Packed(algorithm);
  }

  // A new connection.
  static std::shared_ptr<grpc::Channel> Connect(
      const std::string& address,
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }
  static std::shared_ptr<grpc::Channel> ChannelAs(const std::string& address,
                                                  const TlsFiles& files) {
    const auto credentials = MakeChannelCredentials(files, "test");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return Connect(address, *credentials);
  }

  // Tries every call of such a caller in the table of roles, each over a new
  // connection.
  void ExpectAllRefused(
      Caller caller,
      const std::function<std::shared_ptr<grpc::Channel>()>& connect,
      const std::function<std::string(grpc_compression_algorithm)>& packed =
          Packed) {
    int calls = 0;
    const Growth growth;
    for (const CallRole& row : AllCallRoles()) {
      if (row.caller != caller) continue;
      ++calls;
      const std::string method =
          absl::StrCat("/clusterd.", row.service, "/", row.method);
      for (const auto algorithm : kAlgorithms) {
        const grpc::Status status =
            Send(connect(), method, algorithm, packed(algorithm));
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED)
            << method << ": " << status.error_message();
      }
    }
    EXPECT_GT(calls, 0);
    EXPECT_LT(growth.Bytes(), kMayGrow);
  }

  // `ask` connects to a server that answers so, with either algorithm.
  void ExpectAnswersRefused(
      const std::string& listen,
      const std::shared_ptr<grpc::ServerCredentials>& credentials,
      const std::function<absl::Status(const std::string& address)>& ask) {
    for (const auto algorithm : kAlgorithms) {
      const PackedAnswers server(algorithm, listen, credentials);
      const Growth growth;
      const absl::Status status = ask(server.address());
      EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
      EXPECT_LT(growth.Bytes(), kMayGrow);
    }
  }
  std::shared_ptr<grpc::ServerCredentials> ControllersOwn() {
    return *MakeServerCredentials(certificates_.Controller());
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
};

// Proves that the other tests would notice unpacking.
TEST_F(CompressedTest, ChannelThatIsNotOursUnpacks) {
  const PackedAnswers server(GRPC_COMPRESS_GZIP, "127.0.0.1:0",
                             ControllersOwn());
  const Growth growth;
  GetSpecResponse response;
  const grpc::Status status =
      Controller::NewStub(
          ChannelAs(server.address(), certificates_.User("eve")))
          ->GetSpec(NewContext().get(), {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << status.error_message();
  EXPECT_GT(growth.Bytes(), kUnpacked / 2);
}

TEST_F(CompressedTest, ControllersPortUnpacksForNobody) {
  TestController controller(&certificates_, 1, &scheduler_);
  controller.Start();
  RawHost host(controller.address(), certificates_.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const TlsFiles user = certificates_.User("eve", Role::kHook);
  ExpectAllRefused(Caller::kUser,
                   [&] { return ChannelAs(controller.address(), user); });
  const TlsFiles other = certificates_.Host("server1");
  ExpectAllRefused(Caller::kHost,
                   [&] { return ChannelAs(controller.address(), other); });
  ExpectAllRefused(Caller::kEndedHost,
                   [&] { return ChannelAs(controller.address(), other); });
  EXPECT_TRUE(controller.Entry("server0").attached());
}

TEST_F(CompressedTest, NorDoesTheEnrolmentPort) {
  TestController controller(&certificates_, 1, &scheduler_,
                            TrustedOptions(certificates_));
  controller.Start();
  CreateTokenRequest request;
  request.set_ttl_ms(3600'000);
  CreateTokenResponse made;
  const grpc::Status token =
      Trust::NewStub(ChannelAs(controller.address(),
                               certificates_.User("ann", Role::kAdmin)))
          ->CreateToken(NewContext().get(), request, &made);
  ASSERT_TRUE(token.ok()) << token.error_message();
  const auto connect = [&] {
    return Connect(absl::StrCat("127.0.0.1:", made.enrol_port()),
                   MakeChannelCredentialsFromRoots(
                       certificates_.authority().certificate_pem(), "test"));
  };
  const auto context = NewContext();
  context->set_wait_for_ready(true);
  RootsResponse roots;
  const grpc::Status serves =
      Enrolment::NewStub(connect())->Roots(context.get(), {}, &roots);
  ASSERT_TRUE(serves.ok()) << serves.error_message();
  const std::string process = EnrolmentProcess();
  const Growth growth(process);
  // The most that a connection may send.
  ExpectAllRefused(Caller::kAnybody, connect,
                   [](grpc_compression_algorithm algorithm) {
                     return PackedZeros(algorithm, size_t{96} << 20);
                   });
  EXPECT_LT(growth.Bytes(), kMayGrow);
  EXPECT_EQ(EnrolmentProcess(), process);
}

TEST_F(CompressedTest, NorDoesAHostsSocket) {
  const std::string path = certificates_.folder() + "/agent.sock";
  const auto server = LocalServer::Start(path, {}).value();
  ExpectAllRefused(Caller::kSocket, [&] {
    return Connect("unix:" + path, grpc::experimental::LocalCredentials(UDS));
  });
}

// A real gRPC client packs an allowed request.
TEST_F(CompressedTest, RequestThatGrpcPacksIsRefused) {
  TestController controller(&certificates_, 1, &scheduler_);
  controller.Start();
  const auto stub = controller.Client();
  DescribeHostRequest request;
  request.set_host(std::string(60 << 10, 'a'));
  for (const auto algorithm : kAlgorithms) {
    const auto context = NewContext();
    context->set_compression_algorithm(algorithm);
    DescribeHostResponse response;
    EXPECT_EQ(
        stub->DescribeHost(context.get(), request, &response).error_code(),
        grpc::StatusCode::UNIMPLEMENTED);
  }
}

// Marked as compressed without an encoding, or with HTTP's encoding.
TEST_F(CompressedTest, WhatOnlySaysThatItIsCompressedIsNotUnpacked) {
  TestController controller(&certificates_, 1, &scheduler_);
  controller.Start();
  const auto channel =
      ChannelAs(controller.address(), certificates_.User("eve"));
  const std::string method = "/clusterd.Controller/DescribeHost";
  const Growth growth;
  for (const auto algorithm : kAlgorithms) {
    EXPECT_FALSE(EndOfCall(channel, method,
                           Marked(Packed(algorithm), algorithm), [](auto*) {})
                     .ok());
    const grpc::Slice slice(Packed(algorithm));
    EXPECT_FALSE(EndOfCall(channel, method, grpc::ByteBuffer(&slice, 1),
                           [](grpc::ClientContext* context) {
                             context->AddMetadata("content-encoding", "gzip");
                           })
                     .ok());
  }
  EXPECT_LT(growth.Bytes(), kMayGrow);
}

TEST_F(CompressedTest, HostUnpacksNothingOfItsController) {
  ExpectAnswersRefused(
      "127.0.0.1:0", ControllersOwn(), [this](const std::string& address) {
        DialOptions options;
        options.controller = address;
        const auto stub = AgentHub::NewStub(Dial(
            options,
            *MakeChannelCredentials(certificates_.Host("server0"), "test")));
        const auto context = NewContext();
        const auto stream = stub->Attach(context.get());
        HubMessage message;
        EXPECT_FALSE(stream->Read(&message));
        return ToAbslStatus(stream->Finish());
      });
}

TEST_F(CompressedTest, HostThatJoinsUnpacksNothingOfWhoeverAnswers) {
  const CallPatience patience = {1, [](absl::Duration) {}, [] { return 0.5; }};
  const TrustedRoots roots = {"test",
                              certificates_.authority().certificate_pem()};
  const auto credentials =
      *MakeOneSidedServerCredentials(certificates_.Controller());
  ExpectAnswersRefused(
      "127.0.0.1:0", credentials, [&](const std::string& address) {
        return FetchRoots(address, {"sha256:" + std::string(64, 'a')}, patience)
            .status();
      });
  ExpectAnswersRefused(
      "127.0.0.1:0", credentials, [&](const std::string& address) {
        return AskToJoin(address, roots, {}, patience).status();
      });
  const TlsPem pair = TestCertificates::Pem(certificates_.Host("server0"));
  ExpectAnswersRefused("127.0.0.1:0", ControllersOwn(),
                       [&](const std::string& address) {
                         return AskToRenewLate(address, "test", pair).status();
                       });
}

TEST_F(CompressedTest, ClusterctlUnpacksNothingOfControllersAndHosts) {
  GrpcConnector connector;
  ExpectAnswersRefused(
      "127.0.0.1:0", ControllersOwn(), [&](const std::string& address) {
        const auto channel = connector.ToController(
            {address, "test", certificates_.User("ann")});
        EXPECT_TRUE(channel.ok()) << channel.status();
        GetSpecResponse response;
        return ToAbslStatus(Controller::NewStub(*channel)->GetSpec(
            NewContext().get(), {}, &response));
      });
  const std::string path = certificates_.folder() + "/agent.sock";
  ExpectAnswersRefused(
      "unix:" + path, grpc::experimental::LocalServerCredentials(UDS),
      [&](const std::string&) {
        const auto channel = connector.ToLocalDaemon(path);
        EXPECT_TRUE(channel.ok()) << channel.status();
        AgentStatus response;
        return ToAbslStatus(LocalAgent::NewStub(*channel)->GetStatus(
            NewContext().get(), {}, &response));
      });
}

}  // namespace
}  // namespace clusterd
