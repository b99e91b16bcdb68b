#include "daemon/agent/agent_stream.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/identity/leaf_renewal.h"

namespace clusterd {
namespace {

constexpr absl::Duration kLeaveTimeout = absl::Seconds(1);

// Words of ExplainUnavailable where a certificate may be refused.
constexpr absl::string_view kAboutCertificates[] = {
    "msg-call-wrong-peer", "msg-call-wrong-certificate", "msg-call-not-signed",
    "msg-call-handshake-failed", "msg-call-closed"};

}  // namespace

uint64_t HubQuestions::Open(absl::Duration wait, Answered answered) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMaxOpenQuestions) {
      const uint64_t id = ++last_id_;
      const Scheduler::TimerId timer =
          scheduler_->RunAfter(wait, [weak = weak_from_this(), id, wait] {
            const auto self = weak.lock();
            if (self == nullptr) return;
            self->Answer(id, DeadlineWords("agent-no-answer",
                                           absl::FormatDuration(wait)));
          });
      waiting_.emplace(id, Waiting{std::move(answered), timer});
      return id;
    }
  }
  answered(ExhaustedWords("agent-questions-wait", kMaxOpenQuestions));
  return 0;
}

void HubQuestions::Answer(uint64_t id, absl::StatusOr<HubMessage> answer) {
  Waiting taken;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return;
    taken = std::move(found->second);
    waiting_.erase(found);
  }
  scheduler_->Cancel(taken.timer);
  taken.answered(std::move(answer));
}

void HubQuestions::EndAll(const absl::Status& why) {
  std::map<uint64_t, Waiting> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended.swap(waiting_);
  }
  for (const auto& [id, waiting] : ended) {
    scheduler_->Cancel(waiting.timer);
    waiting.answered(why);
  }
}

AgentStream::AgentStream(AgentStreamOptions options,
                         const AgentStreamParts& parts)
    : options_(std::move(options)),
      parts_(parts),
      backoff_(options_.backoff, parts.random),
      tasks_(std::make_shared<TaskRunner>(options_.host, parts.observer,
                                          parts.pool, parts.scheduler,
                                          parts.others)),
      questions_(std::make_shared<HubQuestions>(parts.scheduler)) {
  status_.set_host(options_.host);
  status_.set_clusterd_version(kClusterdVersion);
  status_.set_controller(options_.dial.controller);
  status_.set_since_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
}

void AgentStream::Start() {
  parts_.loop->Post([self = shared_from_this()] {
    const absl::Duration within = self->options_.first_dial_within;
    if (within == absl::ZeroDuration()) {
      self->Attach();
    } else if (!self->stopping_) {
      self->After(within * self->parts_.random(), &AgentStream::Attach);
    }
  });
}

void AgentStream::After(absl::Duration delay, void (AgentStream::*run)()) {
  parts_.scheduler->Cancel(timer_);
  timer_ = parts_.scheduler->RunAfter(
      delay, [weak = weak_from_this(), loop = parts_.loop, run] {
        loop->Post([weak, run] {
          if (const auto self = weak.lock()) ((*self).*run)();
        });
      });
}

void AgentStream::Attach() {
  if (stopping_ || connection_ != nullptr) return;
  const std::weak_ptr<AgentStream> weak = weak_from_this();
  HubConnection::Callbacks callbacks;
  callbacks.on_message = [weak](const HubMessage& message) {
    if (const auto self = weak.lock()) self->OnMessage(message);
  };
  callbacks.on_end = [weak](const absl::Status& why) {
    if (const auto self = weak.lock()) self->OnEnd(why);
  };
  connection_ = std::make_shared<HubConnection>(
      Dial(options_.dial,
           options_.credentials ? options_.credentials() : nullptr),
      parts_.loop, std::move(callbacks));
  After(kWelcomeTimeout, &AgentStream::GiveUpWaiting);
  AgentMessage message;
  Hello* const hello = message.mutable_hello();
  *hello = options_.hello;
  hello->set_protocol_version(kProtocolVersion);
  hello->set_clusterd_version(kClusterdVersion);
  hello->add_tasks("observe");
  if (parts_.others.read_logs) hello->add_tasks("logs");
  if (parts_.others.record) hello->add_tasks("record");
  if (parts_.applies != nullptr) {
    hello->add_tasks("apply");
    hello->add_tasks("rollback");
    hello->add_tasks("confirm");
  }
  connection_->Start(std::move(message));
}

void AgentStream::Send(AgentMessage message) {
  if (parts_.audit != nullptr) {
    AuditHead head = parts_.audit->head_to_tell();
    if (head.sequence() > 0 && head.sha256() != sent_head_.sha256()) {
      *message.mutable_audit_head() = head;
      sent_head_ = std::move(head);
    }
  }
  connection_->Send(std::move(message));
}

void AgentStream::GiveUpWaiting() {
  if (connection_ == nullptr || attached_) return;
  connection_->Abort(absl::DeadlineExceededError(
      absl::StrCat("no welcome in ", absl::FormatDuration(kWelcomeTimeout))));
}

void AgentStream::OnMessage(const HubMessage& message) {
  if (!attached_ && message.kind_case() != HubMessage::kWelcome) {
    return connection_->Abort(absl::FailedPreconditionError(
        "the controller's first message was not a welcome"));
  }
  Take(message);
  // Keep nothing from a controller whose welcome was invalid.
  if (attached_ && message.has_audit_head() && parts_.audit != nullptr) {
    auto head = ParseAuditHead(AuditHeadText(message.audit_head()));
    if (head.ok()) {
      head->set_of(kControllerFile);
      parts_.audit->NoteHead(*head);
    } else {
      connection_->Abort(head.status());
    }
  }
  if (attached_ && message.has_waivers() && options_.on_waivers) {
    options_.on_waivers(message.waivers());
  }
}

void AgentStream::Take(const HubMessage& message) {
  switch (message.kind_case()) {
    case HubMessage::kWelcome:
      return OnWelcome(message.welcome());
    case HubMessage::kTask:
      return OnTask(message.task());
    case HubMessage::kCancel:
      return tasks_->Cancel(message.cancel().task_id());
    case HubMessage::kJobAnswer:
      return questions_->Answer(message.job_answer().question_id(), message);
    case HubMessage::kDrainAnswer:
      return questions_->Answer(message.drain_answer().question_id(), message);
    case HubMessage::kCertificateAnswer:
      questions_->Answer(message.certificate_answer().question_id(), message);
      return;
    case HubMessage::kLeave:
      backoff_.Reset(absl::Milliseconds(message.leave().come_back_within_ms()));
      asked_to_leave_ = true;
      return connection_->HangUp();
    case HubMessage::KIND_NOT_SET:
      // Only an audit head, or a newer controller's message: needs no answer.
      return;
  }
}

void AgentStream::OnWelcome(const Welcome& welcome) {
  if (attached_) return;
  if (welcome.cluster() != options_.cluster) {
    return connection_->Abort(absl::FailedPreconditionError(absl::StrCat(
        "the controller is of cluster ", QuotedText(welcome.cluster()),
        ", expected \"", options_.cluster, "\"")));
  }
  parts_.scheduler->Cancel(timer_);
  backoff_.Reset(absl::Milliseconds(welcome.reconnect_spread_ms()));
  attached_ = true;
  if (options_.on_offered_roots) {
    options_.on_offered_roots(welcome.roots_bundle());
  }
  logged_error_.clear();
  SetAttached(true, "");
  parts_.log->Info("attached to ", options_.dial.controller, " as ",
                   options_.host);
  if (parts_.applies != nullptr) {
    AgentMessage message;
    *message.mutable_past_applies() = parts_.applies->Past();
    Send(std::move(message));
  }
  if (stopping_) connection_->HangUp();
}

void AgentStream::OnTask(const Task& task) {
  // The answer to a late confirmation is not a result of the apply.
  const bool late_too = !task.has_confirm();
  const auto send = [weak = weak_from_this(), loop = parts_.loop, late_too,
                     asker = std::weak_ptr<HubConnection>(connection_)](
                        AgentMessage message) {
    loop->Post([weak, asker, late_too, message = std::move(message)]() mutable {
      const auto self = weak.lock();
      if (self == nullptr) return;
      if (late_too || asker.lock() == self->connection_) {
        self->Answer(asker, std::move(message));
      }
    });
  };
  if (parts_.applies != nullptr &&
      (task.has_apply() || task.has_rollback() || task.has_confirm())) {
    return OnChange(task, send);
  }
  tasks_->Run(task, [send](TaskResult result) {
    AgentMessage message;
    *message.mutable_result() = std::move(result);
    send(std::move(message));
  });
}

void AgentStream::OnChange(
    const Task& task, const std::function<void(AgentMessage message)>& send) {
  const uint64_t id = task.task_id();
  const auto done = [send, id](ApplyResult result) {
    AgentMessage message;
    message.mutable_result()->set_task_id(id);
    *message.mutable_result()->mutable_apply() = std::move(result);
    send(std::move(message));
  };
  if (task.has_rollback()) {
    return parts_.applies->RollBack(task.rollback(), done);
  }
  if (task.has_confirm()) return parts_.applies->Confirm(task.confirm(), done);
  const auto progress = [send, id](const StepOutcome& step) {
    AgentMessage message;
    message.mutable_progress()->set_task_id(id);
    *message.mutable_progress()->mutable_step() = step;
    send(std::move(message));
  };
  parts_.applies->Apply(task.apply(), progress, done);
}

void AgentStream::Answer(const std::weak_ptr<HubConnection>& asker,
                         AgentMessage message) {
  // If there is no stream, the next one begins with the past applies.
  if (connection_ == nullptr || !attached_) return;
  if (asker.lock() == connection_) {
    Send(std::move(message));
  } else if (message.result().has_apply()) {
    // The stream's controller does not know this task.
    AgentMessage late;
    *late.mutable_past_applies()->add_results() = message.result().apply();
    Send(std::move(late));
  }
}

void AgentStream::SendDrift(DriftReport report) {
  AgentMessage message;
  *message.mutable_drift() = std::move(report);
  parts_.loop->Post(
      [self = shared_from_this(), message = std::move(message)]() mutable {
        if (self->connection_ == nullptr || !self->attached_) return;
        self->Send(std::move(message));
      });
}

void AgentStream::SendPast() {
  parts_.loop->Post([self = shared_from_this()] {
    if (self->connection_ == nullptr || !self->attached_) return;
    AgentMessage message;
    // The running apply and those without a journal are only reported after a
    // welcome: a task may be on its way.
    *message.mutable_past_applies()->mutable_results() =
        std::move(*self->parts_.applies->Past().mutable_results());
    self->Send(std::move(message));
  });
}

void AgentStream::Ask(AgentMessage question, absl::Duration wait,
                      HubQuestions::Answered answered) {
  parts_.loop->Post([self = shared_from_this(), question = std::move(question),
                     wait, answered = std::move(answered)]() mutable {
    if (self->connection_ == nullptr || !self->attached_ || self->stopping_) {
      return answered(UnavailableWords("agent-controller-away"));
    }
    const uint64_t id = self->questions_->Open(wait, std::move(answered));
    if (id == 0) return;
    if (question.has_job_question()) {
      question.mutable_job_question()->set_question_id(id);
    } else if (question.has_certificate_request()) {
      question.mutable_certificate_request()->set_question_id(id);
    } else {
      question.mutable_drain_question()->set_question_id(id);
    }
    self->Send(std::move(question));
  });
}

absl::Status AgentStream::Explained(const absl::Status& why) const {
  if (!absl::IsUnavailable(why) || options_.tls.ca.empty()) return why;
  const absl::Status reason = ExplainUnavailable(why, options_.tls);
  const absl::Status files = CheckOneCluster(options_.tls);
  // Either side may have a root that the other one lacks.
  const bool rejoins =
      absl::c_linear_search(kAboutCertificates, MessageWords(reason).words()) &&
      LeafRenewal::Renews(options_.tls);
  return absl::UnavailableError(JoinParts(
      "; ", {std::string(reason.message()), std::string(files.message()),
             rejoins ? "after a change of the CA's root, clusterd join with a "
                       "token of clusterctl token create lets it in again"
                     : ""}));
}

void AgentStream::OnEnd(const absl::Status& end) {
  const absl::Status why =
      std::exchange(asked_to_leave_, false)
          ? absl::UnavailableError("the controller is stopping")
          : end;
  parts_.scheduler->Cancel(timer_);
  tasks_->CancelAll();
  questions_->EndAll(UnavailableWords("agent-controller-gone"));
  connection_ = nullptr;
  attached_ = false;
  sent_head_.Clear();
  if (stopping_) {
    SetAttached(false, "");
    return EndStop();
  }
  const bool wished = std::exchange(reattaching_, false);
  if (wished) backoff_.Reset();  // A single host needs no spread.
  const std::string error =
      wished
          ? ""
          : Explained(why).ToString(absl::StatusToStringMode::kWithNoExtraData);
  SetAttached(false, error);
  // Log an absence of the controller once, not a thousand times a night.
  if (!wished && error != logged_error_) {
    parts_.log->Warning("not attached to ", options_.dial.controller, ": ",
                        error);
    logged_error_ = error;
  }
  After(backoff_.Next(), &AgentStream::Attach);
}

void AgentStream::SetAttached(bool attached, const std::string& error) {
  bool changed;
  {
    absl::MutexLock lock(&mutex_);
    changed = status_.attached() != attached;
    status_.set_attached(attached);
    status_.set_last_error(error);
    if (changed)
      status_.set_since_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
  }
  if (changed && options_.on_change) options_.on_change(attached);
}

void AgentStream::ReattachIfIdle() {
  parts_.loop->Post([self = shared_from_this()] {
    const ApplyTasks* const applies = self->parts_.applies;
    const bool idle = self->connection_ != nullptr && self->attached_ &&
                      !self->stopping_ && self->tasks_->IsIdle() &&
                      self->questions_->IsIdle() &&
                      (applies == nullptr || applies->Past().at_work().empty());
    if (!idle) return;
    self->reattaching_ = true;
    self->connection_->HangUp();
    self->After(kLeaveTimeout, &AgentStream::BreakOff);
  });
}

void AgentStream::Leave() {
  if (stopping_) return;
  stopping_ = true;
  tasks_->CancelAll();
  if (connection_ == nullptr) {
    EndStop();
  } else if (attached_) {
    connection_->HangUp();
    After(kLeaveTimeout, &AgentStream::BreakOff);
  } else {
    BreakOff();
  }
}

}  // namespace clusterd
