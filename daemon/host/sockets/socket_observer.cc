#include "daemon/host/sockets/socket_observer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/sockets/socket_table.h"

namespace clusterd {
namespace {

constexpr size_t kMaxCommandBytes = 64;

struct Table {
  const char* name;
  SocketProtocol protocol;
  bool is_ipv6;
};

constexpr Table kTables[] = {
    {"tcp", SocketProtocol::kTcp, false},
    {"tcp6", SocketProtocol::kTcp6, true},
    {"udp", SocketProtocol::kUdp, false},
    {"udp6", SocketProtocol::kUdp6, true},
};

// A socket in the ports, and where to look for its owner.
struct Found {
  BoundSocket socket;
  uint64_t inode;
};

absl::Status ReadTable(const FileReader& files, absl::string_view folder,
                       const Table& table, const PortSet& ports,
                       std::vector<Found>* found) {
  const std::string path = absl::StrCat(folder, "/", table.name);
  absl::Status bad = absl::OkStatus();
  bool is_header = true;
  const absl::Status read = files.ReadLines(path, [&](absl::string_view line) {
    if (std::exchange(is_header, false)) return true;
    const absl::StatusOr<uint32_t> port = ParseSocketPort(line);
    if (port.ok() && !ports.Contains(*port)) return true;
    const absl::StatusOr<SocketLine> parsed =
        ParseSocketLine(table.protocol, line);
    if (!parsed.ok()) {
      bad = parsed.status();
      return false;
    }
    if (found->size() == kMaxBoundSockets) {
      bad = absl::ResourceExhaustedError(absl::StrCat(
          "more than ", kMaxBoundSockets, " sockets in these ports"));
      return false;
    }
    Found entry;
    entry.socket.set_port(parsed->port);
    entry.socket.set_protocol(table.name);
    entry.socket.set_address(parsed->address);
    entry.socket.set_state(parsed->state);
    entry.inode = parsed->inode;
    found->push_back(std::move(entry));
    return true;
  });
  if (!read.ok()) return read;
  if (bad.ok()) return bad;
  return absl::Status(bad.code(), absl::StrCat(path, ": ", bad.message()));
}

bool IsPid(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isdigit(c);
  });
}

// Goes through the processes until every inode has its owner.
class OwnerSearch {
 public:
  OwnerSearch(const FileReader& files, std::vector<Found>* found)
      : files_(files) {
    for (Found& entry : *found) {
      if (entry.inode != 0) wanted_[entry.inode].push_back(&entry.socket);
    }
  }

  // DeadlineExceeded: `budget` was spent first.
  absl::Status Run(const TimeBudget& budget) {
    if (wanted_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     files_.List("/proc"));
    for (const std::string& name : names) {
      if (!IsPid(name)) continue;
      if (wanted_.empty()) return absl::OkStatus();
      if (budget.IsSpent()) {
        return absl::DeadlineExceededError(absl::StrCat(
            "owners of sockets: not found within ", budget.HostDeadline()));
      }
      SearchProcess(name);
    }
    return absl::OkStatus();
  }

 private:
  // A process may end at any time; what cannot be read is not its socket.
  void SearchProcess(const std::string& pid) {
    const std::string folder = absl::StrCat("/proc/", pid, "/fd");
    const absl::StatusOr<std::vector<std::string>> fds = files_.List(folder);
    if (!fds.ok()) return;
    for (const std::string& fd : *fds) {
      const absl::StatusOr<std::string> link =
          files_.ReadLink(absl::StrCat(folder, "/", fd));
      if (!link.ok()) continue;
      const std::optional<uint64_t> inode = ParseSocketLink(*link);
      if (!inode.has_value()) continue;
      const auto wanted = wanted_.find(*inode);
      if (wanted == wanted_.end()) continue;
      for (BoundSocket* socket : wanted->second) SetOwner(pid, socket);
      wanted_.erase(wanted);
    }
  }

  void SetOwner(const std::string& pid, BoundSocket* socket) const {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(pid, &number)) return;
    socket->set_pid(number);
    const absl::StatusOr<std::string> command =
        files_.ReadTrimmed(absl::StrCat("/proc/", pid, "/comm"));
    if (command.ok()) {
      socket->set_command(PrintableText(*command, kMaxCommandBytes));
    }
  }

  const FileReader& files_;
  absl::flat_hash_map<uint64_t, std::vector<BoundSocket*>> wanted_;
};

bool Earlier(const Found& a, const Found& b) {
  const auto key = [](const BoundSocket& socket) {
    return std::make_tuple(socket.port(), socket.protocol(), socket.address(),
                           socket.state());
  };
  return key(a.socket) < key(b.socket);
}

absl::Status ReadTables(const FileReader& files, absl::string_view folder,
                        const PortSet& ports, std::vector<Found>* found) {
  for (const Table& table : kTables) {
    const absl::Status read = ReadTable(files, folder, table, ports, found);
    if (table.is_ipv6 && absl::IsNotFound(read)) continue;
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

// With the owners of what was found in the tables, if those could be `read`.
absl::StatusOr<SocketsFact::Sockets> WithOwners(const FileReader& files,
                                                const absl::Status& read,
                                                std::vector<Found> found,
                                                const TimeBudget& budget) {
  if (!read.ok()) return read;
  RETURN_IF_ERROR(OwnerSearch(files, &found).Run(budget));
  std::sort(found.begin(), found.end(), Earlier);
  SocketsFact::Sockets sockets;
  for (Found& entry : found) {
    *sockets.add_sockets() = std::move(entry.socket);
  }
  return sockets;
}

}  // namespace

SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget) {
  std::vector<Found> found;
  const absl::Status read = ReadTables(files, "/proc/net", ports, &found);
  SocketsFact fact;
  SetFact(WithOwners(files, read, std::move(found), budget), &fact);
  return fact;
}

SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget) {
  std::vector<Found> found;
  absl::Status read;
  // Not /proc/net: that is the namespace of the process, not of the thread.
  const absl::Status entered = opened.Run([&] {
    read = ReadTables(files, "/proc/thread-self/net", ports, &found);
  });
  SocketsFact fact;
  SetFact(WithOwners(files, entered.ok() ? read : entered, std::move(found),
                     budget),
          &fact);
  return fact;
}

}  // namespace clusterd
