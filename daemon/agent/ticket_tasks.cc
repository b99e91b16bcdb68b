#include "daemon/agent/ticket_tasks.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/values/change_kind.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/audited_task.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/files/info_files.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/hccn/hccn_tool_recorder.h"
#include "daemon/host/host_memory.h"
#include "daemon/host/logs/read_logs.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/npu_smi/device_ids.h"

namespace clusterd {
namespace {

// A controller takes no message over 1 MiB.
constexpr size_t kMaxRecordingBytes = 960 << 10;
// For one run of `find` or `tail`: a file server that is away costs no more.
constexpr absl::Duration kLogCommand = absl::Seconds(10);

// Of the time that the answer is waited for: what there is by then is sent.
constexpr double kShare = 0.8;
// For a run beside the observation.
constexpr absl::Duration kTicketCommand = absl::Seconds(5);
constexpr size_t kMaxKernelBytes = 128 << 10;

absl::Status AnotherReads() {
  return absl::ResourceExhaustedError(
      "this host's logs are being read already, try again later");
}

// What a vendor asks for besides. msnpureport exports more than a message
// holds, into the folder that it is started in, and wants to be alone (CANN
// 8.0.RC2, log reference, logreference_0016): only that it is there is said.
void AddForTicket(const HostAccess& host, HostRecording* recording) {
  absl::StatusOr<std::string> log = ReadKernelLog(host, /*errors_only=*/false);
  if (log.ok()) {
    const size_t cut = log->size() - std::min(log->size(), kMaxKernelBytes);
    recording->set_kernel_log(log->substr(cut));
  } else {
    recording->add_gaps(absl::StrCat("kernel log: ", log.status().message()));
  }
  const auto prefix = ReadInstallPath(host.files());
  if (!prefix.ok()) return;
  const std::string tool = absl::StrCat(*prefix, "/driver/tools/msnpureport");
  if (FindProgram(host.paths.root, {tool}).ok()) {
    recording->set_msnpureport(tool);
  }
}

}  // namespace

HostRecording MakeRecording(const std::string& host, const std::string& root,
                            CommandRunner* runner, Clock* clock,
                            DeviceLocks* locks, const ObserveRequest& request) {
  const FileReader files(root);
  HccnToolRecorder recorder(runner, [&files]() -> std::optional<std::string> {
    absl::StatusOr<FileText> conf = files.Read("/etc/hccn.conf");
    if (!conf.ok()) return std::nullopt;
    return std::move(conf->text);
  });
  // What every ticket begins with, also where the observation needs it not.
  const auto npu_smi = LocateNpuSmi({root});
  const TimeBudget budget(clock, kTicketCommand, kTicketCommand);
  if (npu_smi.ok()) {
    // The run says what there is to say.
    RunNpuSmi({*npu_smi, "info"}, {{root}, &recorder, &budget})
        .status()
        .IgnoreError();
  }
  MachineObserver observer({root}, &recorder, clock, locks);
  HostRecording recording;
  *recording.mutable_facts() = observer.Observe(host, request);
  for (HostRecording::Run& run : recorder.runs()) {
    *recording.add_runs() = std::move(run);
  }
  recording.set_complete(true);
  return recording;
}

void BoundRecording(size_t max_bytes, HostRecording* recording) {
  std::optional<std::string> conf;
  size_t used =
      recording->facts().ByteSizeLong() + recording->kernel_log().size();
  for (HostRecording::Run& run : *recording->mutable_runs()) {
    if (run.has_hccn_conf_after() &&
        run.hccn_conf_after() == run.hccn_conf_before()) {
      run.clear_hccn_conf_after();
    }
    if (run.has_hccn_conf_before() && conf == run.hccn_conf_before()) {
      run.clear_hccn_conf_before();
    } else if (run.has_hccn_conf_before()) {
      conf = run.hccn_conf_before();
    }
    if (run.has_hccn_conf_after()) conf = run.hccn_conf_after();
    used += run.ByteSizeLong() + 8;
    if (used <= max_bytes) continue;
    used -= run.standard_output().size() + run.standard_error().size();
    run.clear_standard_output();
    run.clear_standard_error();
    run.set_output_cut(true);
    recording->set_complete(false);
  }
  // What is left of runs whose outputs were taken out.
  while (recording->ByteSizeLong() > max_bytes && recording->runs_size() > 0) {
    recording->mutable_runs()->RemoveLast();
    recording->set_complete(false);
  }
}

absl::Status TicketTasks::CheckAllowed(const AuditEntry& entry) const {
  const HostAllows allows = parts_.allows();
  std::set<ChangeKind> kinds = AllowedKinds(allows);
  if (!kinds.insert(CHANGE_LOGS).second) return absl::OkStatus();
  const absl::Status refused = absl::PermissionDeniedError(
      absl::StrCat("this host does not allow ", ChangeKindName(CHANGE_LOGS),
                   "; ", WhatIsAllowed(allows), "; ", HowToAllow(allows, kinds),
                   ", then ask again"));
  if (parts_.audit != nullptr) parts_.audit->Refuse(entry, refused);
  return refused;
}

absl::Status TicketTasks::Begin(const AuditEntry& entry) {
  if (reads_.exchange(true)) {
    const absl::Status refused = AnotherReads();
    if (parts_.audit != nullptr) parts_.audit->Refuse(entry, refused);
    return refused;
  }
  const absl::Status written =
      parts_.audit == nullptr ? absl::OkStatus() : parts_.audit->Begin(entry);
  if (!written.ok()) reads_ = false;
  return written;
}

void TicketTasks::End(const AuditEntry& entry, absl::string_view result) {
  reads_ = false;
  if (parts_.audit != nullptr) parts_.audit->End(entry, result);
}

absl::StatusOr<HostLogs> TicketTasks::ReadLogs(const LogsTask& task,
                                               absl::Duration deadline) {
  AuditEntry entry = AuditedTask(kAuditReadLogs, task);
  entry.set_subject(absl::StrCat("of user ", QuotedText(task.query().user()),
                                 ", job ", QuotedText(task.query().job_id())));
  const absl::Status allowed = CheckAllowed(entry);
  if (!allowed.ok()) {
    HostLogs none;
    *none.mutable_missing() = MissingFor(allowed);
    return none;
  }
  RETURN_IF_ERROR(Begin(entry));
  const TimeBudget budget(parts_.clock, kLogCommand, deadline * kShare);
  HostLogs logs =
      ReadHostLogs({{parts_.root}, parts_.runner, &budget}, task.query());
  End(entry, logs.has_missing()
                 ? absl::StrCat("none: ", logs.missing().detail())
                 : absl::StrCat("read: ", logs.ByteSizeLong(), " bytes"));
  return logs;
}

absl::StatusOr<HostRecording> TicketTasks::Record(const std::string& host,
                                                  const RecordTask& task,
                                                  absl::Duration deadline) {
  const AuditEntry entry = AuditedTask(kAuditRecord, task);
  RETURN_IF_ERROR(CheckAllowed(entry));
  RETURN_IF_ERROR(Begin(entry));
  ObserveRequest request;
  request.set_host_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(deadline * kShare)));
  HostRecording recording = MakeRecording(host, parts_.root, parts_.runner,
                                          parts_.clock, parts_.locks, request);
  const TimeBudget budget(parts_.clock, kTicketCommand, 2 * kTicketCommand);
  AddForTicket({{parts_.root}, parts_.runner, &budget}, &recording);
  BoundRecording(kMaxRecordingBytes, &recording);
  End(entry, absl::StrCat("read: ", recording.runs_size(), " runs"));
  return recording;
}

}  // namespace clusterd
