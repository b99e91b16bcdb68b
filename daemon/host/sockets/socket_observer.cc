#include "daemon/host/sockets/socket_observer.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/missing.h"

namespace clusterd {
namespace {

constexpr size_t kMaxCommandBytes = 64;
constexpr absl::string_view kTables[] = {"tcp", "tcp6", "udp", "udp6"};
constexpr size_t kWords = 10;

// Of Linux include/net/tcp_states.h, from 1.
constexpr absl::string_view kTcpStates[] = {
    "ESTABLISHED", "SYN_SENT",  "SYN_RECV", "FIN_WAIT1",
    "FIN_WAIT2",   "TIME_WAIT", "CLOSE",    "CLOSE_WAIT",
    "LAST_ACK",    "LISTEN",    "CLOSING",  "NEW_SYN_RECV",
};

bool IsIpv6(absl::string_view table) { return absl::EndsWith(table, "6"); }

absl::Status Malformed(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("socket table: unexpected line ", QuotedText(line)));
}

bool ParseHex(absl::string_view text, size_t digits, uint32_t* value) {
  return text.size() == digits && absl::c_all_of(text, absl::ascii_isxdigit) &&
         absl::SimpleHexAtoi(text, value);
}

// The next word, taken off `rest`; empty at the end.
absl::string_view TakeWord(absl::string_view* rest) {
  *rest = absl::StripLeadingAsciiWhitespace(*rest);
  const size_t end = std::min(rest->find_first_of(" \t"), rest->size());
  const absl::string_view word = rest->substr(0, end);
  rest->remove_prefix(end);
  return word;
}

// Digits of an address to its text; empty if they are none. The words are in
// the machine's byte order, and inside the machine in network order, so a copy
// of the memory is right.
std::string AddressText(absl::string_view digits, bool is_ipv6) {
  const size_t words = is_ipv6 ? 4 : 1;
  if (digits.size() != words * 8) return "";
  std::array<uint32_t, 4> memory = {};
  for (size_t i = 0; i < words; ++i) {
    if (!ParseHex(digits.substr(i * 8, 8), 8, &memory[i])) return "";
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, memory.data(), text, sizeof(text));
  return text;
}

std::string StateName(uint32_t state) {
  if (state >= 1 && state <= std::size(kTcpStates)) {
    return std::string(kTcpStates[state - 1]);
  }
  return absl::StrCat("state ", absl::Hex(state));
}

absl::Status ReadTable(const FileReader& files, absl::string_view folder,
                       absl::string_view table, const PortSet& ports,
                       std::vector<SocketLine>* found) {
  const std::string path = absl::StrCat(folder, "/", table);
  absl::Status bad = absl::OkStatus();
  bool is_header = true;
  RETURN_IF_ERROR(files.ReadLines(path, [&](absl::string_view line) {
    if (std::exchange(is_header, false)) return true;
    const absl::StatusOr<uint32_t> port = ParseSocketPort(line);
    if (port.ok() && !ports.Contains(*port)) return true;
    absl::StatusOr<SocketLine> parsed = ParseSocketLine(table, line);
    if (!parsed.ok()) {
      bad = parsed.status();
    } else if (found->size() == kMaxBoundSockets) {
      bad = absl::ResourceExhaustedError(absl::StrCat(
          "more than ", kMaxBoundSockets, " sockets in these ports"));
    } else {
      found->push_back(*std::move(parsed));
    }
    return bad.ok();
  }));
  if (bad.ok()) return bad;
  return absl::Status(bad.code(), absl::StrCat(path, ": ", bad.message()));
}

// Goes through the processes until every inode has its owner.
class OwnerSearch {
 public:
  OwnerSearch(const FileReader& files, std::vector<SocketLine>* found)
      : files_(files) {
    for (SocketLine& entry : *found) {
      if (entry.inode != 0) wanted_[entry.inode].push_back(&entry.socket);
    }
  }

  // DeadlineExceeded: `budget` was spent first.
  absl::Status Run(const TimeBudget& budget) {
    if (wanted_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto names, files_.List("/proc"));
    for (const std::string& name : names) {
      uint32_t pid = 0;
      if (!absl::c_all_of(name, absl::ascii_isdigit) ||
          !absl::SimpleAtoi(name, &pid)) {
        continue;
      }
      if (wanted_.empty()) return absl::OkStatus();
      if (budget.IsSpent()) {
        return absl::DeadlineExceededError(absl::StrCat(
            "owners of sockets: not found within ", budget.HostDeadline()));
      }
      SearchProcess(pid);
    }
    return absl::OkStatus();
  }

 private:
  // A process may end at any time; what cannot be read is not its socket.
  void SearchProcess(uint32_t pid) {
    const std::string process = absl::StrCat("/proc/", pid);
    const auto fds = files_.List(process + "/fd");
    if (!fds.ok()) return;
    for (const std::string& fd : *fds) {
      const auto link = files_.ReadLink(absl::StrCat(process, "/fd/", fd));
      const std::optional<uint64_t> inode = ParseSocketLink(link.value_or(""));
      if (!inode.has_value()) continue;
      const auto wanted = wanted_.find(*inode);
      if (wanted == wanted_.end()) continue;
      const std::string command =
          files_.ReadTrimmed(process + "/comm").value_or("");
      for (BoundSocket* socket : wanted->second) {
        socket->set_pid(pid);
        socket->set_command(PrintableText(command, kMaxCommandBytes));
      }
      wanted_.erase(wanted);
    }
  }

  const FileReader& files_;
  absl::flat_hash_map<uint64_t, std::vector<BoundSocket*>> wanted_;
};

absl::Status ReadTables(const FileReader& files, absl::string_view folder,
                        const PortSet& ports, std::vector<SocketLine>* found) {
  for (const absl::string_view table : kTables) {
    const absl::Status read = ReadTable(files, folder, table, ports, found);
    if (IsIpv6(table) && absl::IsNotFound(read)) continue;
    RETURN_IF_ERROR(read);
  }
  return absl::OkStatus();
}

// With the owners of what was found in the tables, if those could be `read`.
absl::StatusOr<SocketsFact::Sockets> WithOwners(const FileReader& files,
                                                const absl::Status& read,
                                                std::vector<SocketLine> found,
                                                const TimeBudget& budget) {
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(OwnerSearch(files, &found).Run(budget));
  absl::c_sort(found, [](const SocketLine& a, const SocketLine& b) {
    const auto key = [](const BoundSocket& socket) {
      return std::make_tuple(socket.port(), socket.protocol(), socket.address(),
                             socket.state());
    };
    return key(a.socket) < key(b.socket);
  });
  SocketsFact::Sockets sockets;
  for (SocketLine& entry : found) {
    *sockets.add_sockets() = std::move(entry.socket);
  }
  return sockets;
}

}  // namespace

SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget) {
  std::vector<SocketLine> found;
  const absl::Status read = ReadTables(files, "/proc/net", ports, &found);
  SocketsFact fact;
  SetFact(WithOwners(files, read, std::move(found), budget), &fact);
  return fact;
}

SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget) {
  std::vector<SocketLine> found;
  absl::Status read;
  // Not /proc/net: that is the namespace of the process, not of the thread.
  const absl::Status entered = opened.Run([&] {
    read = ReadTables(files, "/proc/thread-self/net", ports, &found);
  });
  read.Update(entered);
  SocketsFact fact;
  SetFact(WithOwners(files, read, std::move(found), budget), &fact);
  return fact;
}

absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line) {
  absl::string_view rest = line;
  absl::string_view slot = TakeWord(&rest);
  const absl::string_view local = TakeWord(&rest);
  const size_t colon = local.find(':');
  uint64_t number = 0;
  uint32_t port = 0;
  if (!absl::ConsumeSuffix(&slot, ":") || !absl::SimpleAtoi(slot, &number) ||
      colon == absl::string_view::npos ||
      !ParseHex(local.substr(colon + 1), 4, &port)) {
    return Malformed(line);
  }
  return port;
}

absl::StatusOr<SocketLine> ParseSocketLine(absl::string_view table,
                                           absl::string_view line) {
  SocketLine parsed;
  ASSIGN_OR_RETURN(const uint32_t port, ParseSocketPort(line));
  std::array<absl::string_view, kWords> words;
  absl::string_view rest = line;
  for (absl::string_view& word : words) word = TakeWord(&rest);
  const std::string address =
      AddressText(words[1].substr(0, words[1].find(':')), IsIpv6(table));
  uint32_t state = 0;
  if (address.empty() || !ParseHex(words[3], 2, &state) ||
      !absl::SimpleAtoi(words[9], &parsed.inode)) {
    return Malformed(line);
  }
  parsed.socket.set_port(port);
  parsed.socket.set_protocol(std::string(table));
  parsed.socket.set_address(address);
  if (absl::StartsWith(table, "tcp")) parsed.socket.set_state(StateName(state));
  return parsed;
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
