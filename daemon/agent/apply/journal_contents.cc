#include "daemon/agent/apply/journal_contents.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/spec/device_plan.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/change/firewall_changer.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"

namespace clusterd {
namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr size_t kMaxBootIdBytes = 128;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Checks one value of a field; `at` is its index if it is repeated, or -1.
std::string UnknownIn(const Message& message, const FieldDescriptor& field,
                      int at) {
  const Reflection& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    const int number =
        at < 0 ? reflection.GetEnumValue(message, &field)
               : reflection.GetRepeatedEnumValue(message, &field, at);
    if (field.enum_type()->FindValueByNumber(number) != nullptr) return "";
    return absl::StrCat(": value ", number);
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return "";
  const Message& inner =
      at < 0 ? reflection.GetMessage(message, &field)
             : reflection.GetRepeatedMessage(message, &field, at);
  const std::string part = UnknownPart(inner);
  if (part.empty()) return "";
  return absl::StrCat(absl::StartsWith(part, "field ") ? ": " : ".", part);
}

absl::Status NotOurs(absl::string_view what, absl::string_view value,
                     absl::string_view expected) {
  return UnimplementedWords("msg-step-saved-not-ours", what, QuotedText(value),
                            expected);
}

absl::Status CheckDevice(const SavedDevice& saved) {
  if (saved.device() > kMaxDeviceId) {
    return NotOurs("device", absl::StrCat(saved.device()),
                   absl::StrCat("0 to ", kMaxDeviceId));
  }
  for (const SavedDevice::Value& value : saved.values()) {
    const Setting* const setting = FindSetting(value.setting());
    if (setting == nullptr || setting->device == nullptr) {
      return NotOurs("setting", absl::StrCat(value.setting()),
                     "one that this version knows");
    }
    if (!IsSafeForTool(value.value())) {
      return NotOurs(SettingName(value.setting()), SettingText(value.value()),
                     "a value of a device");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFile(const SavedFile& saved, absl::string_view expected) {
  if (saved.path() == expected) return absl::OkStatus();
  return NotOurs("file", saved.path(), expected);
}

absl::Status CheckSaved(const SavedResource& saved) {
  switch (saved.resource_case()) {
    case SavedResource::kFile:
      return CheckFile(saved.file(), kSysctlFile);
    case SavedResource::kFileInPlace:
      return CheckFile(saved.file_in_place(), kHccnConfFile);
    case SavedResource::kSysctl:
      if (OurParameter(saved.sysctl().key()).ok()) return absl::OkStatus();
      return NotOurs("kernel parameter", saved.sysctl().key(),
                     "one that clusterd sets");
    case SavedResource::kDevice:
      return CheckDevice(saved.device());
    case SavedResource::kFirewall: {
      const absl::Status checked = CheckSavedFirewall(saved.firewall());
      if (checked.ok()) return checked;
      return WithWords(
          absl::UnimplementedError(""),
          Worded("msg-step-saved-firewall", MessageWords(checked)));
    }
    case SavedResource::RESOURCE_NOT_SET:
      break;
  }
  return UnimplementedWords("msg-step-saved-nothing");
}

}  // namespace

HostTime ReadHostTime(FileSystem* files, Clock* clock) {
  const auto boot_id = ReadWholeFile(files, kBootId, kMaxBootIdBytes);
  return {boot_id.ok() ? std::string(absl::StripAsciiWhitespace(*boot_id)) : "",
          clock->SinceBoot(), clock->Now()};
}

JournalDeadline MakeDeadline(const HostTime& now, absl::Duration left,
                             absl::Duration within, const std::string& actor) {
  JournalDeadline deadline;
  deadline.set_boot_id(now.boot_id);
  deadline.set_boottime_ms(absl::ToInt64Milliseconds(now.since_boot + left));
  deadline.set_wall_ms(absl::ToUnixMillis(now.wall + left));
  deadline.set_within_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(within)));
  deadline.set_actor(actor);
  return deadline;
}

bool IsOfThisBoot(const JournalDeadline& deadline, const HostTime& now) {
  return !now.boot_id.empty() && deadline.boot_id() == now.boot_id;
}

absl::Duration TimeLeft(const JournalDeadline& deadline, const HostTime& now) {
  if (now.boot_id.empty()) return absl::ZeroDuration();
  const absl::Duration left =
      IsOfThisBoot(deadline, now)
          ? absl::Milliseconds(deadline.boottime_ms()) - now.since_boot
          : std::min<absl::Duration>(
                absl::FromUnixMillis(deadline.wall_ms()) - now.wall,
                absl::Milliseconds(deadline.within_ms()));
  return std::max(left, absl::ZeroDuration());
}

std::string UnknownPart(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const auto& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) {
    return absl::StrCat("field ", unknown.field(0).number());
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      const std::string part = UnknownIn(message, *field, -1);
      if (!part.empty()) return absl::StrCat(field->name(), part);
      continue;
    }
    const int size = reflection.FieldSize(message, field);
    for (int i = 0; i < size; ++i) {
      const std::string part = UnknownIn(message, *field, i);
      if (part.empty()) continue;
      return absl::StrCat(field->name(), "[", i, "]", part);
    }
  }
  return "";
}

absl::Status CheckJournalEntry(const JournalEntry& entry) {
  const std::string unknown = UnknownPart(entry);
  if (!unknown.empty()) {
    return UnimplementedWords("msg-step-journal-newer", unknown);
  }
  if (entry.kind_case() == JournalEntry::KIND_NOT_SET) {
    return UnimplementedWords("msg-step-journal-unknown");
  }
  if (entry.has_deadline() &&
      absl::Milliseconds(entry.deadline().within_ms()) > kMaxConfirmWithin) {
    return UnimplementedWords("msg-step-journal-deadline",
                              entry.deadline().within_ms(),
                              absl::FormatDuration(kMaxConfirmWithin));
  }
  for (const SavedResource& saved : entry.intent().saved()) {
    RETURN_IF_ERROR(CheckSaved(saved));
  }
  return absl::OkStatus();
}

absl::Status CheckOnlyOurs(const std::string& path, FileType type,
                           const FileAttributes& attributes) {
  const bool own = attributes.uid == 0 || attributes.uid == geteuid();
  if (attributes.type == type && own && (attributes.mode & 022) == 0) {
    return absl::OkStatus();
  }
  return InFront(
      path,
      DeniedWords(type == FileType::kDirectory ? "msg-step-folder-not-ours"
                                               : "msg-step-file-not-ours",
                  attributes.uid, absl::StrFormat("%04o", attributes.mode)));
}

absl::Status CheckCanBeUndone(const JournalEntry& entry) {
  const std::string unknown = UnknownPart(entry);
  if (unknown.empty()) {
    const absl::Status checked = CheckJournalEntry(entry);
    return checked.ok() ? checked
                        : WithWords(checked, Worded("msg-step-no-undo",
                                                    MessageWords(checked)));
  }
  return UnimplementedWords("msg-step-plan-newer", unknown);
}

}  // namespace clusterd
