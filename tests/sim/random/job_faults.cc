// Jobs of random clusters, and their faults.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/values/ipv4.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/random/rows.h"

namespace clusterd {
namespace {

constexpr uint32_t kMasterPort = 29500;

bool HasJob(const RandomCluster& cluster) { return cluster.job.has_value(); }

// A change of the whole cluster must be its only fault.
bool IsUntouched(const RandomCluster& cluster) {
  return HasJob(cluster) && cluster.faults.empty();
}

void TakeEverything(RandomCluster& cluster) {
  for (size_t h = 0; h < cluster.facts.size(); ++h) {
    const auto host = static_cast<int>(h);
    for (int d = -1; d < cluster.facts[h].devices_size(); ++d) {
      cluster.taken.insert({host, d});
    }
  }
}

int Devices(const RandomCluster& cluster) {
  return cluster.spec.servers(0).devices_size();
}

void SayWorldSize(RandomCluster& cluster) {
  uint32_t ranks = 0;
  for (const ServerSpec& server : cluster.spec.servers()) {
    ranks += server.devices_size();
  }
  for (JobServer& server : *cluster.job->mutable_servers()) {
    server.set_world_size(ranks);
  }
}

// The server plans no more than the first `devices` of its devices.
void KeepDevices(int server, int devices, RandomCluster& cluster) {
  auto* planned = cluster.spec.mutable_servers(server)->mutable_devices();
  if (planned->size() > devices) {
    planned->DeleteSubrange(devices, planned->size() - devices);
  }
}

// Numbers of devices that a job of the product may take, of those there are.
int PickCount(const ProductProfile& profile, int planned,
              RandomCluster& cluster) {
  std::vector<int> legal;
  for (const uint32_t count : profile.job_device_counts) {
    if (static_cast<int>(count) <= planned) legal.push_back(count);
  }
  return legal.empty() ? planned : legal[cluster.Pick(legal.size())];
}

// A job over some of the cluster's servers: only they are left, in the job's
// order, with the devices that it takes.
void NarrowTo(const std::vector<size_t>& servers, RandomCluster& cluster) {
  const ClusterSpec all = cluster.spec;
  const std::vector<HostFacts> facts = std::move(cluster.facts);
  const ProductProfile& profile = ProfileOf(cluster);
  const int planned = Devices(cluster);
  // Two faults on two devices would leave none that is in order.
  const bool takes_all = cluster.OneIn(2) || servers.size() == 2;
  const int count = takes_all ? planned : PickCount(profile, planned, cluster);
  const int first = static_cast<int>(cluster.Pick(planned - count + 1));
  cluster.spec.clear_servers();
  cluster.facts.clear();
  for (const size_t s : servers) {
    ServerSpec* server = cluster.spec.add_servers();
    *server = all.servers(static_cast<int>(s));
    server->mutable_devices()->DeleteSubrange(0, first);
    cluster.facts.push_back(facts[s]);
    cluster.job->add_servers()->set_host(server->host());
  }
  for (size_t s = 0; s < servers.size(); ++s) {
    KeepDevices(static_cast<int>(s), count, cluster);
  }
}

void SayLaunch(RandomCluster& cluster) {
  uint32_t rank = 0;
  for (JobServer& server : *cluster.job->mutable_servers()) {
    server.set_node_rank(rank++);
    server.set_master_addr(cluster.spec.servers(0).address());
    server.set_master_port(kMasterPort);
  }
  cluster.spec.set_rendezvous_port(kMasterPort);
  cluster.job->add_dtypes("fp16");
  SayWorldSize(cluster);
}

// Gives each server a part of the job.
Make Give(void (*give)(const RandomCluster& cluster, JobServer* server)) {
  return [give](RandomCluster& cluster, int, int) {
    for (JobServer& server : *cluster.job->mutable_servers()) {
      give(cluster, &server);
    }
  };
}

// The job takes more servers than there are hosts; not where they log in to
// each other.
void AddJobServers(size_t servers, RandomCluster& cluster) {
  AddServers(static_cast<int>(servers), cluster);
  for (size_t s = cluster.job->servers_size(); s < servers; ++s) {
    JobServer* added = cluster.job->add_servers();
    *added = cluster.job->servers(0);
    added->set_host(cluster.spec.servers(static_cast<int>(s)).host());
    if (added->has_node_rank()) added->set_node_rank(static_cast<uint32_t>(s));
  }
  if (cluster.job->servers(0).world_size() > 0) SayWorldSize(cluster);
}

FaultKind OfJob(const char* name, const char* rule, State state,
                const char* also, bool (*applies)(const RandomCluster&),
                Make make) {
  const Where anywhere = [applies](const RandomCluster& c, int, int) {
    return applies(c);
  };
  return {name, "", kOfCluster, rule, state, also, std::move(make), anywhere};
}

// The same for a change of the whole cluster.
FaultKind Alone(FaultKind kind) {
  kind.make = [make = kind.make](RandomCluster& cluster, int, int) {
    make(cluster, -1, -1);
    TakeEverything(cluster);
  };
  return kind;
}

bool HasGroups(const RandomCluster& cluster) {
  return IsUntouched(cluster) && ProfileOf(cluster).job_in_one_four;
}

std::string TableOf(const RandomCluster& cluster) {
  return MakeRankTable(cluster.spec, true,
                       ProfileOf(cluster).in_super_pod ? "1.2" : "1.0");
}

}  // namespace

void NarrowToRandomJob(RandomCluster& cluster) {
  std::vector<size_t> servers(cluster.facts.size());
  for (size_t s = 0; s < servers.size(); ++s) servers[s] = s;
  std::shuffle(servers.begin(), servers.end(), cluster.random);
  size_t most = servers.size();
  const size_t allowed = ProfileOf(cluster).max_servers;
  if (allowed > 0) most = std::min(most, allowed);
  size_t count = 2;
  while (count * 2 <= most && !cluster.OneIn(3)) count *= 2;
  cluster.spec.set_cluster_servers(static_cast<uint32_t>(servers.size()));
  servers.resize(count);
  cluster.job.emplace();
  // One page of the vendor says if HCCL works there.
  if (cluster.spec.mode() == "amp") {
    cluster.warnings["job-super-pod"].insert(-1);
  }
  cluster.job->set_id(absl::StrCat(
      cluster.seed % 2 == 0 ? "slurm:" : "job:", cluster.seed, ".0"));
  NarrowTo(servers, cluster);
  cluster.spec.set_one_job(true);
  if (cluster.OneIn(2)) SayLaunch(cluster);
}

std::vector<FaultKind> JobFaults() {
  return {
      Alone(OfJob(
          "job-of-three-devices", "job-device-count", FAIL, "",
          [](const RandomCluster& c) { return HasGroups(c) && Devices(c) > 3; },
          [](RandomCluster& c, int, int) {
            for (int s = 0; s < c.spec.servers_size(); ++s) {
              KeepDevices(s, 3, c);
            }
            SayWorldSize(c);
          })),
      Alone(OfJob(
          "job-across-groups", "job-device-group", FAIL, "",
          [](const RandomCluster& c) {
            return HasGroups(c) && Devices(c) == 8;
          },
          [](RandomCluster& c, int, int) {
            c.facts.resize(1);
            c.spec.mutable_servers()->DeleteSubrange(1,
                                                     c.spec.servers_size() - 1);
            c.job->mutable_servers()->DeleteSubrange(1,
                                                     c.job->servers_size() - 1);
            auto* devices = c.spec.mutable_servers(0)->mutable_devices();
            devices->DeleteSubrange(5, 3);
            devices->DeleteSubrange(0, 3);
            SayWorldSize(c);
          })),
      FailsWhere(
          [](const RandomCluster& c) { return ProfileOf(c).job_equal_counts; },
          Alone(OfJob(
              "job-uneven", "job-uniform", WARN, "job-device-count",
              [](const RandomCluster& c) {
                return IsUntouched(c) && Devices(c) > 1 &&
                       !ProfileOf(c).job_device_counts.empty();
              },
              [](RandomCluster& c, int, int) {
                const int last = c.spec.servers_size() - 1;
                // Half is as many as a job may take.
                KeepDevices(last, Devices(c) / 2, c);
                SayWorldSize(c);
              }))),
      OfJob(
          "job-of-too-many-servers", "job-size", FAIL, "job-size",
          [](const RandomCluster& c) {
            return HasJob(c) && ProfileOf(c).max_servers > 0 &&
                   !Has(c, "kernel-backlogs") && !c.job->has_ssh();
          },
          [](RandomCluster& c, int, int) {
            AddJobServers(ProfileOf(c).max_servers + 1, c);
          }),
      OfJob(
          "job-without-power-of-two", "job-size", WARN, "",
          [](const RandomCluster& c) {
            return HasJob(c) && ProfileOf(c).max_servers > 0 &&
                   !Has(c, "kernel-backlogs") && c.facts.size() < 500 &&
                   !c.job->has_ssh();
          },
          [](RandomCluster& c, int, int) {
            AddJobServers(c.facts.size() + 1, c);
          }),
      OfJob(
          "job-of-no-such-type", "job-dtype", FAIL, "",
          [](const RandomCluster& c) {
            return HasJob(c) && !ProfileOf(c).job_dtypes.empty();
          },
          [](RandomCluster& c, int, int) {
            const bool has_bf16 = absl::c_linear_search(
                ProfileOf(c).job_dtypes, absl::string_view("bfp16"));
            c.job->add_dtypes(has_bf16 ? "int64" : "bfp16");
          }),
      Alone(OfJob(
          "job-over-super-pods", "job-super-pod", FAIL, "",
          [](const RandomCluster& c) {
            return IsUntouched(c) && c.spec.roce_unused() &&
                   c.job->rank_table().empty();
          },
          [](RandomCluster& c, int, int) {
            for (JobServer& server : *c.job->mutable_servers()) {
              server.set_logic_super_pod(server.host());
            }
          })),
      OfJob("job-master-elsewhere", "rendezvous", FAIL, "", HasJob,
            Give([](const RandomCluster& c, JobServer* server) {
              server->set_master_addr(c.spec.servers(1).address());
            })),
      OfJob("job-port-of-hccl", "rendezvous", FAIL, "", HasJob,
            Give([](const RandomCluster& c, JobServer* server) {
              server->set_master_port(c.spec.hccl().base_port());
            })),
      OfJob(
          "job-port-taken", "rendezvous", FAIL, "",
          [](const RandomCluster& c) {
            return HasJob(c) && c.job->servers(0).master_port() != 0 &&
                   c.facts[0].sockets().has_value();
          },
          [](RandomCluster& c, int, int) {
            Patch(absl::StrCat(
                      "sockets { value { sockets { port: ", kMasterPort,
                      " protocol: 'tcp' address: '0.0.0.0' state: 'LISTEN' "
                      "pid: 4713 command: 'exporter' } } }"),
                  &c.facts[0]);
            // The fact stays.
            c.taken.insert({0, -1});
          }),
      OfJob("job-world-size", "ranks", FAIL, "", HasJob,
            Give([](const RandomCluster& c, JobServer* server) {
              server->set_world_size(
                  static_cast<uint32_t>(c.spec.servers_size()) *
                      (Devices(c) + 1) +
                  1);
            })),
      OfJob("job-node-ranks", "ranks", FAIL, "", HasJob,
            Give([](const RandomCluster&, JobServer* server) {
              server->set_node_rank(0);
            })),
      OfJob("job-table-not-taken", "rank-table", FAIL, "", HasJob,
            [](RandomCluster& c, int, int) {
              c.job->set_rank_table(absl::StrReplaceAll(
                  TableOf(c), {{"\"rank_id\":\"0\"", "\"rank_id\":0"}}));
            }),
      Alone(OfJob(
          "job-table-is-old", "rank-table", FAIL, "",
          [](const RandomCluster& c) {
            return IsUntouched(c) && !c.spec.roce_unused() &&
                   ProfileOf(c).generation == NpuToolFacts::CLASSIC;
          },
          [](RandomCluster& c, int, int) {
            const std::string own = absl::StrCat(
                "\"", c.spec.servers(0).devices(0).address(), "\"");
            c.job->set_rank_table(
                absl::StrReplaceAll(TableOf(c), {{own, "\"10.254.9.9\""}}));
          })),
      {"job-lacks-a-package", "", kOfHost, "job-python", FAIL, "",
       [](RandomCluster& c, int host, int) {
         c.job->set_user("ann");
         c.job->set_python("/usr/bin/python3");
         c.job->set_requirements("torch\n");
         for (size_t h = 0; h < c.facts.size(); ++h) {
           PythonFact* const fact = c.facts[h].mutable_python();
           const bool is_first = !fact->has_value();
           fact->mutable_value();
           if (static_cast<int>(h) == host) {
             fact->mutable_value()->clear_packages();
           } else if (is_first) {
             fact->mutable_value()->add_packages()->set_name("torch");
           }
         }
       },
       [](const RandomCluster& c, int, int) { return HasJob(c); }},
      OfJob("job-script-of-nccl", "job-script", WARN, "", HasJob,
            [](RandomCluster& c, int, int) {
              c.job->set_script(
                  "import torch\ndist.init_process_group('nccl')\n");
            }),
      OfJob(
          "job-shares-devices", "device-process-limit", FAIL, "",
          [](const RandomCluster& c) {
            return HasJob(c) && !Has(c, "kernel-backlogs") &&
                   ProfileOf(c).process_limit == ProcessLimit::kOne;
          },
          [](RandomCluster& c, int, int) {
            c.job->set_processes_per_device(2);
            const bool says_size = c.job->servers(0).world_size() > 0;
            for (JobServer& server : *c.job->mutable_servers()) {
              if (says_size) server.set_world_size(2 * server.world_size());
            }
          }),
  };
}

}  // namespace clusterd
