// A terminal for tests: input that was typed before, output to look at.
#ifndef TESTS_SIM_TOOL_FAKE_TERMINAL_H_
#define TESTS_SIM_TOOL_FAKE_TERMINAL_H_

#include <string>

#include "tests/sim/tool/terminal.h"

namespace clusterd {
namespace sim {

class FakeTerminal : public Terminal {
 public:
  explicit FakeTerminal(std::string typed = "") : typed_(std::move(typed)) {}

  void Flush() override {}
  std::string ReadLine() override {
    const size_t newline = typed_.find('\n');
    const size_t length =
        newline == std::string::npos ? typed_.size() : newline + 1;
    const std::string line = typed_.substr(0, length);
    typed_.erase(0, length);
    return line;
  }

  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }

 private:
  std::string typed_;
};

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_FAKE_TERMINAL_H_
