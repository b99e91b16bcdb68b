#include "daemon/controller/admission/open_streams.h"

#include <algorithm>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace clusterd {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr intptr_t kPage = 500;
// Names of gRPC's HTTP/2 sockets: this and the peer.
constexpr char kTransport[] = "chttp2 ";

// Takes gRPC's text, which may be null. No fields: it is not what it should be.
Struct TakeJson(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owned(text, &gpr_free);
  Struct json;
  if (text == nullptr ||
      !google::protobuf::util::JsonStringToMessage(text, &json).ok()) {
    return {};
  }
  return json;
}

const Value& Field(const Struct& json, const std::string& name) {
  static const auto* const kNone = new Value();
  const auto found = json.fields().find(name);
  return found == json.fields().end() ? *kNone : found->second;
}

// 64-bit numbers are texts in JSON.
int64_t Number(const Struct& json, const std::string& name) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(Field(json, name).string_value(), &number)) return 0;
  return number;
}

}  // namespace

void OpenStreams::FindSockets() {
  const Struct servers = TakeJson(grpc_channelz_get_servers(0));
  for (const Value& server : Field(servers, "server").list_value().values()) {
    const int64_t id =
        Number(Field(server.struct_value(), "ref").struct_value(), "serverId");
    int64_t& next = next_[id];
    bool end = false;
    while (!end) {
      const Struct page =
          TakeJson(grpc_channelz_get_server_sockets(id, next, kPage));
      const auto& sockets = Field(page, "socketRef").list_value().values();
      for (const Value& socket : sockets) {
        const Struct& ref = socket.struct_value();
        const int64_t socket_id = Number(ref, "socketId");
        next = std::max(next, socket_id + 1);
        const std::string& name = Field(ref, "name").string_value();
        sockets_[std::string(absl::StripPrefix(name, kTransport))] = socket_id;
      }
      end = sockets.empty() || Field(page, "end").bool_value();
    }
  }
}

StreamCounts OpenStreams::Count(const std::string& peer, size_t connections) {
  auto found = sockets_.find(peer);
  Struct socket;
  if (found != sockets_.end()) {
    socket = TakeJson(grpc_channelz_get_socket(found->second));
  }
  if (socket.fields().empty()) {
    // It is new, or another connection of this peer has ended.
    if (sockets_.size() > 2 * connections + kPage) {
      sockets_.clear();
      next_.clear();
    }
    FindSockets();
    found = sockets_.find(peer);
    if (found == sockets_.end()) return {};
    socket = TakeJson(grpc_channelz_get_socket(found->second));
  }
  const Struct& data =
      Field(Field(socket, "socket").struct_value(), "data").struct_value();
  const int64_t begun = Number(data, "streamsStarted");
  return {
      begun - Number(data, "streamsSucceeded") - Number(data, "streamsFailed"),
      static_cast<uint64_t>(begun)};
}

}  // namespace clusterd
