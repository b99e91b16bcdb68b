#include "tests/support/http/tcp_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

constexpr size_t kMaxHeard = 64 << 10;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

TcpProxy::TcpProxy(int target_port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  EXPECT_EQ(
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  int wake[2];
  EXPECT_EQ(pipe(wake), 0);
  wake_read_ = wake[0];
  wake_write_ = wake[1];
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  EXPECT_EQ(write(wake_write_, "x", 1), 1);
  thread_.join();
  std::set<int> open = {listener_, wake_read_, wake_write_};
  for (const Wire& wire : wires_) open.insert(wire.from);
  for (const int fd : open) close(fd);
}

std::string TcpProxy::address() const {
  return absl::StrCat("127.0.0.1:", port_);
}

void TcpProxy::CutPresentConnections() {
  absl::MutexLock lock(&mutex_);
  for (Wire& wire : wires_) wire.cut = true;
  EXPECT_EQ(write(wake_write_, "x", 1), 1);
}

void TcpProxy::CutAll() {
  {
    absl::MutexLock lock(&mutex_);
    cuts_all_ = true;
  }
  CutPresentConnections();
}

void TcpProxy::Run() {
  for (;;) {
    std::vector<pollfd> polled = {{wake_read_, POLLIN, 0},
                                  {listener_, POLLIN, 0}};
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      for (const Wire& wire : wires_) {
        if (!wire.cut) polled.push_back({wire.from, POLLIN, 0});
      }
    }
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    char byte;
    if (polled[0].revents != 0 && read(wake_read_, &byte, 1) < 0) return;
    if (polled[1].revents != 0) Accept();
    absl::MutexLock lock(&mutex_);
    for (size_t i = 2; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const auto wire = std::find_if(
          wires_.begin(), wires_.end(),
          [&](const Wire& w) { return w.from == polled[i].fd && !w.cut; });
      if (wire == wires_.end() || Pass(*wire)) continue;
      // Both ends notice it; the descriptors stay open until the end.
      shutdown(wire->from, SHUT_RDWR);
      shutdown(wire->to, SHUT_RDWR);
      for (Wire& other : wires_) {
        if (other.from == wire->from || other.from == wire->to) {
          other.cut = true;
        }
      }
    }
  }
}

void TcpProxy::Accept() {
  const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in target = Loopback(target_port_);
  if (near < 0 || connect(far, reinterpret_cast<const sockaddr*>(&target),
                          sizeof(target)) != 0) {
    if (near >= 0) close(near);
    close(far);
    return;
  }
  absl::MutexLock lock(&mutex_);
  wires_.push_back({near, far, cuts_all_, /*is_dialled=*/true});
  wires_.push_back({far, near, cuts_all_, /*is_dialled=*/false});
}

bool TcpProxy::Pass(const Wire& wire) {
  char buffer[16384];
  const ssize_t count = recv(wire.from, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  if (wire.is_dialled && heard_.size() < kMaxHeard) {
    heard_.append(buffer, static_cast<size_t>(count));
  }
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t now = send(wire.to, buffer + sent,
                             static_cast<size_t>(count - sent), MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += now;
  }
  return true;
}

}  // namespace clusterd
