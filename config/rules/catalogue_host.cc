#include <utility>

#include "absl/strings/str_cat.h"
#include "config/rules/catalogue_parts.h"

namespace clusterd {
namespace {

std::vector<RuleInfo> PortRules() {
  constexpr char kBasePort[] =
      "HCCL environment variable HCCL_IF_BASE_PORT: "
      "https://www.hiascend.com/document/detail/zh/canncommercial/82RC1/"
      "maintenref/envvar/envref_07_0074.html";
  return {
      {"ports-reserved", "host",
       "the kernel reserves every port of the HCCL range",
       "net.ipv4.ip_local_reserved_ports of the network namespace lacks a port "
       "of base..base+N-1: base is hccl.base_port (60000), N is "
       "hccl.port_count (32 covers every CANN version; 16 was enough up to "
       "8.0). "
       "Compared as sets, so other reservations and spellings do not matter.",
       "The range lies among the ports that the kernel hands out to outgoing "
       "connections. Without the reservation any of them may own one when "
       "training starts; HCCL then cannot listen there: EJ0003 or EI0019, "
       "\"The "
       "IP address and port have been bound already\".",
       "Write the old list and the range together (a write replaces the whole "
       "list): sysctl -w net.ipv4.ip_local_reserved_ports=OLD,60000-60031. "
       "Training in a container with a network namespace of its own needs it "
       "there: --netns container:NAME checks and plans it; with --network=host "
       "the host's list is the container's.",
       "fail", absl::StrCat(kTrainingGuide, "; ", kBasePort), true},
      {"ports-free", "host", "no process holds a port that the job needs",
       "A socket is bound in the HCCL range, on the rendezvous port or on the "
       "job's ssh port. A connection in TIME_WAIT is a warning: the kernel "
       "closes it by itself.",
       "HCCL or the launcher cannot bind the port: EJ0003 or EI0019, \"The IP "
       "address and port have been bound already\", or \"host nic listen start "
       "failed\". Reserving a port does not free it.",
       "End the process that is named, or choose other ports in cluster.yaml.",
       "fail",
       absl::StrCat(kBasePort,
                    "; https://github.com/vllm-project/vllm-ascend/issues/405; "
                    "Rec SDK user guide, training on several servers"),
       true},
  };
}

std::vector<RuleInfo> SystemRules() {
  constexpr char kBacklogWhy[] =
      "Every rank dials the root at the same time. When the root's kernel "
      "cannot "
      "queue them all, some ranks give up at random and initialisation fails, "
      "mostly at large scale; HCCL itself then advises to raise "
      "net.core.somaxconn and net.ipv4.tcp_max_syn_backlog to 65535 on every "
      "node.";
  const std::string backlog_source = absl::StrCat(
      kTrainingGuide,
      "; HCCL communication source, hcomm 8958adbf, topoinfo_exchange_base.cc");
  return {
      {"listen-backlog", "host",
       "net.core.somaxconn lets the root queue every rank",
       "net.core.somaxconn is under kernel.somaxconn of the spec, or under the "
       "number of devices that will dial the root (at most 65535 is asked "
       "for).",
       kBacklogWhy,
       "sysctl -w net.core.somaxconn=65535. Sockets that listen already keep "
       "their old limit: restart what listens. A container with a network "
       "namespace of its own has its own value: --netns container:NAME, or "
       "docker run --sysctl when it is made.",
       "fail", backlog_source, true},
      {"syn-backlog", "host",
       "net.ipv4.tcp_max_syn_backlog lets the root queue every rank",
       "net.ipv4.tcp_max_syn_backlog is under kernel.tcp_max_syn_backlog of "
       "the "
       "spec, or under the number of devices that will dial the root (at most "
       "65535 is asked for).",
       kBacklogWhy,
       "sysctl -w net.ipv4.tcp_max_syn_backlog=65535. In a container: --netns "
       "container:NAME; kernels before about Linux 4.10 have one value for the "
       "whole host, and no such file in the container.",
       "fail", backlog_source, true},
      {"sysctl-persistent", "host",
       "a reboot brings the kernel parameters back",
       "No file of sysctl.d sets one of the three parameters, or the file that "
       "is applied last sets a value that the spec does not accept. Files are "
       "sorted by name whatever their directory; /etc/sysctl.conf counts only "
       "where it is linked as /etc/sysctl.d/99-sysctl.conf.",
       "The cluster passes today and fails after the next reboot, on some "
       "hosts "
       "only.",
       "Set the value in /etc/sysctl.d/90-clusterd.conf, which clusterctl "
       "apply "
       "writes too, or correct the line that is named: a file that sorts after "
       "that one, such as 99-sysctl.conf, wins over it.",
       "warn; fail with kernel.persistent: true",
       absl::StrCat(kTrainingGuide, "; ", kSysctlManual), true},
      {"firewall", "host", "no firewall stands between the servers",
       "With firewall: disabled, ufw or firewalld is active. With firewall: "
       "open-ports, one is active and does not let in a needed port from every "
       "host of the cluster. Stopped now but started at boot is a warning, and "
       "so are ports that a running firewalld lets in now and not permanently: "
       "the next firewall-cmd --reload or reboot shuts them. Ports that it has "
       "stored and does not let in yet fail. ufw stores every rule that it "
       "lets run.",
       "Ranks cannot reach each other's HCCL ports or the rendezvous port: "
       "\"wait socket establish timeout\", EI0006 or EI0015 after the connect "
       "timeout.",
       "ufw disable; or systemctl disable --now firewalld; or allow the ports "
       "from the cluster's host addresses and set firewall: open-ports; in "
       "firewalld both with and without --permanent, or with --permanent and "
       "then firewall-cmd --reload.",
       "fail; warn when it only starts at boot, or is open only until then",
       absl::StrCat(kTrainingGuide,
                    "; https://xie.infoq.cn/article/1797be6916f07d7bc9a69c64f"),
       true},
  };
}

RuleInfo DriftRule() {
  return {
      "drift",
      "host",
      "what clusterctl apply set is still so",
      "A step of an apply that is in effect does not hold any more: somebody "
      "or something else changed the value since. A later apply of the same "
      "setting takes over; an apply that was rolled back counts no more. A "
      "value that cannot be read is unknown. Hosts that keep no record of "
      "applies are skipped.",
      "What was set once is taken for granted, and the next job finds "
      "something else: hosts that agreed yesterday do not today, often after "
      "a reboot, a driver update or a repair by hand. The value itself fails "
      "in its own rule where cluster.yaml asks for it.",
      "clusterctl plan --out FILE, then clusterctl apply FILE sets it again; "
      "clusterctl rollback ID takes the whole apply back (somebody else's "
      "later change only with --force). With enforce in cluster.yaml the "
      "controller puts back that kind by itself.",
      "warn",
      "the journals of applies on the host, /var/lib/clusterd/apply",
      true};
}

}  // namespace

std::vector<RuleInfo> HostRules() {
  std::vector<RuleInfo> rules = PortRules();
  for (RuleInfo& rule : SystemRules()) rules.push_back(std::move(rule));
  rules.push_back(DriftRule());
  return rules;
}

}  // namespace clusterd
