// Every address, flag and interface of a route stands in the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/hccn_route.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto routes = clusterd::ParseHccnRoutes(text);
  if (!routes.ok()) return 0;
  for (const clusterd::HccnRoute& route : *routes) {
    const std::string destination = route.destination.network().ToString();
    for (const std::string& value :
         {route.destination.netmask().ToString(), route.flags,
          absl::StrCat(route.metric), route.interface,
          route.gateway.has_value() ? route.gateway->ToString()
                                    : std::string("*")}) {
      if (value.empty() || !absl::StrContains(text, value)) std::abort();
    }
    if (!absl::StrContains(text, destination) &&
        !absl::StrContains(text, "default")) {
      std::abort();
    }
  }
  return 0;
}
