// Tokens and certificates for people, folded over hosts that agree.
//   STATE     HOSTS           ENDS                  SERIAL
//   by hand   node[001-1151]  2026-12-26 17:21 UTC          not renewed
#ifndef CLIENT_PRINT_TRUST_TABLE_H_
#define CLIENT_PRINT_TRUST_TABLE_H_

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/trust.pb.h"

namespace clusterd {

// The line that a host joins with. `controller` is HOST:PORT as the user dials
// it.
std::string JoinLine(const CreateTokenResponse& made,
                     const std::string& controller);

// All texts are made safe for a terminal; ages are by our clock, `now`.
void PrintTokens(const ListTokensResponse& tokens, const Style& style,
                 absl::Time now, std::ostream& out);
void PrintCertificates(const ListCertificatesResponse& certificates,
                       const Style& style, absl::Time now, std::ostream& out);

// "1151 enrolled, 1 ended".
std::string CertificatesShort(const ListCertificatesResponse& certificates);

}  // namespace clusterd

#endif  // CLIENT_PRINT_TRUST_TABLE_H_
