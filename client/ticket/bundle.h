// The data for a vendor's ticket about some hosts, in one .tar.gz:
//   clusterd-bundle/INDEX.txt             each file, its source, size, cuts,
//                                         removals
//   clusterd-bundle/check.json, .txt      findings of a check made now
//   clusterd-bundle/HOST/facts.json       the host's facts
//   clusterd-bundle/HOST/hccn_tool.txt    every run of the tool, and its output
//   clusterd-bundle/HOST/npu-smi.txt      the same of npu-smi
//   clusterd-bundle/HOST/hccn.conf
//   clusterd-bundle/HOST/dmesg.txt        the end of the kernel's log
//   clusterd-bundle/HOST/logs.json        codes found, files, what was left out
//   clusterd-bundle/HOST/logs/001-plog-4711_20260301101112131.log
// Secrets are removed (WithoutSecrets). Addresses and names stay, because a
// vendor needs them.
#ifndef CLIENT_TICKET_BUNDLE_H_
#define CLIENT_TICKET_BUNDLE_H_

#include <zlib.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Writes a .tar.gz in memory: POSIX ustar (pax(1), "ustar Interchange Format"),
// which every tar reads, through zlib. Same entries, same bytes.
class TarGz {
 public:
  TarGz();
  ~TarGz();
  TarGz(const TarGz&) = delete;
  TarGz& operator=(const TarGz&) = delete;

  // Adds a regular file that only its owner may read. InvalidArgument if the
  // text has 2 GiB, or unless the name is relative, without "..", its last part
  // of 1 to 100 bytes and its rest of at most 155. ResourceExhausted: no
  // memory.
  absl::Status Add(absl::string_view name, absl::string_view text,
                   int64_t changed_at_s);

  // The whole archive. Called last, and once.
  absl::StatusOr<std::string> Finish();

 private:
  absl::Status Write(absl::string_view bytes, int flush);

  z_stream stream_ = {};
  int begun_ = Z_OK;
  std::string out_;
};

// Removes secrets from texts that leave the site: private keys, and tokens and
// passwords in the forms of logged environments, headers and addresses. A
// secret without such a form stays, so the sender has to read the text.

// Removed secrets by kind; only kinds that were found.
using RemovedSecrets = std::map<std::string, size_t>;

// `text` with "[removed]" in place of each secret:
//   private key     from BEGIN … PRIVATE KEY to its END, or to the end of the
//                   text; if the text begins inside one, from its beginning
//   value           of NAME=value, NAME: value and --NAME value if the name is
//                   that of a token, password, secret, credential or key
//   authorization   after Authorization: Bearer, Basic
//   address         the password in scheme://user:password@host
//   token           a known form: JWT, of GitHub, GitLab, Hugging Face, AWS
// Adds to `removed`. Linear in the text, which may be any bytes.
std::string WithoutSecrets(absl::string_view text, RemovedSecrets* removed);

// Texts beyond this are left out, and the index says so.
inline constexpr size_t kMaxBundleTextBytes = 512u << 20;

class Bundle {
 public:
  explicit Bundle(std::string cluster, absl::Time made_at);

  void AddReport(const Report& report);
  // Adds a host's data, in which anything may be hostile.
  void AddHost(const LogsOfHost& host);
  // Adds the facts of a host that sent no recording.
  void AddFacts(const HostFacts& facts);
  // Adds a line to the index about missing data and why.
  void AddGap(std::string text) { gaps_.push_back(std::move(text)); }

  size_t files() const { return entries_.size(); }
  const RemovedSecrets& removed() const { return removed_; }

  // The archive, with its entries sorted by name.
  absl::StatusOr<std::string> Finish() const;

 private:
  struct Entry {
    std::string text;
    std::string from;
    std::string cut;
    int64_t changed_at_s = 0;
    RemovedSecrets removed;
  };

  void Add(const std::string& name, absl::string_view text, std::string from,
           std::string cut = "", int64_t changed_at_s = 0);
  std::string Index() const;

  const std::string cluster_;
  const absl::Time made_at_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> gaps_;
  RemovedSecrets removed_;
  size_t bytes_ = 0;
};

}  // namespace clusterd

#endif  // CLIENT_TICKET_BUNDLE_H_
