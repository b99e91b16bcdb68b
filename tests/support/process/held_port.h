// A TCP port that a test keeps without a listener. Otherwise the kernel could
// give it to any program between two starts of a server.
#ifndef TESTS_SUPPORT_PROCESS_HELD_PORT_H_
#define TESTS_SUPPORT_PROCESS_HELD_PORT_H_

#include <string>

namespace clusterd {

// A free port of 127.0.0.1, bound and not listened on. Connections to it are
// refused. A server that asks for it by number and sets SO_REUSEADDR, like all
// of ours, may listen there. No other program gets it.
class HeldPort {
 public:
  HeldPort();
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  int number() const { return number_; }
  // 127.0.0.1:PORT.
  std::string address() const;

 private:
  const int fd_;
  int number_ = 0;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_HELD_PORT_H_
