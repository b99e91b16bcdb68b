// The environment variables of a job that decide whether it can start: one
// table with the form of each and where that is published, for those that a
// host sets for every login and for those of a job. Variables that no public
// source bounds are listed for their name alone. Pure.
#ifndef CONFIG_HCCL_JOB_VARIABLES_H_
#define CONFIG_HCCL_JOB_VARIABLES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"

namespace clusterd {

struct JobVariable {
  absl::string_view name;
  // Null: every value is legal.
  bool (*is_legal)(absl::string_view value);
  // Words of config/rules/texts and their values: "env-seconds|120|7200".
  absl::string_view expected;
  absl::string_view source;
  // The default value; empty: not published, or not one value.
  absl::string_view standard = "";
  // Hosts of one job may have different ones, e.g. their addresses.
  bool may_differ = false;
  // Its reader takes the default for an illegal value.
  bool falls_back = false;
  // "A1,A2", as IdentityFacts.npu_series has them, or "950": the row is for
  // these. Empty: for the rest.
  absl::string_view series = "";
};

// The row of the name for products of the series; nullptr: not in the table.
const JobVariable* FindJobVariable(absl::string_view name,
                                   absl::string_view series = "");

// The variable in the table that a mistyped name probably means: one edit away,
// ignoring letter case and "-" for "_". Empty: there is none. Names of under 8
// bytes are too common to be compared.
absl::string_view MeantJobVariable(absl::string_view name);

// The value in one spelling: HCCL reads "0120" as 120 and "FALSE" as "false".
std::string ComparableValue(const JobVariable& row, absl::string_view value);

// True if the name is in the table, near one that is, or of HCCL or CANN.
bool IsJobVariable(absl::string_view name);

// HCCL_ALGO by executors, allreduce:sequence{mesh,nhr}, and what looks like it.
// HCCL_ALGO.md of hccl's main branch has this form for Ascend 950 alone.
inline constexpr char kExecutors[] =
    "(?i)[^$<>`]*[a-z0-9] *[{(][^$<>`]*|(?:(?:^|;)[a-z :]*(?:mesh|nhr)[ "
    "\\w]*)+";

// As HCCL checks the name of a rank table (topoinfo_ranktableParser.cc,
// CheckFilePath): its first ".json" has to be its end.
inline bool IsRankTableName(absl::string_view path) {
  return path.find(".json") + 5 == path.size();
}

// True if the value is a guide's placeholder: "PIP:PORT", "<ip>", "x.x.x.x",
// "your_ip", or "$HOST" where nothing expands it.
bool IsPlaceholder(absl::string_view value);

using JobVariables = std::map<std::string, std::string>;  // By name.

struct JobVariableMistake {
  std::string name;      // "HCCL_CONNECT_TIMEOUT"
  std::string value;     // "60"
  std::string expected;  // See JobVariable.
  std::string source;
  bool falls_back = false;
  // Words for the value beside another one: "env-value-without" and
  // "HCCL_WHITELIST_FILE". Empty: the value alone.
  std::string beside = "";
  std::string other = "";
};

// Finds values outside of their range or form, two that contradict each other,
// and an enabled white list without a file. In the order of the table.
std::vector<JobVariableMistake> FindVariableMistakes(
    const JobVariables& variables, absl::string_view series = "");

// True if the line gives the variable's value for sure.
inline bool IsSure(const EnvironmentVariable& variable) {
  return !variable.computed() && !variable.conditional();
}

// The lines whose value a job on the host may get: the last certain one, if
// there is one, and those after it. Only the job's own where it names the
// variable. `job` may be null.
std::vector<const EnvironmentVariable*> VariableLines(const HostFacts& host,
                                                      const JobSpec* job,
                                                      absl::string_view name);

// The last of these; nullptr: none, or an empty value, which unsets it. The
// value of an uncertain one cannot be judged.
const EnvironmentVariable* FindVariable(const HostFacts& host,
                                        const JobSpec* job,
                                        absl::string_view name);

// Fills in a server of the job from the host's MASTER_ADDR, MASTER_PORT,
// WORLD_SIZE (otherwise RANK_SIZE), NODE_RANK and NNODES, if the job has none.
void FillFromVariables(const HostFacts& host, const JobSpec& job,
                       JobServer* server);

// Matches an interface against HCCL_SOCKET_IFNAME:
//   eth,enp     names that begin with one of these
//   =bond0.7    that name, and names that it begins with, such as bond0: HCOMM
//               compares as far as the interface's own goes (FindLocalHostIP)
//   ^docker     names that do not begin with it; ^=eth0 not that name
// The signs in front apply to the whole list.
bool MatchesSocketIfname(absl::string_view value, absl::string_view interface);

// HCCL's name of a data type: "bfp16" for itself, "bf16" and "bfloat16"; letter
// case is free. Empty: HCCL has no such type.
absl::string_view HcclDataType(absl::string_view name);

// HCCL's names, in its order.
std::vector<absl::string_view> HcclDataTypes();

}  // namespace clusterd

#endif  // CONFIG_HCCL_JOB_VARIABLES_H_
