// Reads what other tools' files say about a cluster, so that 500 servers need
// not be typed. The content of a file shows its kind:
//   inventory_file of the Ascend Deployer   [hccn]
//     10.10.0.11 ansible_ssh_user="root" deviceip=10.20.0.1,… detectip=…
//     [hccn:vars]
//     gateways="10.20.0.254"
//     netmask="255.255.255.0"
//   HCCL rank table 1.0 and 1.2             {"version":"1.0",…}
//   slurm.conf                              NodeName=node[001-500] NodeAddr=…
//     and what it includes                  Include nodes.conf
//   hosts file                              10.10.0.11 node001 n1
//   Slurm's list of nodes                   node[001-500],login
// Sources for the inventory: the Deployer's documentation (hiascend.com,
// mindcluster/730, deployerug/deployer_0025) and its own writer of that file
// (ascend-deployer, tool that turns a table into inventory_file): `deviceip`
// from NPU 0 on, `detectip` as many, several `gateways` by commas of which each
// device has one in its subnet, `set_hostname` of the [worker] and [master]
// rows. Source for slurm.conf: its manual page. Text in, value or every mistake
// out.
#ifndef CONFIG_LEARN_IMPORT_H_
#define CONFIG_LEARN_IMPORT_H_

#include <functional>
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
  // The text of a file that slurm.conf includes, by its path; a failure's
  // message begins with the path. Empty: an Include is a mistake.
  std::function<absl::StatusOr<std::string>(const std::string& path)> read_file;
};

// Combines the files: hosts files give names and addresses to the servers of
// the others, and define servers only if there is no other file. A server
// without a name gets its address as name. Notes of the result name the lines
// that might describe a server and were ignored. Includes are followed as in
// Slurm: relative to the folder of slurm.conf. InvalidArgument with every
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
