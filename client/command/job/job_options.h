// The options that say which job a command is about, the same in every command
// that has them:
//   --job FILE
//   --nodes node[01-16] --devices 8 --product atlas-a2 --dtype bfp16
//   --method torchrun --job-id slurm:1234.0
//   --rank-table hccl.json       the job that the table describes; beside the
//                                others, the table that it is started with
// Use: AddTo before the line is parsed, Read after, Resolve with the spec.
#ifndef CLIENT_COMMAND_JOB_OPTIONS_H_
#define CLIENT_COMMAND_JOB_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/command/command.h"
#include "config/words/terminal.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The job that a scheduler started us in, or for, as its environment says it:
//   Slurm  SLURM_JOB_ID=1234 SLURM_JOB_NODELIST=node[01-16]
//          SLURM_RESTART_COUNT=1 SLURMD_NODENAME=node03
//   PBS    PBS_JOBID=1234.head PBS_NODEFILE=/var/spool/pbs/aux/1234.head
//   LSF    LSB_JOBID=1234 LSB_MCPU_HOSTS="node01 64 node02 64"
// All of it is text of strangers: job names and comments are the user's own.
// The same job is told in the same words on each of its hosts, before it starts
// and in it, so that one verdict answers them all.

// NotFound: the environment names no job of that scheduler. InvalidArgument,
// naming the variable: what it says cannot be read, and the job is not known.

// Which devices it has is told for a job on one host alone (SLURM_JOB_GPUS, of
// a GRES named gpu): the ids are those of this host, and no other's. Else all
// that the spec plans are meant. `id` is "slurm:1234.1", the number of restarts
// behind.
absl::StatusOr<JobSpec> SlurmJob(const Environment& environment);
// Reads the file that PBS_NODEFILE names.
absl::StatusOr<JobSpec> PbsJob(const Environment& environment);
absl::StatusOr<JobSpec> LsfJob(const Environment& environment);

// Where the job asks not to be checked: "CLUSTERD_CHECK=off", or
// "clusterd=off" as a word of SLURM_JOB_COMMENT or SLURM_JOB_EXTRA, with the
// name of the variable; empty: it does not ask.
std::string OptOut(const Environment& environment);

// Lives as long as the command. Not thread-safe.
class JobOptions {
 public:
  void AddTo(CLI::App& app);
  // --rank-table, for a command that does not itself write one.
  void AddRankTable(CLI::App& app);
  // Read then leaves that of the job file alone: the command writes a new one.
  void LeaveRankTable() { leaves_table_ = true; }
  // --script, --python and --requirements, for a command that starts the job.
  void AddProgram(CLI::App& app);

  // The name of one that was given, "--nodes"; empty: none was.
  absl::string_view given() const;

  // Reads files and values. Without --job, --nodes and --rank-table the servers
  // are those of the Slurm job that `environment` describes. Adds every
  // mistake, also that there is no job.
  void Read(const Environment& environment, MistakeList& mistakes);

  // Holds the job against the spec: servers of a rank table get the names that
  // the spec gives them. Adds a mistake for every host that it does not have.
  // The hosts by their names, in the order of the spec. REQUIRES: Read. May be
  // called again with a newer spec.
  std::vector<std::string> Resolve(const ClusterSpec& spec,
                                   MistakeList& mistakes);

  // As far as Read and Resolve have come; without mistakes the whole job.
  const JobSpec& job() const { return job_; }

  // Set by Read: where the containers' sshd answers, by option or file; 0: not
  // said, or the job does not log in.
  uint32_t ssh_port() const { return ssh_port_; }

  // Set by Read: the servers are those of the Slurm job that we run in.
  bool is_own_job() const { return is_own_job_; }

 private:
  void CheckConflicts(MistakeList& mistakes) const;
  void ReadFile(MistakeList& mistakes);
  void ReadNodes(const Environment& environment, MistakeList& mistakes);
  void ReadDevices(MistakeList& mistakes);
  void ReadTable(MistakeList& mistakes);
  // The interpreter and the files that it is given.
  void ReadProgram(const Environment& environment, MistakeList& mistakes);
  // How a launch over ssh logs in, which the check then tries.
  void ReadLogins(const Environment& environment, MistakeList& mistakes);
  void TakeServersOfTable(const ClusterSpec& spec, MistakeList& mistakes);

  std::string file_;
  std::string nodes_;
  std::string devices_;
  std::string product_;
  std::vector<std::string> dtypes_;
  std::string method_;
  std::string framework_;
  std::string ssh_user_;
  std::string ssh_port_text_;
  std::string id_;
  std::string table_file_;
  std::string script_;
  std::string python_;
  std::string requirements_;

  JobSpec job_;
  uint32_t ssh_port_ = 0;
  bool is_own_job_ = false;
  bool leaves_table_ = false;
  bool servers_known_ = false;  // Some are, and without a mistake.
};

}  // namespace clusterd

#endif  // CLIENT_COMMAND_JOB_OPTIONS_H_
