// Takes secrets out of texts that leave the site: private keys, and what tokens
// and passwords look like where programs log their environment, their headers
// or their addresses. By form only: a secret that looks like nothing stays, so
// whoever sends the text has to read it.
#ifndef CLIENT_TICKET_SECRETS_H_
#define CLIENT_TICKET_SECRETS_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

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

}  // namespace clusterd

#endif  // CLIENT_TICKET_SECRETS_H_
