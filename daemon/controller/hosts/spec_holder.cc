#include "daemon/controller/hosts/spec_holder.h"

#include "absl/algorithm/container.h"
#include "config/identity/regular_file.h"
#include "config/rules/catalogue.h"
#include "config/spec/spec_loader.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/waiver_text.h"

namespace clusterd {

absl::StatusOr<std::unique_ptr<SpecHolder>> SpecHolder::Open(
    const std::string& path, const std::string& cluster, Scheduler* scheduler,
    bool may_learn) {
  std::unique_ptr<SpecHolder> holder(new SpecHolder(path, cluster, scheduler));
  const absl::Status loaded = holder->Reload();
  if (may_learn && absl::IsNotFound(loaded)) {
    absl::MutexLock lock(&holder->mutex_);
    holder->spec_ = std::make_shared<const ClusterSpec>(DefaultSpec(cluster));
    holder->refused_.reset();
    return holder;
  }
  RETURN_IF_ERROR(loaded);
  return holder;
}

absl::Status SpecHolder::WhyRefused() const {
  return PreconditionWords("msg-hub-no-spec-yet", path_);
}

absl::StatusOr<std::shared_ptr<ClusterSpec>> SpecHolder::Load() const {
  // 100,000 hosts with every address listed are smaller than this.
  constexpr size_t kMaxSpecBytes = 128 << 20;
  ASSIGN_OR_RETURN(const std::string text,
                   ReadRegularFile(path_, kMaxSpecBytes));
  ASSIGN_OR_RETURN(ClusterSpec spec,
                   LoadSpec(path_, text, nullptr, RuleNames()));
  if (spec.name() != cluster_) {
    return InvalidWords("msg-hub-spec-of-other-cluster", path_, spec.name(),
                        cluster_);
  }
  return std::make_shared<ClusterSpec>(std::move(spec));
}

// Reads without the lock: a slow disk must not block checks.
absl::Status SpecHolder::Reload() {
  absl::StatusOr<std::shared_ptr<ClusterSpec>> spec = Load();
  absl::MutexLock turn(&change_mutex_);
  absl::MutexLock lock(&mutex_);
  if (!spec.ok()) {
    refused_ = MessageWords(spec.status());
    return spec.status();
  }
  if (spec_ != nullptr) {
    for (const Waiver& waiver : spec_->waivers()) {
      if (!waiver.id().empty()) *(*spec)->add_waivers() = waiver;
    }
  }
  spec_ = *std::move(spec);
  loaded_at_ = scheduler_->Now();
  refused_.reset();
  return absl::OkStatus();
}

// Makes a new spec object even if the file is the same, so that conclusions
// from the old one are not reused.
void SpecHolder::ChangeWaivers(absl::FunctionRef<void(Waivers*)> change) {
  absl::MutexLock turn(&change_mutex_);
  const auto next = std::make_shared<ClusterSpec>(*spec());
  change(next->mutable_waivers());
  absl::MutexLock lock(&mutex_);
  spec_ = next;
}

std::shared_ptr<const ClusterSpec> SpecHolder::spec() const {
  absl::MutexLock lock(&mutex_);
  return spec_;
}

GetSpecResponse SpecHolder::Describe() const {
  GetSpecResponse response;
  response.set_path(path_);
  // Copy the spec without the lock: it may be megabytes.
  std::shared_ptr<const ClusterSpec> spec;
  {
    absl::MutexLock lock(&mutex_);
    spec = spec_;
    response.set_loaded_at_ms(absl::ToUnixMillis(loaded_at_));
    if (refused_.has_value()) *response.mutable_refused_words() = *refused_;
  }
  *response.mutable_spec() = *spec;
  return response;
}

HostWaivers WaiversOfHost(const ClusterSpec& spec, const std::string& host) {
  HostWaivers own;
  own.set_roce_unused(spec.roce_unused());
  for (const Waiver& waiver : spec.waivers()) {
    if (!waiver.hosts().empty() &&
        !absl::c_linear_search(waiver.hosts(), host)) {
      continue;
    }
    Waiver* const kept = own.add_waivers();
    *kept = waiver;
    kept->clear_hosts();
  }
  return own;
}

std::set<std::string> HostsInMaintenance(const ClusterSpec& spec,
                                         absl::Time now) {
  std::set<std::string> hosts;
  for (const Waiver& waiver : spec.waivers()) {
    if (waiver.rule() != kMaintenanceRule || !IsInForce(waiver, now)) continue;
    hosts.insert(waiver.hosts().begin(), waiver.hosts().end());
    if (!waiver.hosts().empty()) continue;
    for (const ServerSpec& server : spec.servers()) hosts.insert(server.host());
  }
  return hosts;
}

}  // namespace clusterd
