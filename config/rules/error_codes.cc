#include "config/rules/error_codes.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

struct CodeMeaning {
  absl::string_view code;
  absl::string_view meaning;
};

constexpr absl::string_view kOwnedOrNotMounted =
    "another container owns the device, or a mount of the driver is missing";

constexpr CodeMeaning kMeanings[] = {
    {"EI0001", "an environment variable has a value that HCCL does not take"},
    {"EI0002", "a rank waited for another one until its time was over"},
    {"EI0004", "the rank table could not be read"},
    {"EI0005", "ranks called a collective with arguments that do not agree"},
    {"EI0006", "no connection to another rank came about in time"},
    {"EI0007",
     "a resource of the NPU is exhausted; each connection takes memory of the "
     "NPU's own system, less of it from HDK 25.5.0 on"},
    {"EI0008", "versions of HCCL differ between ranks"},
    {"EI0009",
     "a device could not set up its link to another one; the same address on "
     "both ends means two ranks on one device"},
    {"EI0010", "devices of one server could not reach each other (P2P)"},
    {"EI0011", "memory of the NPU could not be had"},
    {"EI0012",
     "a copy over SDMA failed; an Atlas 800 in AMP mode does not support HCCL "
     "at all (ipmcset -d npuworkmode -v 1 in the BMC sets SMP)"},
    {"EI0013", "a transfer over RoCE failed; the text names both ends"},
    {"EI0014", "the rank table has a value that does not fit"},
    {"EI0015", "the ranks did not find together at the root"},
    {"EI0016", "a setting is not the same on all ranks, as the TLS switch"},
    {"EI0017",
     "the rank table lacks an entry, such as super_device_id of version 1.2 "
     "(sdid:0xffffffff)"},
    {"EI0018", "a transfer over UB failed"},
    {"EI0019", "an address and port of the host could not be listened on"},
    {"EI0020",
     "an address and port of an NPU could not be listened on: another process "
     "has the device, and other ports of the host do not help"},
    // LlamaFactory issue 3839.
    {"EJ0001",
     "HCCP did not start: a process of an earlier job still has the device, or "
     "two processes take one device"},
    // vllm-ascend issue 1815: 16 devices of one A2 server, over both rings.
    {"EJ0002",
     "a RoCE port of a device is down; a server of 16 A2 devices needs them "
     "between its two rings"},
    // Before CANN 9; vllm-ascend issue 405.
    {"EJ0003", "an address and port could not be bound"},
    {"EJ0004", "an address of the rank table is not that of the device's port"},
    // The runtime's, CANN acl API reference, aclError; DCMI API reference.
    {"207001", "memory could not be had; look at what is left of the NPU's"},
    {"207004", "the device is not available"},
    {"507010", "the NPU's task scheduler gave no more signs of life"},
    {"507033", "the device could not be started"},
    {"507053", "memory of the NPU has an error that hardware cannot correct"},
    {"507054", "memory of the NPU (HBM) has an ECC error of several bits"},
    {"507056", "the link between two devices is broken"},
    {"507057", "memory of the device at the other end may have failed"},
    {"507899", "the driver met an internal error"},
    {"507901", "the driver's channel between host and device (HDC) is closed"},
    {"-8005",
     "DCMI, on which npu-smi builds, met an internal error: another container "
     "may own the device, or a mount of the driver be missing"},
    {"-8020", kOwnedOrNotMounted},
    {"-9005", kOwnedOrNotMounted},
    // Texts without a code have the name of a rule.
    {"device-namespace", kOwnedOrNotMounted},
    {"host-name", "a peer's address could not be looked up"},
    {"container-mounts", "a directory stands where a file belongs"}};

bool NamesCode(const Rule& rule, absl::string_view code) {
  const RuleText& words = rule.english;
  std::string text = absl::StrCat(words.title, "\n", words.fails_when, "\n",
                                  words.why, "\n", words.fix);
  for (const RuleFinding& finding : rule.findings) {
    absl::StrAppend(&text, "\n", finding.english.why, "\n",
                    finding.english.fix);
  }
  return absl::StrContains(text, code);
}

}  // namespace

absl::string_view ErrorCodeMeaning(absl::string_view code) {
  const CodeMeaning* const row = FirstWith(kMeanings, &CodeMeaning::code, code);
  return row == nullptr ? "" : row->meaning;
}

std::vector<const Rule*> RulesOfErrorCode(absl::string_view code) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : RuleCatalogue()) {
    if (rule.name == code || NamesCode(rule, code)) rules.push_back(&rule);
  }
  return rules;
}

}  // namespace clusterd
