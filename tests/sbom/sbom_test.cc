#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/e2e/process.h"

namespace clusterd {
namespace {

using Fields = google::protobuf::Map<std::string, google::protobuf::Value>;
using ::testing::AnyOf;
using ::testing::IsSupersetOf;

std::string TextOf(const google::protobuf::Value& object,
                   const std::string& name) {
  const Fields& fields = object.struct_value().fields();
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second.string_value();
}

// Made once: it asks dpkg for each package.
const google::protobuf::Struct& Document() {
  static const auto* const document = [] {
    auto* made = new google::protobuf::Struct();
    const ProcessResult run = RunProgram({Runfile("deploy/sbom")});
    EXPECT_EQ(run.exit_status, 0) << run.standard_error;
    const auto parsed =
        google::protobuf::util::JsonStringToMessage(run.standard_output, made);
    EXPECT_TRUE(parsed.ok()) << parsed.ToString();
    return made;
  }();
  return *document;
}

const google::protobuf::ListValue& ListOf(const std::string& name) {
  return Document().fields().at(name).list_value();
}

TEST(SbomTest, IsAnSpdxDocumentOfThisVersion) {
  const auto& fields = Document().fields();
  EXPECT_EQ(fields.at("spdxVersion").string_value(), "SPDX-2.3");
  EXPECT_EQ(fields.at("dataLicense").string_value(), "CC0-1.0");
  EXPECT_EQ(fields.at("SPDXID").string_value(), "SPDXRef-DOCUMENT");
  EXPECT_EQ(fields.at("name").string_value(),
            absl::StrCat("clusterd-", kClusterdVersion));
}

TEST(SbomTest, NamesWhatIsLinkedWithTheVersionThatDpkgKnows) {
  std::set<std::string> names;
  for (const auto& package : ListOf("packages").values()) {
    names.insert(TextOf(package, "name"));
    const std::string file = TextOf(package, "packageFileName");
    if (file.empty()) continue;  // A program of ours.
    const ProcessResult known =
        RunProgram({"/usr/bin/dpkg-query", "-W", "-f", "${Version}\n", file});
    EXPECT_EQ(absl::StripSuffix(known.standard_output, "\n"),
              TextOf(package, "versionInfo"))
        << file;
  }
  EXPECT_THAT(names, IsSupersetOf({"clusterd", "clusterd-controller",
                                   "clusterctl", "grpc", "protobuf", "abseil",
                                   "openssl", "sqlite3", "yaml-cpp", "zlib",
                                   "re2", "c-ares", "cli11", "glibc"}));
  EXPECT_EQ(names.count("googletest"), 0u);
}

// Licences without an SPDX name, or unreadable to a machine, are not guessed.
TEST(SbomTest, InventsNoLicence) {
  std::map<std::string, std::string> licences;
  for (const auto& package : ListOf("packages").values()) {
    const std::string licence = TextOf(package, "licenseDeclared");
    licences[TextOf(package, "name")] = licence;
    EXPECT_THAT(licence, AnyOf("Apache-2.0", "BSD-3-Clause", "MIT", "X11",
                               "Zlib", "NOASSERTION"));
  }
  EXPECT_EQ(licences["grpc"], "Apache-2.0");
  EXPECT_EQ(licences["zlib"], "Zlib");
  EXPECT_EQ(licences["sqlite3"], "NOASSERTION");
  EXPECT_EQ(licences["c-ares"], "NOASSERTION");
}

TEST(SbomTest, SaysOfEachProgramWhatIsLinkedIntoIt) {
  std::set<std::string> ids = {"SPDXRef-DOCUMENT"};
  for (const auto& package : ListOf("packages").values()) {
    EXPECT_TRUE(ids.insert(TextOf(package, "SPDXID")).second);
  }
  std::map<std::string, int> linked;
  for (const auto& relation : ListOf("relationships").values()) {
    EXPECT_EQ(ids.count(TextOf(relation, "relatedSpdxElement")), 1u);
    EXPECT_EQ(ids.count(TextOf(relation, "spdxElementId")), 1u);
    if (TextOf(relation, "relationshipType") == "STATIC_LINK") {
      ++linked[TextOf(relation, "spdxElementId")];
    }
  }
  ASSERT_EQ(linked.size(), 3u);
  for (const auto& [program, count] : linked) {
    EXPECT_GE(count, 10) << program;
  }
}

}  // namespace
}  // namespace clusterd
