#include "tests/sim/tool/terminal.h"

#include <errno.h>
#include <unistd.h>

namespace clusterd {
namespace sim {
namespace {

void Drain(int fd, std::string* text) {
  size_t done = 0;
  while (done < text->size()) {
    const ssize_t wrote = write(fd, text->data() + done, text->size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += wrote;
  }
  text->clear();
}

}  // namespace

void PosixTerminal::Flush() {
  Drain(STDOUT_FILENO, &out_);
  Drain(STDERR_FILENO, &err_);
}

std::string PosixTerminal::ReadLine() {
  std::string line;
  char c;
  while (read(STDIN_FILENO, &c, 1) == 1) {
    line += c;
    if (c == '\n') break;
  }
  return line;
}

}  // namespace sim
}  // namespace clusterd
