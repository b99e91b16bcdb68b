// Permission to change the machine. Every function here that changes one takes
// a token, and only the applier can make one: MutationTokenIssuer is a separate
// target that only daemon/agent/apply (and tests of this folder) may depend on.
#ifndef DAEMON_HOST_CHANGE_MUTATION_TOKEN_H_
#define DAEMON_HOST_CHANGE_MUTATION_TOKEN_H_

namespace clusterd {

class MutationToken {
 public:
  MutationToken(const MutationToken&) = delete;
  MutationToken& operator=(const MutationToken&) = delete;

 private:
  friend class MutationTokenIssuer;
  MutationToken() {}
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_MUTATION_TOKEN_H_
