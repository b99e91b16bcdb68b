// Jobs that MPI launches over ssh, and their faults.
#include <string>

#include "config/rules/host_rules.h"
#include "tests/sim/facts/healthy_ssh.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

bool HasSsh(const RandomCluster& cluster, int host, int = -1) {
  return cluster.job.has_value() && cluster.job->has_ssh() &&
         cluster.facts[host].ssh().has_value();
}

// Logins on the host's own port, which every such job has: one ends so.
FaultKind OfLogin(const char* name, const char* text) {
  const Make make = [text](RandomCluster& c, int host, int) {
    auto* logins =
        c.facts[host].mutable_ssh()->mutable_value()->mutable_logins();
    Patch(text, logins->Mutable(static_cast<int>(c.Pick(logins->size()))));
  };
  return {name, "", kOfHost, "ssh-ready", FAIL, "", make, HasSsh};
}

FaultKind OfServers(const char* name, State state, bool before, bool after,
                    void (*change)(SshFact::Ssh* ssh)) {
  const Make make = [change](RandomCluster& c, int host, int) {
    change(c.facts[host].mutable_ssh()->mutable_value());
  };
  const Where applies = [=](const RandomCluster& c, int host, int) {
    return HasSsh(c, host) && c.job->ssh().container_port() != 0 &&
           (c.job->ssh().before() ? before : after);
  };
  return {name, "", kOfHost, "ssh-ready", state, "", make, applies};
}

}  // namespace

void LaunchBySsh(RandomCluster& cluster) {
  JobSsh* const ssh = cluster.job->mutable_ssh();
  ssh->set_user("ann");
  if (cluster.OneIn(3)) ssh->set_port(2222);
  if (!cluster.OneIn(3)) {
    ssh->set_container_port(12345);
    ssh->set_before(cluster.OneIn(3));
  }
  const SshQuestion question = MakeSshQuestion(cluster.spec, *ssh);
  for (HostFacts& host : cluster.facts) {
    *host.mutable_ssh() = MakeHealthySsh(host.host(), question);
  }
}

std::vector<FaultKind> SshFaults() {
  return {
      OfLogin("ssh-key-refused",
              "works: false "
              "error: 'ann@172.16.0.2: Permission denied (publickey).'"),
      OfLogin("ssh-stale-key",
              "works: false error: 'Host key verification failed.' "
              "stale_entry: '/home/ann/.ssh/known_hosts:4'"),
      OfServers("ssh-nobody-listens", FAIL, false, true,
                [](SshFact::Ssh* ssh) {
                  SshServer* const server = ssh->mutable_servers(1);
                  server->clear_command();
                  server->clear_pid();
                  server->clear_answers();
                  server->clear_listen_addresses();
                }),
      OfServers("ssh-port-used", FAIL, true, false,
                [](SshFact::Ssh* ssh) {
                  ssh->mutable_servers(1)->set_command("exporter");
                }),
      OfServers("ssh-on-every-address", WARN, false, true,
                [](SshFact::Ssh* ssh) {
                  ssh->mutable_servers(1)->set_listen_addresses(0,
                                                                "[::]:12345");
                }),
      OfServers(
          "ssh-shell-without-variables", WARN, false, true,
          [](SshFact::Ssh* ssh) { ssh->add_not_exported("LD_LIBRARY_PATH"); }),
      {"no-ssh-fact", "", kOfHost | kHides, "ssh-ready", UNKNOWN, "",
       OnHost("ssh { missing { reason: TIMED_OUT } }"), HasSsh},
  };
}

}  // namespace clusterd
