// Which packages a job's Python interpreter would find on this host:
//   /home/ann/venv/pyvenv.cfg                                  where it looks
//   …/lib/python3.10/site-packages/torch-2.1.0.dist-info/METADATA
//     Metadata-Version: 2.1
//     Name: torch
//     Version: 2.1.0+cpu
// Files alone are read, by `readlink`, `find` and `grep` that run as the job's
// user; nothing of Python is run. Folders that .pth files name by absolute
// paths are read, too.
#ifndef DAEMON_HOST_PYTHON_OBSERVER_H_
#define DAEMON_HOST_PYTHON_OBSERVER_H_

#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The packages that are asked for. Missing: ABSENT where the interpreter is not
// a file that the user may execute, NOT_PERMITTED where the user may not read a
// folder or metadata, NOT_QUERIED where the host lacks the user or a program,
// UNREADABLE where the interpreter's version cannot be told from its name and
// pyvenv.cfg, where no folder has a package, or where there is more than 1 MiB.
PythonFact ReadPython(const HostAccess& host, const PythonQuestion& question);

}  // namespace clusterd

#endif  // DAEMON_HOST_PYTHON_OBSERVER_H_
