// The job that a scheduler started us in, or for, as its environment says it:
//   Slurm  SLURM_JOB_ID=1234 SLURM_JOB_NODELIST=node[01-16]
//          SLURM_RESTART_COUNT=1 SLURMD_NODENAME=node03
//   PBS    PBS_JOBID=1234.head PBS_NODEFILE=/var/spool/pbs/aux/1234.head
//   LSF    LSB_JOBID=1234 LSB_MCPU_HOSTS="node01 64 node02 64"
// All of it is text of strangers: job names and comments are the user's own.
// The same job is told in the same words on each of its hosts, before it starts
// and in it, so that one verdict answers them all.
#ifndef CLIENT_COMMAND_SCHEDULER_JOB_H_
#define CLIENT_COMMAND_SCHEDULER_JOB_H_

#include <string>

#include "absl/status/statusor.h"
#include "config/words/terminal.h"
#include "proto/job.pb.h"

namespace clusterd {

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

}  // namespace clusterd

#endif  // CLIENT_COMMAND_SCHEDULER_JOB_H_
