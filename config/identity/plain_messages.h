// Creates all servers and channels of ours, so that none decompresses a peer's
// messages: gRPC 1.51 unpacks a whole message before it compares its length
// with the limit, and 60 kB of gzip become 60 MB. Our programs never compress.
// A compressed message ends its call with Unimplemented, whatever its encoding;
// one that is only flagged as compressed is read as it stands. .ci/lint holds
// product code to these two.
#ifndef CONFIG_IDENTITY_PLAIN_MESSAGES_H_
#define CONFIG_IDENTITY_PLAIN_MESSAGES_H_

#include <memory>
#include <string>

#include "grpc/compression.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"

namespace clusterd {

// Like grpc::CreateCustomChannel; connects when first used.
inline std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments arguments) {
  // With the first option alone, compressed bytes would count as the message.
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET,
                   1 << GRPC_COMPRESS_NONE);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

// Like BuildAndStart: null if gRPC cannot start the server. Once a builder.
inline std::unique_ptr<grpc::Server> StartServer(grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // The builder overwrites the second argument that a channel has.
  for (int each = GRPC_COMPRESS_NONE + 1; each < GRPC_COMPRESS_ALGORITHMS_COUNT;
       ++each) {
    builder->SetCompressionAlgorithmSupportStatus(
        static_cast<grpc_compression_algorithm>(each), false);
  }
  return builder->BuildAndStart();
}

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_PLAIN_MESSAGES_H_
