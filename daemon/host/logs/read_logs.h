// Reads a job's logs as the users who wrote them, and finds the codes in them.
//
// `find` and `tail` run as the user (RunAs), so that a link, wherever it leads,
// and whoever moves it meanwhile, shows no more than the user may read anyway;
// of what is no regular file nothing is opened. Root's own folder is read only
// while nobody but root can change anything on the way to it or in it.
//
// Bounds: folders and users (log_folders.h), 200 files, the newest first, each
// by its last 8 MiB, 64 MiB of one host or what the query says if that is less,
// 512 KiB that are sent, 200 hits, and the time of `host.budget`.
#ifndef DAEMON_HOST_LOGS_READ_LOGS_H_
#define DAEMON_HOST_LOGS_READ_LOGS_H_

#include <cstdint>

#include "daemon/host/files/file_reader.h"
#include "proto/logs.pb.h"

namespace clusterd {

inline constexpr size_t kMaxLogFiles = 200;
inline constexpr size_t kMaxLogHits = 200;
inline constexpr uint64_t kMaxLogBytesPerFile = 8u << 20;
inline constexpr uint64_t kMaxLogBytesRead = 64u << 20;
// With paths, hits and notes under the 1 MiB that a controller takes.
inline constexpr uint64_t kMaxLogBytesSent = 512u << 10;

// What was left out for a bound, or could not be read, is in `notes` and in
// LogFile.cut; `missing` is set where nothing could be had. That there are no
// logs is an answer without files. All texts are UTF-8
// and may hold control characters.
HostLogs ReadHostLogs(const HostAccess& host, const LogsQuery& query);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGS_READ_LOGS_H_
