// A TCP port that stays a test's own without a listener. Between two starts of
// a server, the kernel would give it to any program.
#ifndef TESTS_SUPPORT_PROCESS_HELD_PORT_H_
#define TESTS_SUPPORT_PROCESS_HELD_PORT_H_

#include <string>

namespace clusterd {

// A free port of 127.0.0.1, bound and not listened on. Connections to it are
// refused. A server that asks for it by number and sets SO_REUSEADDR, as all
// our servers do, may listen there; no other program is given it.
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
