#include "daemon/process/grpc_log.h"

#include "daemon/log/recording_log.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(SendGrpcLogToTest, ForwardsErrorsThatAreNewsAsWarnings) {
  RecordingLog log;
  SendGrpcLogTo(&log);
  gpr_log(GPR_ERROR, "handshake failed: %d", 7);
  gpr_log(GPR_ERROR, "No match found for server name: 10.0.0.1.");
  gpr_log(GPR_INFO, "not worth a line");
  SendGrpcLogTo(nullptr);
  gpr_log(GPR_ERROR, "nobody listens");
  EXPECT_EQ(log.Lines(), "<4>gRPC: handshake failed: 7\n");
}

}  // namespace
}  // namespace clusterd
