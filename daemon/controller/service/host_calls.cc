#include "daemon/controller/service/host_calls.h"

#include <memory>
#include <utility>

#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {

UnaryCall* HostCalls::ListHosts(CallContext* context,
                                const ListHostsRequest* request,
                                ListHostsResponse* response) {
  return calls_.Answer(
      {context, "ListHosts", *request, CallClass::kLists}, response,
      [this](const SpiffeId&) {
        ListHostsResponse list;
        list.set_cluster(parts_.spec->cluster());
        const GetSpecResponse spec = parts_.spec->Describe();
        if (spec.has_refused_words()) {
          *list.mutable_spec_refused_words() = spec.refused_words();
        }
        for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
          *list.add_hosts() = std::move(entry);
        }
        return list;
      });
}

UnaryCall* HostCalls::ForgetHost(CallContext* context,
                                 const ForgetHostRequest* request,
                                 ForgetHostResponse* response) {
  return calls_.Answer(
      {context, "ForgetHost", *request, CallClass::kEnds}, response,
      [this, request, entry = AuditCaller(*context, "ForgetHost")](
          const SpiffeId&) -> absl::StatusOr<ForgetHostResponse> {
        const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
        ForgetHostResponse answer;
        answer.set_host(HostNamed(*spec, request->host()));
        answer.set_in_spec(NamesHost(*spec, answer.host()));
        AuditEntry audited = entry;
        audited.set_subject(answer.host());
        RETURN_IF_ERROR(parts_.audit->Begin(audited));
        absl::Status forgotten = parts_.hosts->Forget(answer.host());
        parts_.audit->End(audited,
                          forgotten.ok() ? "forgotten" : forgotten.message());
        if (forgotten.ok()) {
          parts_.log->Info("host ", answer.host(), ": forgotten by ",
                           ActorName(entry.who()));
        } else if (absl::IsNotFound(forgotten) && answer.in_spec()) {
          forgotten = absl::OkStatus();
        }
        RETURN_IF_ERROR(forgotten);
        return answer;
      });
}

UnaryCall* HostCalls::DescribeHost(CallContext* context,
                                   const DescribeHostRequest* request,
                                   DescribeHostResponse* response) {
  return calls_.AnswerLater(
      {context, "DescribeHost", *request, CallClass::kDescribes}, response,
      [this, request](const SpiffeId&, const auto& answered) {
        const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
        const std::string host = HostNamed(*spec, request->host());
        DescribeHostResponse described;
        *described.mutable_entry() = parts_.hosts->Entry(*spec, host);
        if (!described.entry().in_spec() && !described.entry().attached()) {
          return answered(NotFoundWords("msg-hub-host-not-in-spec-nor-attached",
                                        request->host()));
        }
        parts_.hosts->Observe(ObservationOf(*spec, host),
                              [answered, described](HostFacts facts) mutable {
                                facts.clear_clock();
                                *described.mutable_facts() = std::move(facts);
                                answered(std::move(described));
                              });
      });
}

UnaryCall* HostCalls::GetSpec(CallContext* context,
                              const GetSpecRequest* request,
                              GetSpecResponse* response) {
  return calls_.Answer({context, "GetSpec", *request, CallClass::kLists},
                       response, [this](const SpiffeId&) {
                         GetSpecResponse spec = parts_.spec->Describe();
                         spec.set_controller_version(kClusterdVersion);
                         return spec;
                       });
}

StreamCall<ClusterNow>* HostCalls::Watch(CallContext* context,
                                         const WatchRequest* request) {
  const UserCall call = {context, "Watch", *request, CallClass::kWatches};
  return calls_.Stream<ClusterNow>(
      call, [&](const auto& stream, const SpiffeId& user) {
        RETURN_IF_ERROR(calls_.TakeSlot(call, user));
        const ClusterWatch::WatcherId id = watch_->NewWatcher();
        EventStreamOptions options;
        options.on_end = [this, id, who = user.name] {
          watch_->Leave(id);
          calls_.slots()->Give(CallClass::kWatches, who);
        };
        stream->Begin(std::move(options));
        // A slow reader gets only the newest state, which is read at each
        // write.
        stream->Show([this](ClusterNow* event) {
          if (const auto now = watch_->now()) *event = *now;
        });
        ClusterWatch::Watcher watcher;
        watcher.on_change = [weak = std::weak_ptr(stream)] {
          if (const auto to = weak.lock()) to->NoteProgress();
        };
        watcher.on_stop = [weak = std::weak_ptr(stream)](const auto& why) {
          if (const auto to = weak.lock()) to->EndForGood(why);
        };
        watch_->Join(id, std::move(watcher));
        return absl::OkStatus();
      });
}

}  // namespace clusterd
