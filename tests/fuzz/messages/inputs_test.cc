// Every call has a fuzz target.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/controller/gate/call_roles.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "tests/fuzz/messages/inputs.pb.h"

namespace clusterd {
namespace {

// Adds the types of the message's fields.
void AddTypes(const google::protobuf::Descriptor* message,
              std::set<std::string>* types) {
  for (int i = 0; i < message->field_count(); ++i) {
    types->insert(message->field(i)->message_type()->full_name());
  }
}

TEST(InputsTest, HoldTheRequestOfEveryCall) {
  std::set<std::string> fuzzed;
  AddTypes(UserInput::Call::descriptor(), &fuzzed);
  AddTypes(StrangerInput::Call::descriptor(), &fuzzed);
  AddTypes(HostInput::descriptor(), &fuzzed);
  AddTypes(LocalInput::descriptor(), &fuzzed);
  for (const CallRole& row : AllCallRoles()) {
    const auto* const method =
        google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
            absl::StrCat("clusterd.", row.service, ".", row.method));
    ASSERT_NE(method, nullptr) << row.method;
    const auto* const request = method->input_type();
    // On a host's own socket only requests with fields.
    if (row.caller == Caller::kSocket && request->field_count() == 0) continue;
    EXPECT_EQ(fuzzed.count(request->full_name()), 1u)
        << row.service << "." << row.method << ": " << request->name()
        << " is in no input of tests/fuzz/messages/inputs.proto";
  }
}

// The same for every answer of a host's stream to its controller.
TEST(InputsTest, HoldWhatComesDownAHostsStream) {
  std::set<std::string> fuzzed;
  AddTypes(HubInput::descriptor(), &fuzzed);
  EXPECT_EQ(fuzzed.count("clusterd.HubMessage"), 1u);
}

}  // namespace
}  // namespace clusterd
