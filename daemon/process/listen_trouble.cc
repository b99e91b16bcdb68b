#include "daemon/process/listen_trouble.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

// Empty if the other try went well.
std::string ListenTrouble(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return "it has no port";
  const std::string host(absl::StripPrefix(
      absl::StripSuffix(absl::string_view(listen).substr(0, colon), "]"), "["));
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  listen.c_str() + colon + 1, &hints, &found);
  if (unknown != 0) return gai_strerror(unknown);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> first(found,
                                                             &freeaddrinfo);
  const int fd = socket(first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool free = bind(fd, first->ai_addr, first->ai_addrlen) == 0;
  const int error = errno;
  close(fd);
  if (free) return "";
  if (error != EADDRINUSE) return std::strerror(error);
  return absl::StrCat(
      "another program listens there already; `ss -ltnp "
      "'sport = :",
      listen.substr(colon + 1), "'` names it");
}

}  // namespace

absl::Status CannotListen(const std::string& listen, const char* option) {
  const std::string trouble = ListenTrouble(listen);
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on \"", listen, "\": ", trouble,
      trouble.empty() ? "" : ", ",
      "expected a free ADDRESS:PORT of this machine (", option, ")"));
}

}  // namespace clusterd
