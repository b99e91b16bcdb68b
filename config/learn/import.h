// Reads what other tools' files say about a cluster, so that 500 servers need
// not be typed. The content of a file shows its kind:
//   inventory_file of the Ascend Deployer   [hccn]
//     10.10.0.11 ansible_ssh_user="root" deviceip=10.20.0.1,… detectip=…
//     [hccn:vars]
//     gateways="10.20.0.254"
//     netmask="255.255.255.0"
//   HCCL rank table 1.0 and 1.2             {"version":"1.0",…}
//   hosts file                              10.10.0.11 node001 n1
//     and sinfo -h -N -o "%o %N"
//   Slurm's list of nodes                   node[001-500],login
// Sources for the inventory: the Deployer's documentation (hiascend.com,
// mindcluster/730, deployerug/deployer_0025) and its own writer of that file
// (ascend-deployer, tool that turns a table into inventory_file): `deviceip`
// from NPU 0 on, `detectip` as many, several `gateways` by commas of which each
// device has one in its subnet, `set_hostname` of the [worker] and [master]
// rows. Text in, value or every mistake out. slurm.conf itself is refused:
// sinfo prints its nodes, also those of included files.
#ifndef CONFIG_LEARN_IMPORT_H_
#define CONFIG_LEARN_IMPORT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "config/learn/seen_cluster.h"

namespace clusterd {

struct ImportedFile {
  std::string name;  // For messages.
  std::string text;
};

struct ImportOptions {
  std::string cluster;
  std::string product;  // For ChooseProduct.
  std::string netmask;  // Devices' default.
};

// Combines the files: hosts files give names and addresses to the servers of
// the others, and define servers only if there is no other file. A server
// without a name gets its address as name. Notes of the result name the lines
// that might describe a server and were ignored. InvalidArgument with every
// mistake, one per line, as "FILE:LINE:COLUMN: …", or as path into a rank
// table; if no file names a server; or with ChooseProduct's error. Never quotes
// passwords of an inventory.
absl::StatusOr<SeenCluster> ImportCluster(absl::Span<const ImportedFile> files,
                                          const ImportOptions& options);

// The IPv4 addresses in a hosts file, by every name in their lines; for a
// repeated name the first one, as a resolver does. Ignores IPv6, loopback and
// other addresses that no server can have. InvalidArgument as ImportCluster.
absl::StatusOr<std::map<std::string, Ipv4Address>> ParseHostsFile(
    const ImportedFile& file);

}  // namespace clusterd

#endif  // CONFIG_LEARN_IMPORT_H_
