// A parsed state is written back as the same text, and names a product without
// running away. Over a line of hccn.conf that stands for the input the
// simulated tool's recovery ends as config/values/hccn_conf_line.h has it.

#include <functional>
#include <iterator>
#include <random>

#include "absl/strings/str_cat.h"
#include "config/values/hccn_conf_line.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"
#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/product.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd {
namespace {

using sim::DeviceState;
using sim::TestServer;

// Ways in which the table may disagree. It misses what only other lines or the
// product decide, and does not model unusual spellings of maps with blanks,
// signs or zeros in front.
enum Table { kAgrees, kMayMiss, kMayBeStricter };

// The line that an input changes, with those that the recovery reads too.
constexpr struct {
  const char* key;
  const char* value;
  Table table = kAgrees;
  const char* others = "";
} kLines[] = {
    {"address", "10.0.0.1", kMayMiss},
    {"netmask", "255.255.255.0"},
    {"gateway", "10.0.0.254"},
    {"netdetect", "10.0.0.254"},
    {"IPv6gateway", "fd00::1"},
    {"IPv6netdetect", "fd00::1"},
    {"IPv6address", "fd00::5", kAgrees, "IPv6netmask_1=64\n"},
    {"IPv6netmask", "64", kMayMiss, "IPv6address_1=fd00::5\n"},
    {"udhcpc_enable", "on"},
    {"udhcpc_ipv6_enable", "on"},
    {"mac_addr", "6c:b1:58:00:00:01"},
    {"mtu", "4200"},
    {"dscp_tc", "33:1,46:2,", kMayBeStricter},
    {"static_speed", "100000"},
    {"bw_limit", "200000"},
    {"roce_port", "4097"},
    {"bitmap", "1,0,0,0,1,1,1,0"},
    {"tc_cfg", "size 6272,0 waterline 6272,0"},
    {"prio_tc", "0,1,2,3,0,0,0,0"},
    {"encoding", "rs"},
    {"dcqcn_cnp_dscp", "63"},
    {"dcqcn_f", "255", kAgrees, "dcqcn_alg_mode_1=1\n"},
    {"dcqcn_g_shift", "15", kAgrees, "dcqcn_alg_mode_1=1\n"},
    {"dcqcn_ai", "65535", kAgrees, "dcqcn_alg_mode_1=1\n"},
    {"dcqcn_al", "256"},
    {"xsfp_reset_max_times", "30"},
    {"xsfp_reset_wait_times", "40"},
    {"tls_enable", "01"},
    {"tls_ca_recovered", "0"},
    {"lldp_portid_type", "mac"},
    {"cw_bad_cnt_thd_high_limit", "14"},
    {"down_fault_time", "3"},
    {"scdr_reset_delay_time", "60"},
    {"cdr_reset_switch", "enable"},
    {"tsa", "0:ets,1:strict", kMayBeStricter},
    {"tcbw", "0:100,3:7", kMayBeStricter},
    {"udp_port_mode", "multi_qp"},
    {"udp_port_mode", "multi_qp", kAgrees,
     "multi_qp_count_1=2\nmulti_qp_udp_ports_1=5000,5001\n"},
    {"udp_port_mode", "code:nslb_dp", kAgrees, "nslb_dp_listen_port_1=16668\n"},
    {"multi_qp_count", "2", kMayMiss,
     "udp_port_mode_1=multi_qp\nmulti_qp_udp_ports_1=5000,5001\n"},
    {"multi_qp_udp_ports", "5000-5001", kMayMiss,
     "udp_port_mode_1=multi_qp\nmulti_qp_count_1=2\n"},
    {"nslb_dp_listen_port", "57999", kAgrees, "udp_port_mode_1=code:nslb_dp\n"},
    {"mem_reserve", "pdccl:256", kMayBeStricter},
    {"ip_rule", "add from 10.0.0.1 table 255"},
    {"arp", "-i eth1  -s 10.0.0.9 6c:b1:58:00:00:09"},
    {"arp", "x", kAgrees, "udhcpc_enable_1=0\n"},
    {"send_arp_period", "3600"},
    {"send_arp_status", "1"},
};

// The value with up to four characters put in, taken out or changed.
std::string Edited(std::string value, std::mt19937& random) {
  constexpr char kChars[] = "0123456789+-.:, xaft";
  for (int edits = static_cast<int>(random() % 5); edits > 0; --edits) {
    const size_t at = random() % (value.size() + 1);
    const char c = kChars[random() % (sizeof(kChars) - 1)];
    switch (random() % 3) {
      case 0:
        value.insert(at, 1, c);
        break;
      case 1:
        value.erase(at, 1);
        break;
      default:
        if (at < value.size()) value[at] = c;
    }
  }
  return value;
}

// True if the recovery of device 1 succeeds with the file.
bool Recovers(const std::string& conf) {
  static const auto* const server = new TestServer("");
  server->Write("/var/lib/hccn_sim/state", "retry.ms=0;ca_files=1");
  server->Write("/etc/hccn.conf", conf);
  return server->Run("-i 1 -cfg recovery").status == 0;
}

// Every byte of the input decides, since few inputs differ in the first ones.
void CompareRecovery(const std::string& input) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(input)));
  const auto& row = kLines[random() % std::size(kLines)];
  const std::string line =
      absl::StrCat(row.key, "_1=", Edited(row.value, random));
  // The first line of a key counts.
  const std::string conf = absl::StrCat(
      line, "\n", row.others,
      "tls_ca_recovered_1=1\naddress_1=10.0.0.1\nnetmask_1=255.255.255.0\n");
  Require(IsRecoveredLine(line));
  const bool is_taken =
      MayBeRecovered(line, conf) || !BreaksRecoveryOf("A2", line);
  if (is_taken == Recovers(conf)) return;
  Require(row.table == (is_taken ? kMayMiss : kMayBeStricter));
}

FUZZ_TEXT(device_state, 1, "tests/testdata/hccn_tool/states/*.txt") {
  const DeviceState state = DeviceState::Parse(text);
  const DeviceState again = DeviceState::Parse(state.Text());
  Require(again.values() == state.values());
  for (const auto& [key, value] : state.values()) {
    (void)value;
    state.Number(key);
  }
  sim::ProductOf(state);
  CompareRecovery(text);
}

}  // namespace
}  // namespace clusterd
