// The state of the two host firewalls: absent, stopped, active, started at
// boot, and what they let in.
#ifndef DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
#define DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_

#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From /usr/sbin/ufw, `ufw status verbose` and /etc/ufw/ufw.conf. What systemd
// says about ufw is not its state: its unit is "active" either way. It has one
// state: `ufw allow` and the like write the files that the next start reads and
// change the running rules in one, and `ufw status` prints those files.
FirewallFacts ReadUfw(const HostAccess& host);

// From /usr/bin/firewall-cmd and systemd's links to firewalld.service. It has
// two states: what runs, and with --permanent what a reload or reboot brings.
FirewallFacts ReadFirewalld(const HostAccess& host);

// What may drop packets beside both: from iptables-save of every backend that
// is installed, and `nft list ruleset`. Without any of them nothing: they are
// what rules are made with. Reading them loads no table. Rules for addresses
// that no interface has are left out.
DropRulesFact ReadDropRules(const HostAccess& host,
                            const InterfacesFact& interfaces);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
