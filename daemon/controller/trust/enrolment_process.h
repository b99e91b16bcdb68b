// The process at the enrolment port: the controller's program, started by it
// (enrolment_listener.h) under one word that nobody types. Strangers talk to
// this process alone. It sends the roots, hands on the rest of the service
// Enrolment, which is Join, and ends with the controller.
// The kernel bounds its memory, descriptors and priority: a stranger who
// exhausts them does not exhaust the controller. The process bounds no trust.
// It runs as the controller's user and reads the controller's key, so a
// stranger who takes it over has what that user and key have.
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

// The program's one argument then. Its descriptor kEnrolmentSocket is a
// SOCK_SEQPACKET to the controller, and those behind it up to the last one that
// is open listen.
inline constexpr char kEnrolmentProcess[] = "--as-the-enrolment-port";
inline constexpr int kEnrolmentSocket = 3;

// What it may have at most, as RLIMIT_DATA. Beyond, it ends, and is started
// again.
inline constexpr size_t kEnrolmentMemoryBytes = size_t{256} << 20;
// The sanitizers reserve terabytes for themselves, so there it is not bounded.
// TSan builds tell the compiler to hide themselves (.bazelrc).
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(_GLIBCXX_TSAN)
inline constexpr bool kBoundsMemory = false;
#else
inline constexpr bool kBoundsMemory = true;
#endif
// Of a packet to the controller, and of one to the process.
inline constexpr size_t kMaxQuestionBytes = 68 << 10;
// An answer has all bundles, the roots of root.crt and a certificate's chain.
inline constexpr size_t kMaxAnswerBytes =
    kMaxBundleBytes + kMaxRootsBytes + (16 << 10);
// Joins that were handed on and have no answer yet.
inline constexpr size_t kMaxJoinsUnderWay = 256;

// How the port is listened on, and what one connection may cost.
AcceptorOptions EnrolmentAcceptor();

// The packet as a whole; Unavailable, with the system's reason, if it cannot be
// sent. `flags` as of send(2).
absl::Status SendPacket(int socket, const google::protobuf::MessageLite& packet,
                        int flags = 0);
// Waits for one. False: the other end has gone, or has sent what is no such
// packet or longer than `most`.
bool ReceivePacket(int socket, size_t most,
                   google::protobuf::MessageLite* packet);

// Serves until the controller has gone: 0. 1: it could not, which is logged.
int RunEnrolmentProcess(Log* log);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_TRUST_ENROLMENT_PROCESS_H_
