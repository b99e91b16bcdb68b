#include "daemon/host/change/sysctl_writer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "config/plan/kernel_parameters.h"
#include "config/values/network_namespace.h"
#include "config/values/port_set.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/machine_observer.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 1 << 20;  // 65536 ports written singly.

std::string PathOf(absl::string_view key) {
  return absl::StrCat("/proc/sys/", absl::StrReplaceAll(key, {{".", "/"}}));
}

constexpr absl::Duration kEngineDeadline = absl::Seconds(10);
constexpr absl::Duration kSearchDeadline = absl::Seconds(30);

class HostNamespaceAccess final : public NamespaceAccess {
 public:
  HostNamespaceAccess(HostPaths paths, CommandRunner* runner, Clock* clock,
                      FileSystem* files)
      : paths_(std::move(paths)),
        runner_(runner),
        clock_(clock),
        files_(files) {}

  absl::StatusOr<EnteredNamespace> Enter(
      const NetworkNamespace& target) override {
    const TimeBudget budget(clock_, kEngineDeadline, kSearchDeadline);
    return Hold(FindNetworkNamespace({paths_, runner_, &budget}, target),
                target);
  }

  absl::StatusOr<EnteredNamespace> EnterInode(const NetworkNamespace& target,
                                              uint64_t inode) override {
    return Hold(FindNetworkNamespaceByInode(paths_, inode,
                                            NetworkNamespaceText(target)),
                target);
  }

  std::string BootId() override {
    return ReadBootId(FileReader(paths_.root)).value();
  }

 private:
  absl::StatusOr<EnteredNamespace> Hold(
      absl::StatusOr<OpenNetworkNamespace> found,
      const NetworkNamespace& target) {
    RETURN_IF_ERROR(found.status());
    const auto inside =
        std::make_shared<const OpenNetworkNamespace>(*std::move(found));
    EnteredNamespace entered;
    entered.open = [inside, files = files_](const std::string& path,
                                            OpenMode mode) {
      absl::StatusOr<std::unique_ptr<OpenFile>> file;
      const absl::Status run =
          inside->Run([&] { file = files->Open(path, mode); });
      if (!run.ok()) file = run;
      return file;
    };
    entered.read = [inside, target, root = paths_.root, clock = clock_] {
      return ReadOpenNamespace(
          *inside, target, FileReader(root), PortSet(),
          TimeBudget(clock, kEngineDeadline, kSearchDeadline));
    };
    return entered;
  }

  const HostPaths paths_;
  CommandRunner* const runner_;
  Clock* const clock_;
  FileSystem* const files_;
};

}  // namespace

bool SameSysctlValue(absl::string_view key, absl::string_view a,
                     absl::string_view b) {
  a = absl::StripAsciiWhitespace(a);
  b = absl::StripAsciiWhitespace(b);
  if (a == b) return true;
  if (key != kReservedPortsKey) return false;
  const absl::StatusOr<PortSet> first = PortSet::Parse(a);
  const absl::StatusOr<PortSet> second = PortSet::Parse(b);
  return first.ok() && second.ok() && *first == *second;
}

absl::StatusOr<std::string> SysctlWriter::Read(absl::string_view key) const {
  RETURN_IF_ERROR(OurParameter(key).status());
  ASSIGN_OR_RETURN(const auto file, open_(PathOf(key), OpenMode::kRead));
  ASSIGN_OR_RETURN(const std::string text, file->ReadAll(kMaxValueBytes));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::Status SysctlWriter::Write(const MutationToken&, absl::string_view key,
                                 absl::string_view value) {
  RETURN_IF_ERROR(OurParameter(key).status());
  absl::Status written;
  {
    ASSIGN_OR_RETURN(const auto file, open_(PathOf(key), OpenMode::kReadWrite));
    const std::string line = absl::StrCat(value, "\n");
    written = WriteFully(file.get(), 0, line);
    // The kernel reports its files as empty; those of a simulated server are
    // ordinary files, and may have been longer.
    const absl::StatusOr<FileAttributes> is = file->Attributes();
    if (written.ok() && is.ok() && is->size > line.size()) {
      written = file->Truncate(line.size());
    }
  }
  ASSIGN_OR_RETURN(const std::string now, Read(key));
  if (SameSysctlValue(key, now, value)) return absl::OkStatus();
  const absl::Status error =
      PreconditionWords("msg-step-not-so-after-writing", key, now, value);
  return written.ok() ? error
                      : WithWords(error, Worded("plan-say-with-note",
                                                MessageWords(error),
                                                MessageWords(written)));
}

std::unique_ptr<NamespaceAccess> MakeNamespaceAccess(HostPaths paths,
                                                     CommandRunner* runner,
                                                     Clock* clock,
                                                     FileSystem* files) {
  return std::make_unique<HostNamespaceAccess>(std::move(paths), runner, clock,
                                               files);
}

}  // namespace clusterd
