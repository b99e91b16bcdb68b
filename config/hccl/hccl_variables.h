// The environment variables of HCCL that decide whether a job can start, with
// what each may be: one table for those that a host sets for every login and
// for those of a job. From the environment variable reference of CANN (HCCL,
// docs/zh/user_guide/hccl_env, 9.x) and HCOMM's externalinput.cc. Pure.
#ifndef CONFIG_HCCL_HCCL_VARIABLES_H_
#define CONFIG_HCCL_HCCL_VARIABLES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// By name; names that are not HCCL's, or not in the table, are not judged.
using HcclVariables = std::map<std::string, std::string>;

struct HcclMistake {
  std::string name;      // "HCCL_CONNECT_TIMEOUT"
  std::string value;     // "60"; of two that contradict each other both.
  std::string expected;  // "120 to 7200"
};

// What HCCL refuses (EI0001), or what makes a job fail: a value outside of its
// range or form, two that contradict each other, and a white list that is on
// and has no file. In the order of names. Of a variable whose range depends on
// product and mode only what holds for all.
std::vector<HcclMistake> FindHcclMistakes(const HcclVariables& variables);

// What HCCL_SOCKET_IFNAME says of an interface:
//   eth,enp     names that begin with one of these
//   =bond0.7    that name, and names that it begins with, such as bond0: HCOMM
//               compares as far as the interface's own goes (FindLocalHostIP)
//   ^docker     names that do not begin with it; ^=eth0 not that name
// The signs in front are of the whole list.
bool MatchesSocketIfname(absl::string_view value, absl::string_view interface);

}  // namespace clusterd

#endif  // CONFIG_HCCL_HCCL_VARIABLES_H_
