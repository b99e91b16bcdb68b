// Writes a .tar.gz in memory: POSIX ustar (pax(1), "ustar Interchange Format"),
// which every tar reads, through zlib. Same entries, same bytes.
#ifndef CLIENT_TICKET_TAR_GZ_H_
#define CLIENT_TICKET_TAR_GZ_H_

#include <zlib.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

class TarGz {
 public:
  TarGz();
  ~TarGz();
  TarGz(const TarGz&) = delete;
  TarGz& operator=(const TarGz&) = delete;

  // A regular file that its owner alone may read. InvalidArgument unless the
  // name is relative and without "..", its last part is 1 to 100 bytes and what
  // stands before it at most 155, or if the text has 8 GiB; ResourceExhausted
  // if there is no memory.
  absl::Status Add(absl::string_view name, absl::string_view text,
                   int64_t changed_at_s);

  // The whole archive. Last, once.
  absl::StatusOr<std::string> Finish();

 private:
  absl::Status Write(absl::string_view bytes, int flush);

  z_stream stream_ = {};
  int begun_ = Z_OK;
  std::string out_;
};

}  // namespace clusterd

#endif  // CLIENT_TICKET_TAR_GZ_H_
