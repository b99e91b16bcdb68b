// The file below an AuditLog: lines are added at its end, each synced. Where it
// is full it is renamed to PATH.N, N being the number of its last line, and a
// new one continues its chain; old files are kept until a person takes them
// away (audit_log.h says how fast they grow). After a crash:
//   a last line without its end      is kept as it is, and the next line says
//   so a last line that is none of ours nothing is written until a person has
//   moved
//                                    the file away
//   no file, but PATH.N              the newest one is continued
#ifndef DAEMON_AUDIT_AUDIT_FILE_H_
#define DAEMON_AUDIT_AUDIT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/audit/audit_chain.h"
#include "proto/audit.pb.h"

namespace clusterd {

// As AuditEntry.at has it.
std::string AuditMoment(absl::Time time);

// Not safe for concurrent use.
class AuditFile {
 public:
  // A file has at most `max_bytes`, give or take a line.
  AuditFile(std::string path, size_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}
  ~AuditFile() { Close(); }
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  // Finds the end of the chain; nothing if that is done. Makes the file, and
  // its folder for the owner alone, where there is none. Unavailable, naming
  // the file, if it cannot be read or written or another process writes it;
  // FailedPrecondition if its last line is none of ours.
  absl::Status Open(const std::string& at);

  // Fills in sequence, previous and sha256; synced when it returns OK. After an
  // error, as Open, no such line is there, or it is found at the next Open.
  absl::Status Append(AuditEntry entry);

  // The newest line; nothing before the first one.
  const AuditHead& head() const { return head_; }
  // Of the files that this one continues: grows with each that is begun.
  uint64_t first_sequence() const { return first_sequence_; }
  // What stands in the file about other files, when it was opened.
  const KnownHeads& known() const { return known_; }
  // By this object.
  uint64_t written_bytes() const { return written_bytes_; }

 private:
  absl::Status OpenFile();
  absl::Status ReadEnd(const std::string& at);
  absl::Status ReadOlder();
  absl::Status WriteLine(AuditEntry entry, absl::string_view before);
  absl::Status Rotate();
  absl::Status Trouble(absl::string_view doing) const;
  void Close();

  const std::string path_;
  const size_t max_bytes_;
  int fd_ = -1;
  size_t size_ = 0;
  AuditHead head_;
  uint64_t first_sequence_ = 0;
  KnownHeads known_;
  uint64_t written_bytes_ = 0;
};

}  // namespace clusterd

#endif  // DAEMON_AUDIT_AUDIT_FILE_H_
