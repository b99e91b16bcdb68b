// Standard input, output and error of one run of the tool. Output is kept until
// Flush, so a run that is killed while a device hangs has printed nothing.
#ifndef TESTS_SIM_TOOL_TERMINAL_H_
#define TESTS_SIM_TOOL_TERMINAL_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace clusterd::sim {

class Terminal {
 public:
  virtual ~Terminal() = default;

  void Out(absl::string_view text) { out_.append(text.data(), text.size()); }
  void Err(absl::string_view text) { err_.append(text.data(), text.size()); }
  virtual void Flush() = 0;
  // One line with its newline, or the rest at the end of the input.
  virtual std::string ReadLine() = 0;

 protected:
  std::string out_;
  std::string err_;
};

// Prepared input, and output to check.
class FakeTerminal final : public Terminal {
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

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_TERMINAL_H_
