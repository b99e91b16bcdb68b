#include "config/identity/grpc_status.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(GrpcStatusTest, KeepsCodeAndMessageBothWaysAndMakesForeignCodesUnknown) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "why");
    EXPECT_EQ(ToAbslStatus(ToGrpcStatus(status)), status);
  }
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(ToAbslStatus(grpc::Status::OK).ok());
  EXPECT_EQ(
      ToAbslStatus(grpc::Status(grpc::StatusCode::DO_NOT_USE, "x")).code(),
      absl::StatusCode::kUnknown);
}

}  // namespace
}  // namespace clusterd
