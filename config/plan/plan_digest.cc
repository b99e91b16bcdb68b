#include "config/plan/plan_digest.h"

#include <openssl/sha.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;

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

std::string Sha256Hex(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         digest);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

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
  if (plan.schema_version() != kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("plan: schema version ", plan.schema_version(),
                     ", expected ", kSchemaVersion, "; plan again"));
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
