// Makes MutationTokens. Code that includes this may change machines; see
// mutation_token.h and the visibility of this target.
#ifndef DAEMON_HOST_CHANGE_MUTATION_TOKEN_ISSUER_H_
#define DAEMON_HOST_CHANGE_MUTATION_TOKEN_ISSUER_H_

#include "daemon/host/change/mutation_token.h"

namespace clusterd {

class MutationTokenIssuer {
 public:
  const MutationToken& token() const { return token_; }

 private:
  MutationToken token_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_MUTATION_TOKEN_ISSUER_H_
