#include "daemon/host/sockets/socket_table.h"

#include <arpa/inet.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kWords = 10;

// Of Linux include/net/tcp_states.h, from 1.
constexpr absl::string_view kTcpStates[] = {
    "ESTABLISHED", "SYN_SENT",  "SYN_RECV", "FIN_WAIT1",
    "FIN_WAIT2",   "TIME_WAIT", "CLOSE",    "CLOSE_WAIT",
    "LAST_ACK",    "LISTEN",    "CLOSING",  "NEW_SYN_RECV",
};

absl::Status Malformed(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("socket table: unexpected line ", QuotedText(line)));
}

bool ParseHex(absl::string_view text, size_t digits, uint32_t* value) {
  if (text.size() != digits) return false;
  *value = 0;
  for (const char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
    *value =
        *value * 16 +
        (absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10);
  }
  return true;
}

// The next word, taken off `rest`; empty at the end.
absl::string_view TakeWord(absl::string_view* rest) {
  *rest = absl::StripLeadingAsciiWhitespace(*rest);
  const size_t end = std::min(rest->find_first_of(" \t"), rest->size());
  const absl::string_view word = rest->substr(0, end);
  rest->remove_prefix(end);
  return word;
}

// "0100007F:1F90" of "  0: 0100007F:1F90 …".
absl::StatusOr<absl::string_view> LocalEnd(absl::string_view line) {
  absl::string_view rest = line;
  absl::string_view slot = TakeWord(&rest);
  uint64_t number = 0;
  if (!absl::ConsumeSuffix(&slot, ":") || !absl::SimpleAtoi(slot, &number)) {
    return Malformed(line);
  }
  return TakeWord(&rest);
}

// Digits of an address to its text. The words are in the machine's byte order,
// and inside the machine in network order, so a copy of the memory is right.
absl::StatusOr<std::string> AddressText(absl::string_view digits) {
  const size_t words = digits.size() / 8;
  if (digits.size() % 8 != 0 || (words != 1 && words != 4)) {
    return absl::InvalidArgumentError("address length");
  }
  std::array<uint32_t, 4> memory = {};
  for (size_t i = 0; i < words; ++i) {
    if (!ParseHex(digits.substr(i * 8, 8), 8, &memory[i])) {
      return absl::InvalidArgumentError("address digits");
    }
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(words == 1 ? AF_INET : AF_INET6, memory.data(), text, sizeof(text));
  return std::string(text);
}

std::string StateName(uint32_t state) {
  if (state >= 1 && state <= std::size(kTcpStates)) {
    return std::string(kTcpStates[state - 1]);
  }
  return absl::StrCat("state ", absl::Hex(state));
}

}  // namespace

absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line) {
  ASSIGN_OR_RETURN(const absl::string_view local, LocalEnd(line));
  const size_t colon = local.find(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos ||
      !ParseHex(local.substr(colon + 1), 4, &port)) {
    return Malformed(line);
  }
  return port;
}

absl::StatusOr<SocketLine> ParseSocketLine(SocketProtocol protocol,
                                           absl::string_view line) {
  const bool v6 =
      protocol == SocketProtocol::kTcp6 || protocol == SocketProtocol::kUdp6;
  const bool tcp =
      protocol == SocketProtocol::kTcp || protocol == SocketProtocol::kTcp6;
  SocketLine socket;
  ASSIGN_OR_RETURN(const uint32_t port, ParseSocketPort(line));
  socket.port = port;

  std::array<absl::string_view, kWords> words;
  absl::string_view rest = line;
  for (absl::string_view& word : words) word = TakeWord(&rest);
  const absl::string_view digits = words[1].substr(0, words[1].find(':'));
  const absl::StatusOr<std::string> address = AddressText(digits);
  uint32_t state = 0;
  if (!address.ok() || digits.size() != (v6 ? 32u : 8u) ||
      !ParseHex(words[3], 2, &state) ||
      !absl::SimpleAtoi(words[9], &socket.inode)) {
    return Malformed(line);
  }
  socket.address = *address;
  if (tcp) socket.state = StateName(state);
  return socket;
}

std::optional<uint64_t> ParseSocketLink(absl::string_view link) {
  uint64_t inode = 0;
  if (!absl::ConsumePrefix(&link, "socket:[") ||
      !absl::ConsumeSuffix(&link, "]") || !absl::SimpleAtoi(link, &inode)) {
    return {};
  }
  return inode;
}

}  // namespace clusterd
