#include "daemon/controller/hosts/agent_hub_service.h"

#include <deque>
#include <memory>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "config/audit/audit_chain.h"
#include "config/identity/grpc_status.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/user_calls.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/stream/stream_writer.h"
#include "grpcpp/server_context.h"

namespace clusterd {
namespace {

// The time from a stream's start to its first message.
constexpr absl::Duration kHelloTimeout = absl::Seconds(10);
// Bounds on the number and bytes of messages queued for one host, which is
// disconnected at a bound. Its largest message is a plan, queued at most once.
constexpr size_t kMaxQueued = 256;
constexpr size_t kMaxQueuedBytes = 32 << 20;

constexpr char kBroke[] = "msg-hub-connection-broke";

absl::Status ProtocolError(const char* what) {
  return InvalidWords("msg-hub-protocol", what);
}

// Ends a refused call at once.
class RefusedStream final
    : public grpc::ServerBidiReactor<AgentMessage, HubMessage> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

// The certificate's end in Unix time; 0: not known.
int64_t CertificateEndMs(const std::string& pem) {
  const auto info = ParseCertificate(pem);
  return info.ok() ? absl::ToUnixMillis(info->not_after) : 0;
}

// One host's stream on the controller's side. AttachedHosts may hold it for
// longer than gRPC. Safe for concurrent use.
class HostStream final
    : public StreamWriter<HostStream,
                          grpc::ServerBidiReactor<AgentMessage, HubMessage>,
                          HubMessage>,
      public HostLink {
 public:
  // `host` is from the certificate, and `context` from the call. The parts and
  // `questions` must outlive the call.
  HostStream(std::string host, grpc::CallbackServerContext* context,
             const ControllerParts& parts, const HostQuestions& questions)
      : StreamWriter(context, parts.scheduler),
        host_(std::move(host)),
        parts_(parts),
        questions_(questions),
        certificate_pem_(ShownCertificate(*context->auth_context())),
        certificate_end_ms_(CertificateEndMs(certificate_pem_)) {}

  // Call once, right after its creation; then gRPC holds it.
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    Hold();
    {
      absl::MutexLock lock(&mutex_);
      timer_ =
          parts_.scheduler->RunAfter(kHelloTimeout, [weak = weak_from_this()] {
            const std::shared_ptr<HostStream> stream = weak.lock();
            if (stream == nullptr) return;
            stream->Close(DeadlineWords("msg-hub-no-hello",
                                        absl::FormatDuration(kHelloTimeout)));
          });
    }
    StartRead(&read_);
  }

  void Send(HubMessage message) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t bytes = message.ByteSizeLong();
    bool too_slow;
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value() || TakeBackLocked(message)) return;
      too_slow = queue_.size() >= kMaxQueued ||
                 queued_bytes_ + bytes > kMaxQueuedBytes;
      if (!too_slow) {
        queued_bytes_ += bytes;
        queue_.push_back(std::move(message));
      }
    }
    if (too_slow) {
      return Close(ExhaustedWords("msg-hub-send-buffer-full", kMaxQueued,
                                  kMaxQueuedBytes));
    }
    Advance();
  }

  void Close(const absl::Status& why) override ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = why;
      queue_.clear();
      queued_bytes_ = 0;
      parts_.scheduler->Cancel(timer_);
    }
    LeaveHosts(why);
    EndForGood(why);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      return Close(UnavailableWords(
          context_->IsCancelled() ? kBroke : "msg-hub-stream-ended"));
    }
    const absl::Status status = OnMessage();
    if (!status.ok()) Close(status);
    // Read on even after Close, since gRPC wants the stream read to its end.
    // Clear() would keep the memory of the largest message.
    read_ = AgentMessage();
    StartRead(&read_);
  }

  void OnCancel() override { Close(UnavailableWords(kBroke)); }

 private:
  // Removes the queued task that the message cancels: a client that repeatedly
  // asks and leaves must not fill a host's queue.
  bool TakeBackLocked(const HubMessage& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!message.has_cancel()) return false;
    const auto task = absl::c_find_if(queue_, [&message](const auto& queued) {
      return queued.has_task() &&
             queued.task().task_id() == message.cancel().task_id();
    });
    if (task == queue_.end()) return false;
    queued_bytes_ -= task->ByteSizeLong();
    queue_.erase(task);
    return true;
  }

  absl::Status OnMessage() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::optional<AttachedHosts::SessionId> session;
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return absl::OkStatus();
      session = session_;
    }
    const size_t bytes = read_.ByteSizeLong();
    if (bytes > kMaxHostMessageBytes) {
      return ExhaustedWords("msg-hub-over-limit",
                            absl::StrCat("a message of ", bytes, " bytes"),
                            kMaxHostMessageBytes);
    }
    if (!session.has_value()) {
      if (std::exchange(greeted_, true)) {
        return ProtocolError("a message before the welcome");
      }
      if (read_.kind_case() != AgentMessage::kHello) {
        return ProtocolError("the first message was not a hello");
      }
      return OnHello(read_.hello());
    }
    if (!read_.has_result() &&
        !unasked_.Take(kUnasked, ++unasked_seen_, parts_.scheduler->Now())) {
      return ExhaustedWords("msg-hub-too-many-messages", kUnasked.at_once,
                            kUnasked.per_second);
    }
    if (read_.has_audit_head()) RETURN_IF_ERROR(OnAuditHead());
    switch (read_.kind_case()) {
      case AgentMessage::kResult:
        return parts_.hosts->OnResult(*session,
                                      std::move(*read_.mutable_result()));
      case AgentMessage::kProgress:
        return parts_.hosts->OnProgress(*session,
                                        std::move(*read_.mutable_progress()));
      case AgentMessage::kDrift:
        TellAuditHead();
        return parts_.hosts->OnDrift(*session,
                                     std::move(*read_.mutable_drift()));
      case AgentMessage::kPastApplies:
        return parts_.hosts->OnPastApplies(
            *session, std::move(*read_.mutable_past_applies()));
      case AgentMessage::kJobQuestion:
        return OnJobQuestion(std::move(*read_.mutable_job_question()));
      case AgentMessage::kDrainQuestion:
        OnDrainQuestion(read_.drain_question());
        return absl::OkStatus();
      case AgentMessage::kCertificateRequest:
        OnCertificateRequest(read_.certificate_request());
        return absl::OkStatus();
      default:
        return ProtocolError("a second hello, or a message of an unknown kind");
    }
  }

  absl::Status OnAuditHead() {
    ASSIGN_OR_RETURN(AuditHead head,
                     ParseAuditHead(AuditHeadText(read_.audit_head())));
    head.set_of(host_);
    parts_.audit->NoteHead(head);
    return absl::OkStatus();
  }

  absl::Status OnHello(const Hello& hello) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      parts_.scheduler->Cancel(timer_);
    }
    RETURN_IF_ERROR(CheckHello(hello));
    const AuditEntry caller = AuditCaller(*context_, "Attach");
    absl::StatusOr<AdmittedHost> admitted = AdmittedHost();
    if (questions_.admit != nullptr) {
      admitted = questions_.admit(host_, hello.machine_id(), certificate_pem_);
    }
    if (!admitted.ok()) {
      parts_.log->Warning("refused to attach ", context_->peer(), ": ",
                          admitted.status().message());
      parts_.audit->Refuse(caller, admitted.status());
      return admitted.status();
    }
    Attachment attachment{host_,
                          context_->peer(),
                          hello,
                          shared_from_this(),
                          certificate_end_ms_,
                          admitted->renews,
                          admitted->bound_to};
    // The call and its context may be gone by then; the link is held.
    const auto decided = [weak = weak_from_this(), audit = parts_.audit, caller,
                          machine_id = hello.machine_id()](
                             const absl::StatusOr<uint64_t>& session) {
      const std::shared_ptr<HostStream> stream = weak.lock();
      const absl::Status attached =
          session.ok() ? stream->OnAttached(*session, machine_id)
                       : session.status();
      if (attached.ok()) return;
      audit->Refuse(caller, attached);
      stream->Close(attached);
    };
    attachment.decided = decided;
    const auto session = parts_.hosts->Attach(std::move(attachment));
    if (!session.ok() || *session != 0) decided(session);
    return absl::OkStatus();
  }

  // The host now has its name. Called from any thread.
  absl::Status OnAttached(AttachedHosts::SessionId session,
                          const std::string& machine_id)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    bool ended;
    {
      absl::MutexLock lock(&mutex_);
      session_ = session;
      ended = end_.has_value();
      // Goes before tasks: others may use the stream once it has attached.
      HubMessage& welcome = queue_.emplace_front();
      welcome.mutable_welcome()->set_cluster(parts_.spec->cluster());
      welcome.mutable_welcome()->set_controller_version(kClusterdVersion);
      welcome.mutable_welcome()->set_roots_bundle(questions_.roots_bundle);
      welcome.mutable_welcome()->set_reconnect_spread_ms(
          ToMs(questions_.spread()));
      *welcome.mutable_waivers() = WaiversOfHost(*parts_.spec->spec(), host_);
      queued_bytes_ += welcome.ByteSizeLong();
    }
    if (ended) {
      LeaveHosts(UnavailableWords("msg-hub-stream-ended-early"));
    }
    if (questions_.admit != nullptr) {
      // Check again: an earlier revocation did not find this stream.
      RETURN_IF_ERROR(
          questions_.admit(host_, machine_id, certificate_pem_).status());
    }
    Advance();
    return absl::OkStatus();
  }

  // Returns OK, or why the stream has to be closed.
  absl::Status OnJobQuestion(JobQuestion question) ABSL_LOCKS_EXCLUDED(mutex_) {
    bool too_many;
    {
      absl::MutexLock lock(&mutex_);
      too_many = open_questions_ >= kMaxQuestionsOfHost;
      ++open_questions_;
    }
    if (too_many) {
      JobAnswer answer;
      answer.set_question_id(question.question_id());
      *answer.mutable_error() = ToTaskError(
          ExhaustedWords("msg-hub-questions-wait", kMaxQuestionsOfHost));
      AnswerJob(std::move(answer));
    } else {
      questions_.job(host_, std::move(question),
                     [weak = weak_from_this()](JobAnswer answer) {
                       const auto stream = weak.lock();
                       if (stream) stream->AnswerJob(std::move(answer));
                     });
    }
    absl::MutexLock lock(&mutex_);
    if (refused_questions_ <= kMaxRefusedOfHost) return absl::OkStatus();
    return InvalidWords("msg-hub-questions-refused", refused_questions_);
  }

  void AnswerJob(JobAnswer answer) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Status why(static_cast<absl::StatusCode>(answer.error().code()),
                           answer.error().message());
    {
      absl::MutexLock lock(&mutex_);
      --open_questions_;
      // Count only errors that are the host's fault.
      const bool its_own =
          absl::IsInvalidArgument(why) || absl::IsPermissionDenied(why);
      refused_questions_ = its_own ? refused_questions_ + 1 : 0;
    }
    if (absl::IsPermissionDenied(why) || absl::IsResourceExhausted(why)) {
      parts_.audit->Refuse(AuditCaller(*context_, "JobQuestion"), why);
    }
    HubMessage message;
    *message.mutable_job_answer() = std::move(answer);
    Send(std::move(message));
  }

  void OnDrainQuestion(const DrainQuestion& question)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    HubMessage message;
    *message.mutable_drain_answer() = questions_.drain(host_, question);
    Send(std::move(message));
  }

  void OnCertificateRequest(const CertificateRequest& request) {
    const auto reply = [weak = weak_from_this(), id = request.question_id()](
                           const absl::StatusOr<Enrolled>& enrolled) {
      const auto stream = weak.lock();
      if (stream == nullptr) return;
      HubMessage message;
      CertificateAnswer& answer = *message.mutable_certificate_answer();
      answer.set_question_id(id);
      if (enrolled.ok()) {
        *answer.mutable_enrolled() = *enrolled;
      } else {
        answer.set_refused(std::string(enrolled.status().message()));
      }
      stream->Send(std::move(message));
    };
    if (questions_.renew == nullptr) {
      return reply(PreconditionWords("msg-hub-no-ca"));
    }
    AnswerOnPool<Enrolled>(
        parts_.pool, WorkerPool::Place::kInTurn,
        [renew = questions_.renew, host = host_, pem = certificate_pem_,
         asked = request.signing_request()] { return renew(host, pem, asked); },
        reply);
  }

  // The welcome is the first write.
  const HubMessage* TakeNextLocked(std::function<void()>*) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!session_.has_value() || queue_.empty()) return nullptr;
    write_ = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= write_.ByteSizeLong();
    // Added only when it is written, so that heads are in order.
    AuditHead head = NewAuditHeadLocked();
    if (head.sequence() > 0) {
      *write_.mutable_audit_head() = head;
      sent_head_ = std::move(head);
    }
    return &write_;
  }

  void OnTaken(bool ok) override {
    if (!ok) Close(UnavailableWords(kBroke));
  }

  // Empty if the host already has the newest.
  AuditHead NewAuditHeadLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const AuditHead head = parts_.audit->head_to_tell();
    return head.sha256() == sent_head_.sha256() ? AuditHead() : head;
  }

  // Sends the audit head to a host that has had no task for long.
  void TellAuditHead() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!queue_.empty() || NewAuditHeadLocked().sequence() == 0) return;
    }
    Send(HubMessage());
  }

  void LeaveHosts(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::optional<AttachedHosts::SessionId> session;
    {
      absl::MutexLock lock(&mutex_);
      session.swap(session_);
    }
    if (session.has_value()) parts_.hosts->Detach(*session, MessageWords(why));
  }

  const std::string host_;
  const ControllerParts& parts_;
  const HostQuestions& questions_;
  const std::string certificate_pem_;
  const int64_t certificate_end_ms_;

  // Only accessed between OnReadDone and StartRead.
  AgentMessage read_;
  bool greeted_ = false;
  Allowance unasked_;
  uint64_t unasked_seen_ = 0;

  std::deque<HubMessage> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  AuditHead sent_head_ ABSL_GUARDED_BY(mutex_);  // On this stream.
  // Set from the hello to the end; writes begin with it.
  std::optional<AttachedHosts::SessionId> session_ ABSL_GUARDED_BY(mutex_);
  int open_questions_ ABSL_GUARDED_BY(mutex_) = 0;
  int refused_questions_ ABSL_GUARDED_BY(mutex_) = 0;  // Consecutive.
  // Waits for the hello.
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

grpc::ServerBidiReactor<AgentMessage, HubMessage>* AgentHubService::Attach(
    grpc::CallbackServerContext* context) {
  const absl::StatusOr<SpiffeId> peer =
      parts_.gate->Admit(*context->auth_context(), IdentityKind::kHost);
  const AuditEntry caller = AuditCaller(*context, "Attach");
  if (!peer.ok()) {
    parts_.log->Warning("refused to attach ", context->peer(), ": ",
                        peer.status().message());
    parts_.audit->Refuse(caller, peer.status());
    return new RefusedStream(peer.status());
  }
  const auto stream =
      std::make_shared<HostStream>(peer->name, context, parts_, questions_);
  stream->Begin();
  parts_.gate->Watch(
      *context->auth_context(), IdentityKind::kHost, stream,
      [this, weak = std::weak_ptr(stream), caller](const absl::Status& why) {
        const auto open = weak.lock();
        if (open == nullptr) return;
        open->Close(why);
        parts_.audit->Refuse(caller, why);
      });
  return stream.get();
}

}  // namespace clusterd
