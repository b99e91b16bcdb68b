// Standard input, output and error of one run of the tool. Output is kept until
// Flush, so a run that is killed while a device hangs has said nothing.
#ifndef TESTS_SIM_TOOL_TERMINAL_H_
#define TESTS_SIM_TOOL_TERMINAL_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {
namespace sim {

class Terminal {
 public:
  virtual ~Terminal() = default;

  void Out(absl::string_view text) { out_.append(text.data(), text.size()); }
  void Err(absl::string_view text) { err_.append(text.data(), text.size()); }
  virtual void Flush() = 0;
  // One line with its newline, or what is left at the end of the input.
  virtual std::string ReadLine() = 0;

 protected:
  std::string out_;
  std::string err_;
};

// File descriptors 0, 1 and 2.
class PosixTerminal : public Terminal {
 public:
  void Flush() override;
  std::string ReadLine() override;
};

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_TERMINAL_H_
