// The process at the enrolment port: the controller's program, which the
// controller starts (enrolment_listener.h) with an internal argument. Strangers
// reach only this process. It sends the roots, forwards Join, and ends with the
// controller. The kernel bounds its memory, descriptors and priority, so that a
// stranger cannot exhaust the controller. It does not protect the controller's
// key: the process has the controller's user and key, and so has a stranger who
// takes it over.
#ifndef DAEMON_CONTROLLER_TRUST_ENROLMENT_PROCESS_H_
#define DAEMON_CONTROLLER_TRUST_ENROLMENT_PROCESS_H_

#include <cstddef>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "config/identity/root_bundle.h"
#include "daemon/controller/admission/connection_acceptor.h"
#include "daemon/controller/trust/certificate_authority.h"
#include "daemon/process/log.h"
#include "google/protobuf/message_lite.h"

namespace clusterd {

// Its only argument. Descriptor kEnrolmentSocket is a SOCK_SEQPACKET to the
// controller; the descriptors after it, up to the last open one, listen.
inline constexpr char kEnrolmentProcess[] = "--as-the-enrolment-port";
inline constexpr int kEnrolmentSocket = 3;

// Its RLIMIT_DATA. If the process exceeds it and ends, it is restarted.
inline constexpr size_t kEnrolmentMemoryBytes = size_t{256} << 20;
// Unbounded with sanitizers, which reserve terabytes for themselves. TSan
// builds make the compiler hide themselves (.bazelrc).
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(_GLIBCXX_TSAN)
inline constexpr bool kBoundsMemory = false;
#else
inline constexpr bool kBoundsMemory = true;
#endif
// For a packet to the controller, and one to the process.
inline constexpr size_t kMaxQuestionBytes = 68 << 10;
// An answer has all bundles, the roots of root.crt and a certificate chain.
inline constexpr size_t kMaxAnswerBytes =
    kMaxBundleBytes + kMaxRootsBytes + (16 << 10);
// Forwarded joins without an answer.
inline constexpr size_t kMaxJoinsUnderWay = 256;

// The port's listening options, and the bounds of one connection.
AcceptorOptions EnrolmentAcceptor();

// Sends a whole packet. Unavailable, with the reason. `flags` as in send(2).
absl::Status SendPacket(int socket, const google::protobuf::MessageLite& packet,
                        int flags = 0);
// Waits for a packet. False: the peer has left, or has sent an invalid packet
// or one longer than `most`.
bool ReceivePacket(int socket, size_t most,
                   google::protobuf::MessageLite* packet);

// Serves until the controller ends: 0. If it fails, it logs why: 1.
int RunEnrolmentProcess(Log* log);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_PROCESS_H_
