// What a job's launch on this machine meets beside its devices: interfaces and
// their addresses, what the machine's own name resolves to, variables of jobs
// that every login gets, Docker, whether this is a container, and how many
// files what starts jobs may open.
#ifndef DAEMON_HOST_LAUNCH_OBSERVER_H_
#define DAEMON_HOST_LAUNCH_OBSERVER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Interfaces with their IPv4 addresses in order of index, from
// `ip -o -4 address show` (iproute2 6.1):
//   2: eth0    inet 10.77.0.4/16 brd 10.77.255.255 scope global eth0\ …
// `up` is not set. InvalidArgument, quoting the line, for text of another form.
absl::StatusOr<InterfacesFact::Interfaces> ParseInterfaces(
    absl::string_view text);

// Each address once, from `getent ahostsv4 NAME` (glibc 2.36):
//   10.77.0.4       STREAM node07
// InvalidArgument, quoting the line, for text of another form.
absl::StatusOr<AddressesFact::Addresses> ParseResolved(absl::string_view text);

// Soft and hard limit of open files from /proc/PID/limits (Linux,
// fs/proc/base.c):
//   Limit                     Soft Limit           Hard Limit           Units
//   Max open files            1024                 524288               files
// "unlimited" is the largest number. InvalidArgument for text without that
// line.
absl::StatusOr<OpenFilesLimit> ParseOpenFilesLimit(absl::string_view limits);

// Whether this machine is a container, by the files that Docker, Podman,
// systemd and Kubernetes leave in theirs. The codes of FileReader::CheckExists
// but NotFound.
absl::StatusOr<bool> IsContainer(const FileReader& files);

// Fills interfaces, own_name, docker_running, environment, in_container,
// open_files, directories and peer_names: of the peers that the request names,
// until one is not looked up within 2 s.
// Names are resolved by getent, within the budget: a server that does not
// answer costs a command's deadline and no more. Docker's daemon is looked up
// by its pid file; containers by the files that Docker, Podman and systemd
// leave in theirs. Programs that start jobs are those of root that process 1
// started. sshd is left out where a file of pam_limits(8) names open files:
// what a login gets then depends on its user.
void ObserveLaunch(const HostAccess& host, const ObserveRequest& request,
                   HostFacts* facts);

// Which packages a job's Python interpreter would find on this host:
//   /home/ann/venv/pyvenv.cfg                                  where it looks
//   …/lib/python3.10/site-packages/torch-2.1.0.dist-info/METADATA
//     Metadata-Version: 2.1
//     Name: torch
//     Version: 2.1.0+cpu
// Files alone are read, by `readlink`, `find` and `grep` that run as the job's
// user; nothing of Python is run. Folders that .pth files name by absolute
// paths are read, too. Of the packages that are asked for. Missing: ABSENT
// where the interpreter is not a file that the user may execute, NOT_PERMITTED
// where the user may not read a folder or metadata, NOT_QUERIED where the host
// lacks the user or a program, UNREADABLE where the interpreter's version
// cannot be told from its name and pyvenv.cfg, where no folder has a package,
// or where there is more than 1 MiB.
PythonFact ReadPython(const HostAccess& host, const PythonQuestion& question);

}  // namespace clusterd

#endif  // DAEMON_HOST_LAUNCH_OBSERVER_H_
