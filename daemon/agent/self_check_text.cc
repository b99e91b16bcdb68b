#include "daemon/agent/self_check_text.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace clusterd {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

std::string Printable(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&clean, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      clean += c;
    }
  }
  return clean;
}

void AddLine(const std::string& path, const std::string& value,
             std::string* lines) {
  absl::StrAppendFormat(lines, "  %-42s %s\n", path, Printable(value));
}

// One value of a field that is no message; index -1: the field is singular.
std::string Scalar(const Message& message, const FieldDescriptor* field,
                   int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return one ? reflection.GetString(message, field)
                 : reflection.GetRepeatedString(message, field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return (one ? reflection.GetBool(message, field)
                  : reflection.GetRepeatedBool(message, field, index))
                 ? "yes"
                 : "no";
    case FieldDescriptor::CPPTYPE_ENUM:
      return (one ? reflection.GetEnum(message, field)
                  : reflection.GetRepeatedEnum(message, field, index))
          ->name();
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(
          one ? reflection.GetUInt32(message, field)
              : reflection.GetRepeatedUInt32(message, field, index));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(
          one ? reflection.GetUInt64(message, field)
              : reflection.GetRepeatedUInt64(message, field, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(
          one ? reflection.GetInt64(message, field)
              : reflection.GetRepeatedInt64(message, field, index));
    default:
      return absl::StrCat("<", std::string(field->name()), ">");
  }
}

void AddMessage(const std::string& path, const Message& message,
                std::string* lines);

// A list of messages is numbered; devices go by their own number.
std::string ElementPath(const std::string& path, const Message& element,
                        int index) {
  const auto* device = dynamic_cast<const DeviceFacts*>(&element);
  return absl::StrCat(
      path, "[", device ? device->id() : static_cast<uint32_t>(index), "]");
}

void AddField(const std::string& path, const Message& message,
              const FieldDescriptor* field, std::string* lines) {
  const Reflection& reflection = *message.GetReflection();
  const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!field->is_repeated()) {
    if (is_message) {
      AddMessage(path, reflection.GetMessage(message, field), lines);
    } else {
      AddLine(path, Scalar(message, field, -1), lines);
    }
    return;
  }
  std::vector<std::string> scalars;
  for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
    if (is_message) {
      const Message& element = reflection.GetRepeatedMessage(message, field, i);
      AddMessage(ElementPath(path, element, i), element, lines);
    } else {
      scalars.push_back(Scalar(message, field, i));
    }
  }
  if (!is_message) AddLine(path, absl::StrJoin(scalars, ", "), lines);
}

void AddMessage(const std::string& path, const Message& message,
                std::string* lines) {
  if (const auto* missing = dynamic_cast<const Missing*>(&message)) {
    AddLine(path,
            absl::StrCat("not known: ", Missing::Reason_Name(missing->reason()),
                         ", ", missing->detail()),
            lines);
    return;
  }
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  if (fields.empty() && !path.empty()) AddLine(path, "none", lines);
  for (const FieldDescriptor* field : fields) {
    // The two sides of a fact are the fact itself.
    const bool side = field->containing_oneof() != nullptr &&
                      field->containing_oneof()->name() == "state";
    const std::string name(field->name());
    AddField(side           ? path
             : path.empty() ? name
                            : absl::StrCat(path, ".", name),
             message, field, lines);
  }
}

const char* Word(State state) {
  switch (state) {
    case PASS:
      return "pass";
    case SKIPPED:
      return "skipped";
    case WARN:
      return "warn";
    case FAIL:
      return "fail";
    default:
      return "unknown";
  }
}

std::string SubjectText(const Finding& finding) {
  std::vector<std::string> names;
  for (const Subject& subject : finding.subjects()) {
    names.push_back(subject.devices().empty()
                        ? subject.host()
                        : absl::StrCat(subject.host(), " device ",
                                       absl::StrJoin(subject.devices(), ",")));
  }
  return absl::StrJoin(names, "; ");
}

void AddRule(const RuleResult& rule, std::string* lines) {
  absl::StrAppendFormat(
      lines, "  %-7s %-22s %s\n", Word(rule.state()), Printable(rule.rule()),
      Printable(rule.state() == SKIPPED ? rule.skip_reason() : rule.summary()));
  for (const Finding& finding : rule.findings()) {
    absl::StrAppendFormat(lines, "            %s: %s\n",
                          Printable(SubjectText(finding)),
                          Printable(finding.observed()));
    absl::StrAppendFormat(lines, "            expected: %s\n",
                          Printable(finding.expected()));
    if (!finding.fix().empty()) {
      absl::StrAppendFormat(lines, "            fix: %s\n",
                            Printable(finding.fix()));
    }
  }
}

}  // namespace

std::string FactLines(const HostFacts& facts) {
  std::string lines;
  AddMessage("", facts, &lines);
  return lines;
}

std::string SelfCheckText(const CheckSelfResponse& response) {
  std::string text =
      absl::StrCat("facts\n", FactLines(response.facts()), "rules\n");
  const Report& report = response.report();
  for (const RuleResult& rule : report.rules()) AddRule(rule, &text);
  if (!report.error().empty()) {
    absl::StrAppend(&text, Printable(report.error()), "\n");
  }
  for (const std::string& note : report.notes()) {
    absl::StrAppend(&text, "note: ", Printable(note), "\n");
  }
  absl::StrAppend(&text, "verdict: ", Word(report.verdict()), "\n");
  return text;
}

int SelfCheckExitStatus(const Report& report) {
  switch (report.verdict()) {
    case PASS:
    case WARN:
      return 0;
    case FAIL:
      return 1;
    default:
      return 2;
  }
}

}  // namespace clusterd
