// Everything that a vendor asks for with a ticket about some hosts, in one
// .tar.gz:
//   clusterd-bundle/INDEX.txt             each file, where from, bytes, what
//                                         was cut and taken out of it
//   clusterd-bundle/check.json, .txt      findings of a check made now
//   clusterd-bundle/HOST/facts.json       what the host told
//   clusterd-bundle/HOST/hccn_tool.txt    every run of the tool, and its output
//   clusterd-bundle/HOST/hccn.conf
//   clusterd-bundle/HOST/logs.json        codes found, files, what was left out
//   clusterd-bundle/HOST/logs/001-plog-4711_20260301101112131.log
// Secrets are taken out (secrets.h), addresses and names are not: a vendor
// cannot do without.
#ifndef CLIENT_TICKET_BUNDLE_H_
#define CLIENT_TICKET_BUNDLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/ticket/secrets.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

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
