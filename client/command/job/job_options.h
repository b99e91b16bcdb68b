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
#include "absl/strings/string_view.h"
#include "client/command/command.h"
#include "config/words/terminal.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Lives as long as the command. Not thread-safe.
class JobOptions {
 public:
  void AddTo(CLI::App& app);
  // --rank-table, for a command that does not itself write one.
  void AddRankTable(CLI::App& app);

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
  // The files that the job's interpreter is given.
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

  JobSpec job_;
  uint32_t ssh_port_ = 0;
  bool is_own_job_ = false;
  bool servers_known_ = false;  // Some are, and without a mistake.
};

// Reads a requirements.txt or a script, at most 256 KiB. The codes of
// ReadTextFile.
absl::Status ReadJobText(const std::string& path, std::string* text);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_JOB_OPTIONS_H_
