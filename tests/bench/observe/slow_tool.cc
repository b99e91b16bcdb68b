// Answers hccn_tool's queries like a healthy device, each after 20 ms, and 24
// ms for device 7, so that one device is the slowest.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {

struct Answer {
  const char* query;
  const char* text;
};

constexpr Answer kAnswers[] = {
    {"-ip", "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n"},
    {"-gateway", "default gateway:10.20.0.1, Iface:eth0\n"},
    {"-netdetect", "netdetect addr: 10.20.0.1\n"},
    {"-net_health", "net health status: Success\n"},
    {"-link", "link status: UP\n"},
    {"-lldp", "\n"},
    {"-mtu", "mtu:1500\n"},
    {"-speed", "Speed: 200000 Mb/s\n"},
    {"-pfc",
     "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
     "enabled    0 0 0 0 1 0 0 0\n"},
    {"-udp", "udp_port:4791\nstatus:custom\n"},
    {"-dscp_to_tc", "dscp      tc\n  33       1\n"},
    {"-prio_tc",
     "Priority mapping:\npriority   0 1 2 3 4 5 6 7\n"
     "TC         0 0 0 0 1 0 0 0\n"},
    {"-optical", "optical info:\npresent              : present\n"},
    {"-link_stat", "link change records : NA\n"},
    {"-stat", "packet statistics:\nroce_new_pkt_rty_num:0\n"},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const bool is_slowest = std::strcmp(argv[2], "7") == 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(is_slowest ? 24 : 20));
  for (const Answer& answer : kAnswers) {
    if (std::strcmp(argv[3], answer.query) != 0) continue;
    std::fputs(answer.text, stdout);
    return 0;
  }
  return 3;
}
