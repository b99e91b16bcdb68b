// What this host allows, by the file of --config:
//   allow: [observe, sysctl, device-address]
// The host has the last word, whatever a controller sends. Without the file, or
// without the key, a host is only observed.
#ifndef DAEMON_AGENT_APPLY_VETO_H_
#define DAEMON_AGENT_APPLY_VETO_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class Veto {
 public:
  // Allows observing and nothing else.
  Veto() : allowed_({CHANGE_OBSERVE}) {}
  explicit Veto(std::set<ChangeKind> allowed) : allowed_(std::move(allowed)) {}

  // The key `allow` of agent.yaml's top mapping, which must be among its known
  // keys. Records what is wrong, with its place and the nearest known word. A
  // file with mistakes must not be used: then take Veto(), which allows
  // nothing.
  static Veto Read(const YamlMap& agent, Mistakes* mistakes);

  bool Allows(ChangeKind kind) const { return allowed_.count(kind) > 0; }

  // Where that stands: the path of --config, "" without one, and the mistake
  // for which the file is not obeyed, "" if there is none. For texts alone.
  void SetFile(const std::string& file, const std::string& mistake) {
    file_ = file;
    mistake_ = mistake;
  }

  // The same to tell with the host's facts.
  HostAllows ToHostAllows() const;

  // PermissionDenied, naming each kind that the plan needs and the host does
  // not allow, its steps, and what to write where, as a plan says it.
  absl::Status Check(const HostPlan& plan) const;

 private:
  std::set<ChangeKind> allowed_;
  std::string file_;
  std::string mistake_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_VETO_H_
