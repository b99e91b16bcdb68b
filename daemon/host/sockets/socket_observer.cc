#include "daemon/host/sockets/socket_observer.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxCommandBytes = 64;
// Limit of sockets whose owners are searched.
constexpr size_t kMaxOwned = 1 << 16;
// Launches choose a rendezvous port from fewer.
constexpr uint32_t kWidePorts = 512;
constexpr absl::string_view kTables[] = {"tcp", "tcp6", "udp", "udp6"};

// States of Linux include/net/tcp_states.h, from 1.
constexpr absl::string_view kTcpStates[] = {
    "ESTABLISHED", "SYN_SENT",  "SYN_RECV", "FIN_WAIT1",
    "FIN_WAIT2",   "TIME_WAIT", "CLOSE",    "CLOSE_WAIT",
    "LAST_ACK",    "LISTEN",    "CLOSING",  "NEW_SYN_RECV",
};

bool IsIpv6(absl::string_view table) { return absl::EndsWith(table, "6"); }

absl::Status Malformed(absl::string_view line) {
  return InvalidWords("fact-socket-line", QuotedText(line));
}

// Converts an address's digits to text. The words are in the machine's byte
// order, and their bytes in network order, so copying the memory is correct.
std::string AddressText(absl::string_view digits, bool is_ipv6) {
  std::array<uint32_t, 4> memory = {};
  for (size_t i = 0; i < digits.size() / 8; ++i) {
    if (!absl::SimpleHexAtoi(digits.substr(i * 8, 8), &memory[i])) return "";
  }
  char text[INET6_ADDRSTRLEN];
  inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, memory.data(), text, sizeof(text));
  return text;
}

// A job's root has one for each rank, and as many that the kernel is closing.
bool IsConnection(const BoundSocket& socket) {
  return absl::StartsWith(socket.protocol(), "tcp") &&
         socket.state() != "LISTEN" && socket.state() != "CLOSE";
}

// A service may have connections on each of its `wide` ports; these are
// compared without the port.
auto SortKey(const BoundSocket& socket, const PortSet& wide = PortSet()) {
  const bool is_wide = IsConnection(socket) && wide.Contains(socket.port());
  return std::make_tuple(is_wide ? 0 : socket.port(), socket.protocol(),
                         socket.address(), socket.state(), socket.pid(),
                         socket.command());
}

absl::Status TooMany(size_t most) {
  return ExhaustedWords("fact-sockets-over", most);
}

uint32_t CountOf(const BoundSocket& socket) {
  return std::max(1u, socket.count());
}

// Equal connections without an owner are counted as one.
absl::StatusOr<std::vector<SocketLine>> ReadTables(const FileReader& files,
                                                   absl::string_view folder,
                                                   const PortSet& ports) {
  std::vector<SocketLine> found;
  absl::flat_hash_map<decltype(SortKey(BoundSocket())), size_t> closing;
  for (const absl::string_view table : kTables) {
    bool is_header = true;
    const auto take = [&](absl::string_view line) -> absl::Status {
      if (std::exchange(is_header, false)) return absl::OkStatus();
      const absl::StatusOr<uint32_t> port = ParseSocketPort(line);
      if (port.ok() && !ports.Contains(*port)) return absl::OkStatus();
      ASSIGN_OR_RETURN(SocketLine parsed, ParseSocketLine(table, line));
      if (parsed.inode == 0 && IsConnection(parsed.socket)) {
        const auto [first, is_new] =
            closing.try_emplace(SortKey(parsed.socket), found.size());
        if (!is_new) {
          BoundSocket& alike = found[first->second].socket;
          alike.set_count(CountOf(alike) + 1);
          return absl::OkStatus();
        }
      }
      if (found.size() == kMaxOwned) return TooMany(kMaxOwned);
      found.push_back(std::move(parsed));
      return absl::OkStatus();
    };
    const absl::Status read =
        files.ReadLines(absl::StrCat(folder, "/", table), take);
    if (IsIpv6(table) && absl::IsNotFound(read)) continue;
    RETURN_IF_ERROR(read);
  }
  return found;
}

// Sockets whose owner is not known yet, by inode.
using Ownerless = absl::flat_hash_map<uint64_t, std::vector<BoundSocket*>>;

// A process may end at any time; unreadable links are not its sockets.
void TakeSocketsOf(uint32_t pid, const FileReader& files, Ownerless* wanted) {
  static const LazyRE2 kSocketLink = {R"(socket:\[(\d+)\])"};
  const std::string process = absl::StrCat("/proc/", pid);
  const auto fds = files.List(process + "/fd", FileReader::Beyond::kLeftOut);
  if (!fds.ok()) return;
  for (const std::string& fd : *fds) {
    const auto link = files.ReadLink(absl::StrCat(process, "/fd/", fd));
    uint64_t inode = 0;
    if (!HasForm(link.value_or(""), *kSocketLink, &inode)) continue;
    const auto owned = wanted->find(inode);
    if (owned == wanted->end()) continue;
    const std::string command =
        files.ReadTrimmed(process + "/comm").value_or("");
    const uint32_t parent = ReadParent(files, pid);
    for (BoundSocket* socket : owned->second) {
      socket->set_pid(pid);
      socket->set_parent(parent);
      socket->set_command(PrintableText(command, kMaxCommandBytes));
    }
    wanted->erase(owned);
  }
}

// Searches the processes until every inode has its owner. DeadlineExceeded if
// `budget` was used up first.
absl::Status FindOwners(const FileReader& files, const TimeBudget& budget,
                        std::vector<SocketLine>* found) {
  Ownerless wanted;
  for (SocketLine& entry : *found) {
    if (entry.inode != 0) wanted[entry.inode].push_back(&entry.socket);
  }
  if (wanted.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto names, files.List("/proc"));
  for (const std::string& name : names) {
    uint32_t pid = 0;
    if (!absl::SimpleAtoi(name, &pid)) continue;
    if (wanted.empty()) return absl::OkStatus();
    if (budget.IsSpent()) {
      return DeadlineWords("fact-owners-late", budget.HostDeadline());
    }
    TakeSocketsOf(pid, files, &wanted);
  }
  return absl::OkStatus();
}

// Adds the owners to the sockets found in the tables.
absl::StatusOr<SocketsFact::Sockets> WithOwners(
    const FileReader& files, absl::StatusOr<std::vector<SocketLine>> found,
    const PortSet& ports, const TimeBudget& budget) {
  RETURN_IF_ERROR(found.status());
  RETURN_IF_ERROR(FindOwners(files, budget, &*found));
  PortSet wide;
  for (const auto& [first, last] : ports.ranges()) {
    if (found->size() <= kMaxBoundSockets) break;
    if (last - first >= kWidePorts) wide.Add(first, last);
  }
  absl::c_stable_sort(*found, [&](const SocketLine& a, const SocketLine& b) {
    return SortKey(a.socket, wide) < SortKey(b.socket, wide);
  });
  SocketsFact::Sockets sockets;
  BoundSocket* last = nullptr;
  for (SocketLine& entry : *found) {
    // This process's sockets lead to the controller: it has no listening port.
    const bool is_ours = entry.socket.pid() == static_cast<uint32_t>(getpid());
    if (is_ours && entry.socket.state() != "LISTEN") continue;
    if (last != nullptr && IsConnection(entry.socket) &&
        SortKey(*last, wide) == SortKey(entry.socket, wide)) {
      last->set_count(CountOf(*last) + CountOf(entry.socket));
      continue;
    }
    if (sockets.sockets_size() == kMaxBoundSockets) {
      return TooMany(kMaxBoundSockets);
    }
    last = sockets.add_sockets();
    *last = std::move(entry.socket);
  }
  return sockets;
}

}  // namespace

uint32_t ReadParent(const FileReader& files, uint32_t pid) {
  // "4711 (a name) S 17 …"; the name may hold any text.
  static const LazyRE2 kStat = {R"((?s).*\) +[^ )]+ +(\d+)(?: [^)]*)?)",
                                RE2::Latin1};
  uint32_t parent = 0;
  HasForm(files.ReadTrimmed(absl::StrCat("/proc/", pid, "/stat")).value_or(""),
          *kStat, &parent);
  return parent;
}

SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget) {
  return MakeFact<SocketsFact>(
      WithOwners(files, ReadTables(files, "/proc/net", ports), ports, budget));
}

SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget) {
  absl::StatusOr<std::vector<SocketLine>> found;
  // Not /proc/net, which shows the process's namespace, not the thread's.
  const absl::Status entered = opened.Run(
      [&] { found = ReadTables(files, "/proc/thread-self/net", ports); });
  if (!entered.ok()) found = entered;
  return MakeFact<SocketsFact>(
      WithOwners(files, std::move(found), ports, budget));
}

absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line) {
  static const LazyRE2 kLocalEnd = {
      R"(\s*\d+:\s+[^\s:]*:([[:xdigit:]]{4})(?:\s.*)?)", RE2::Latin1};
  absl::string_view digits;
  uint32_t port = 0;
  if (!HasForm(line, *kLocalEnd, &digits) ||
      !absl::SimpleHexAtoi(digits, &port)) {
    return Malformed(line);
  }
  return port;
}

absl::StatusOr<SocketLine> ParseSocketLine(absl::string_view table,
                                           absl::string_view line) {
  static const LazyRE2 kLine = {
      R"(\s*\S+\s+([[:xdigit:]]+):\S+\s+\S+\s+([[:xdigit:]]{2}))"
      R"((?:\s+\S+){5}\s+(\d+)(?:\s.*)?)",
      RE2::Latin1};
  SocketLine parsed;
  ASSIGN_OR_RETURN(const uint32_t port, ParseSocketPort(line));
  absl::string_view address;
  absl::string_view state_digits;
  uint32_t state = 0;
  if (!HasForm(line, *kLine, &address, &state_digits, &parsed.inode) ||
      address.size() != (IsIpv6(table) ? 32 : 8) ||
      !absl::SimpleHexAtoi(state_digits, &state)) {
    return Malformed(line);
  }
  parsed.socket.set_port(port);
  parsed.socket.set_protocol(std::string(table));
  parsed.socket.set_address(AddressText(address, IsIpv6(table)));
  if (absl::StartsWith(table, "tcp")) {
    parsed.socket.set_state(state >= 1 && state <= std::size(kTcpStates)
                                ? std::string(kTcpStates[state - 1])
                                : absl::StrCat("state ", absl::Hex(state)));
  }
  return parsed;
}

}  // namespace clusterd
