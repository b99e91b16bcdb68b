#include "config/plan/plan_digest.h"

#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace clusterd {
namespace {

std::string Serialized(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace

std::string SpecSha256(const ClusterSpec& spec) {
  return Sha256Hex(Serialized(spec));
}

std::string PlanDigest(const ClusterPlan& plan) {
  ClusterPlan content = plan;
  content.clear_digest();
  content.clear_plan_id();
  content.clear_created_at_ms();
  content.clear_created_by();
  content.clear_not_kept();
  return Sha256Hex(absl::StrCat("clusterd plan\n", Serialized(content)));
}

absl::Status VerifyPlan(const ClusterPlan& plan) {
  if (plan.schema_version() != kPlanSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("plan: schema version ", plan.schema_version(),
                     ", expected ", kPlanSchemaVersion, "; plan again"));
  }
  if (PlanDigest(plan) != plan.digest()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: digest \"", plan.digest().substr(0, 64),
                     "\" is not that of its content; the file was damaged or "
                     "edited: plan again"));
  }
  return absl::OkStatus();
}

}  // namespace clusterd
