# Hook of PBS for execjob_begin: runs as root on each host of a job before the
# job starts there, and asks the host's own clusterd. A refusal puts the job back
# into its queue. PBS runs it in its own Python, which has the module `pbs`.
import subprocess

import pbs

CLUSTERCTL = "/usr/bin/clusterctl"
# Longer than the hook's own wait of 20 s, shorter than the hook's alarm of 30 s.
TIMEOUT_S = 25


def hosts_of(job):
    """The hosts of exec_host, "node01/0*8+node02/0*8", a line each."""
    chunks = str(job.exec_host).split("+")
    return "\n".join(chunk.split("/")[0] for chunk in chunks)


def refusal(job):
    """The reason in one line, or None where the job may start."""
    # The file of PBS_NODEFILE is on the first host only; all hosts get the
    # same job in the same order, so that one verdict answers them all.
    environment = {"PBS_JOBID": str(job.id), "PBS_NODEFILE": "/dev/stdin"}
    off = job.Variable_List.get("CLUSTERD_CHECK") if job.Variable_List else None
    if off == "off":
        environment["CLUSTERD_CHECK"] = "off"
    try:
        asked = subprocess.run(
            [CLUSTERCTL, "hook", "pbs"],
            env=environment,
            input=hosts_of(job).encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        # Our own trouble stops no job.
        pbs.logmsg(pbs.LOG_WARNING, "clusterctl hook pbs: %s" % error)
        return None
    lines = asked.stderr.decode("utf-8", "replace").splitlines()
    for line in lines:
        pbs.logmsg(pbs.LOG_WARNING, line)
    if asked.returncode != 1:
        return None
    return lines[-1] if lines else "clusterd: refused"


event = pbs.event()
reason = refusal(event.job)
if reason is None:
    event.accept()
else:
    event.job.rerun()
    event.reject(reason)
