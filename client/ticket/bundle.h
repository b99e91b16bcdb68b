// Everything that a vendor asks for with a ticket about some hosts, in one
// .tar.gz:
//   clusterd-bundle/INDEX.txt             each file, where from, bytes, what
//                                         was cut and taken out of it
//   clusterd-bundle/check.json, .txt      findings of a check made now
//   clusterd-bundle/HOST/facts.json       what the host told
//   clusterd-bundle/HOST/hccn_tool.txt    every run of the tool, and its output
//   clusterd-bundle/HOST/npu-smi.txt      the same of npu-smi
//   clusterd-bundle/HOST/hccn.conf
//   clusterd-bundle/HOST/dmesg.txt        the end of the kernel's log
//   clusterd-bundle/HOST/logs.json        codes found, files, what was left out
//   clusterd-bundle/HOST/logs/001-plog-4711_20260301101112131.log
// Secrets are removed (WithoutSecrets); addresses and names stay, because a
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

  // A regular file that its owner alone may read. InvalidArgument unless the
  // name is relative and without "..", its last part is 1 to 100 bytes and what
  // stands before it at most 155, or if the text has 2 GiB; ResourceExhausted
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

// Takes secrets out of texts that leave the site: private keys, and what tokens
// and passwords look like where programs log their environment, their headers
// or their addresses. By form only: a secret that looks like nothing stays, so
// the sender has to read the text.

// How many of each kind were removed; only kinds that were found.
using RemovedSecrets = std::map<std::string, size_t>;

// `text` with "[removed]" in the place of each secret:
//   private key     from BEGIN … PRIVATE KEY to its END, or to the end of the
//                   text; where the text begins in one, from there
//   value           of NAME=value, NAME: value and --NAME value where the name
//                   speaks of a token, password, secret, credential or key
//   authorization   behind Authorization: Bearer, Basic
//   address         the password in scheme://user:password@host
//   token           a known form: JWT, of GitHub, GitLab, Hugging Face, AWS
// Adds to `removed`. Linear in the text, which may be any bytes.
std::string WithoutSecrets(absl::string_view text, RemovedSecrets* removed);

// Texts beyond it are left out, and the index says so.
inline constexpr size_t kMaxBundleBytes = 512u << 20;

class Bundle {
 public:
  explicit Bundle(std::string cluster, absl::Time made_at);

  void AddReport(const Report& report);
  // What a host sent; anything in it may be hostile.
  void AddHost(const LogsOfHost& host);
  // Of a host that sent no recording.
  void AddFacts(const HostFacts& facts);
  // What is not in it, and why; for the index.
  void AddGap(std::string text) { gaps_.push_back(std::move(text)); }

  size_t files() const { return entries_.size(); }
  // Of all files.
  const RemovedSecrets& removed() const { return removed_; }

  // The archive. Entries are in the order of their names, whatever the order in
  // which they were added.
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
