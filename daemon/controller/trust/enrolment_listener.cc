#include "daemon/controller/trust/enrolment_listener.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "config/identity/grpc_status.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/user_calls.h"
#include "daemon/controller/trust/enrolment_process.h"

namespace clusterd {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(30);
constexpr size_t kMaxPeerBytes = 80;
// How long the peer may take to read a packet.
constexpr timeval kSendPatience = {5, 0};
// Copies get numbers from here, above their final places.
constexpr int kLeastCopy = 64;

// Shut and closed after the last answer over it.
using SocketPtr = std::shared_ptr<const OwnedFd>;

// Starts the program with its end of the socket, the listeners after it and
// standard error; 0: it failed, and errno says why. The environment is empty,
// and the controller's blocked signals stay blocked.
pid_t Spawn(const std::string& program, int socket,
            const std::vector<int>& listeners) {
  std::vector<int> copies;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto freed = absl::MakeCleanup([&] {
    posix_spawn_file_actions_destroy(&actions);
    for (const int fd : copies) close(fd);
  });
  int place = kEnrolmentSocket;
  for (size_t i = 0; i <= listeners.size(); ++i, ++place) {
    const int fd = i == 0 ? socket : listeners[i - 1];
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, kLeastCopy);
    if (copy < 0) return 0;
    copies.push_back(copy);
    posix_spawn_file_actions_adddup2(&actions, copy, place);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, place);
  char name[] = "clusterd-controller";
  std::string word = kEnrolmentProcess;
  char* const words[] = {name, word.data(), nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = 0;
  errno =
      posix_spawn(&pid, program.c_str(), &actions, nullptr, words, environment);
  return errno == 0 ? pid : 0;
}

std::string EndText(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                             : absl::StrCat("status ", WEXITSTATUS(status));
}

void Answer(const OwnedFd& socket, uint64_t id,
            const absl::StatusOr<Enrolled>& enrolled) {
  EnrolmentAnswer answer;
  answer.set_id(id);
  const grpc::Status status = ToGrpcStatus(enrolled.status());
  answer.set_code(status.error_code());
  answer.set_message(status.error_message());
  answer.set_words(status.error_details());
  if (enrolled.ok()) *answer.mutable_enrolled() = *enrolled;
  // A process that does not read answers is useless.
  if (!SendPacket(socket.get(), answer).ok()) shutdown(socket.get(), SHUT_RDWR);
}

}  // namespace

// Its thread starts the process, handles its requests, and ends it by its id,
// which is valid until the thread has waited for it. If that thread ends for
// any reason, the kernel ends the process.
class EnrolmentListener::Keeper {
 public:
  Keeper(EnrolmentListener* listener, std::vector<int> listeners)
      : listener_(*listener),
        listeners_(std::move(listeners)),
        thread_([this] { Run(); }) {}
  ~Keeper() {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
      if (socket_ != nullptr) shutdown(socket_->get(), SHUT_RDWR);
    }
    thread_.join();
  }

  pid_t process() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return process_;
  }

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::Duration pause = kFirstPause;
    while (true) {
      const absl::Time began = absl::Now();
      const std::string why = ServeOnce();
      if (absl::Now() - began > listener_.options_.good_life)
        pause = kFirstPause;
      absl::MutexLock lock(&mutex_);
      if (stop_) return;
      listener_.parts_.log->Error(
          "the process of the port of hosts that join has ended (", why,
          "), started again in ", absl::FormatDuration(pause));
      if (mutex_.AwaitWithTimeout(absl::Condition(&stop_), pause)) return;
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  // Serves one process from start to end; returns why it ended.
  std::string ServeOnce() ABSL_LOCKS_EXCLUDED(mutex_) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return std::strerror(errno);
    }
    const auto socket = std::make_shared<const OwnedFd>(ends[0]);
    setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &kSendPatience,
               sizeof(kSendPatience));
    const int most = kMaxAnswerBytes;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
    pid_t pid;
    {
      const OwnedFd theirs(ends[1]);
      pid = Spawn(listener_.options_.program, theirs.get(), listeners_);
      if (pid == 0) return std::strerror(errno);
    }
    const absl::Status started = SendPacket(socket->get(), StartPacket());
    NoteProcess(pid, started.ok() ? socket : nullptr);
    EnrolmentQuestion question;
    while (started.ok() &&
           ReceivePacket(socket->get(), kMaxQuestionBytes, &question) &&
           !question.peer().empty()) {
      OnQuestion(socket, std::move(question));
      question.Clear();
    }
    NoteProcess(0, nullptr);
    kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return started.ok() ? EndText(status) : std::string(started.message());
  }

  EnrolmentStart StartPacket() const {
    const EnrolmentService& service = *listener_.service_;
    EnrolmentStart start;
    start.mutable_roots()->set_cluster(service.cluster());
    start.mutable_roots()->set_roots_pem(service.authority().roots_pem());
    const TlsFiles& tls = listener_.options_.tls;
    start.set_ca(tls.ca);
    start.set_certificate(tls.certificate);
    start.set_key(tls.key);
    start.set_longest_connection_ms(
        ToMs(listener_.options_.longest_connection));
    start.set_longest_idle_ms(ToMs(listener_.options_.longest_idle));
    return start;
  }

  void NoteProcess(pid_t pid, SocketPtr socket) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    process_ = pid;
    socket_ = std::move(socket);
    if (stop_ && socket_ != nullptr) shutdown(socket_->get(), SHUT_RDWR);
  }

  void OnQuestion(const SocketPtr& socket, EnrolmentQuestion question) {
    const uint64_t id = question.id();
    const std::string peer = PrintableText(question.peer(), kMaxPeerBytes);
    const absl::Status may =
        listener_.limits_.Take(peer, listener_.parts_.scheduler->Now());
    if (!may.ok()) {
      listener_.parts_.audit->Refuse(MakeAuditEntry("Join", "", "", peer), may);
      return Answer(*socket, id, may);
    }
    AnswerOnPool<Enrolled>(
        &listener_.joins_, WorkerPool::Place::kInTurn,
        [service = listener_.service_, peer,
         join = std::move(*question.mutable_join())] {
          return service->Join(join, peer);
        },
        [socket, id](const absl::StatusOr<Enrolled>& answer) {
          Answer(*socket, id, answer);
        });
  }

  EnrolmentListener& listener_;
  const std::vector<int> listeners_;
  mutable absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  pid_t process_ ABSL_GUARDED_BY(mutex_) = 0;
  SocketPtr socket_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // Last: uses the rest.
};

EnrolmentListener::EnrolmentListener(Options options, EnrolmentService* service,
                                     const ControllerParts& parts)
    : options_(std::move(options)),
      service_(service),
      parts_(parts),
      joins_(/*threads=*/1, kMaxJoinsUnderWay),
      listen_(options_.listen) {}

EnrolmentListener::~EnrolmentListener() {
  gate_.Close();
  absl::MutexLock lock(&mutex_);
  CloseLocked();
}

void EnrolmentListener::Poll() {
  gate_.RunSoon(parts_.pool, parts_.scheduler, [this] {
    const absl::Status status = Update();
    absl::MutexLock lock(&mutex_);
    const std::string trouble(status.message());
    if (!trouble.empty() && trouble != reported_) parts_.log->Error(trouble);
    reported_ = trouble;
  });
  parts_.scheduler->RunAfter(options_.interval, gate_.Wrap([this] { Poll(); }));
}

absl::Status EnrolmentListener::Update() {
  absl::MutexLock lock(&mutex_);
  // Hold the lock: an older check must not undo a newer one.
  const bool wanted = service_->ShouldListen();
  if (wanted && keeper_ == nullptr) return OpenLocked();
  if (!wanted && keeper_ != nullptr) {
    CloseLocked();
    parts_.log->Notice("closed to hosts that join: no token is valid");
  }
  return absl::OkStatus();
}

absl::Status EnrolmentListener::OpenLocked() {
  // Checked here, since the process could only log the error.
  RETURN_IF_ERROR(ReadTlsFiles(options_.tls).status());
  AcceptorOptions accept = EnrolmentAcceptor();
  accept.listen = listen_;
  ASSIGN_OR_RETURN(bound_, ConnectionAcceptor::Listen(accept, parts_.log));
  port_ = bound_->port();
  listen_ = absl::StrCat(listen_.substr(0, listen_.rfind(':')), ":", port_);
  keeper_ = std::make_unique<Keeper>(this, bound_->listeners());
  parts_.log->Notice("open to hosts that join, on port ", port_);
  return absl::OkStatus();
}

void EnrolmentListener::CloseLocked() {
  keeper_.reset();
  bound_.reset();
}

int EnrolmentListener::port() const {
  absl::MutexLock lock(&mutex_);
  return port_;
}

bool EnrolmentListener::is_open() const {
  absl::MutexLock lock(&mutex_);
  return keeper_ != nullptr;
}

pid_t EnrolmentListener::process() const {
  absl::MutexLock lock(&mutex_);
  return keeper_ == nullptr ? 0 : keeper_->process();
}

}  // namespace clusterd
