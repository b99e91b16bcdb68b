#include "config/hccl/cann_ports.h"

#include <utility>

#include "config/values/text_form.h"

namespace clusterd {

std::optional<CannPorts> CannPortsOf(absl::string_view version) {
  static const LazyRE2 kForm = {R"((\d{1,4})\.(\d{1,4})(?:\.[A-Za-z0-9]+)*)"};
  std::pair<uint32_t, uint32_t> number;
  if (!HasForm(version, *kForm, &number.first, &number.second)) return {};
  CannPorts ports;
  if (number < std::make_pair(8u, 1u)) ports.possible = ports.certain;
  if (number > std::make_pair(8u, 1u)) ports.certain = ports.possible;
  return ports;
}

}  // namespace clusterd
