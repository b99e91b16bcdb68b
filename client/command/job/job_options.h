// The options that name a job, equal in every command that has them:
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
#include "client/command/command.h"
#include "config/words/terminal.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The job in the environment, where a scheduler started us in it or for it:
//   Slurm  SLURM_JOB_ID=1234 SLURM_JOB_NODELIST=node[01-16]
//          SLURM_RESTART_COUNT=1 SLURMD_NODENAME=node03
//   PBS    PBS_JOBID=1234.head PBS_NODEFILE=/var/spool/pbs/aux/1234.head
//   LSF    LSB_JOBID=1234 LSB_MCPU_HOSTS="node01 64 node02 64"
// All text is untrusted: job names and comments are the user's own. The JobSpec
// is equal on each host, before and in the job, so that one verdict answers
// all.

// NotFound: the environment names no job of that scheduler. InvalidArgument,
// naming the variable: its value cannot be read, so the job is unknown.

// Only a job on one host has device ids (SLURM_JOB_GPUS, of a GRES named gpu):
// they are ids of that host. Otherwise all devices that the spec plans are
// meant. `id` is "slurm:1234.1", with the number of restarts.
absl::StatusOr<JobSpec> SlurmJob(const Environment& environment);
// Reads the file that PBS_NODEFILE names.
absl::StatusOr<JobSpec> PbsJob(const Environment& environment);
absl::StatusOr<JobSpec> LsfJob(const Environment& environment);

// The variable by which the job opts out of the check: CLUSTERD_CHECK=off, or
// "clusterd=off" as a word of SLURM_JOB_COMMENT or SLURM_JOB_EXTRA; or "".
std::string OptOut(const Environment& environment);

// Lives as long as the command. Not thread-safe.
class JobOptions {
 public:
  void AddTo(CLI::App& app);
  // Adds --rank-table, for a command that does not write one.
  void AddRankTable(CLI::App& app);
  // Makes Read ignore the job file's table: the command writes a new one.
  void LeaveRankTable() { leaves_table_ = true; }
  // Adds --script, --python, --requirements, for commands that start jobs.
  void AddProgram(CLI::App& app);

  // The first of these options that was given, "--nodes"; empty: none was.
  std::string given() const;

  // Reads files and values. Without --job, --nodes and --rank-table, takes the
  // Slurm job's servers in `environment`. Adds mistakes, also a missing job.
  void Read(const Environment& environment, MistakeList& mistakes);

  // Compares the job with the spec, which names the servers of a rank table.
  // Adds a mistake for every unknown host. Returns the hosts' names in spec
  // order. REQUIRES: Read. May be called again with another spec.
  std::vector<std::string> Resolve(const ClusterSpec& spec,
                                   MistakeList& mistakes);

  // The job so far; complete after Read and Resolve without mistakes.
  const JobSpec& job() const { return job_; }

  // Set by Read: the port of the containers' sshd, by option or file; 0: not
  // given, or the job does not log in.
  uint32_t ssh_port() const { return ssh_port_; }

  // Set by Read: the servers are those of our own Slurm job.
  bool is_own_job() const { return is_own_job_; }

 private:
  void CheckConflicts(MistakeList& mistakes) const;
  void ReadFile(MistakeList& mistakes);
  void ReadNodes(const Environment& environment, MistakeList& mistakes);
  void ReadDevices(MistakeList& mistakes);
  void ReadTable(MistakeList& mistakes);
  // Reads the interpreter and the files that it runs.
  void ReadProgram(const Environment& environment, MistakeList& mistakes);
  // Reads the logins of a launch over ssh, which the check then tries.
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

  std::vector<const CLI::Option*> options_;  // Those that name a job.
  JobSpec job_;
  uint32_t ssh_port_ = 0;
  bool is_own_job_ = false;
  bool leaves_table_ = false;
  bool servers_known_ = false;  // Some are, without mistakes.
};

}  // namespace clusterd

#endif  // CLIENT_COMMAND_JOB_OPTIONS_H_
