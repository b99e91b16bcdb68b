#include "config/words/subject_text.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using Subjects = google::protobuf::RepeatedPtrField<Subject>;

void Add(Subjects& subjects, const std::string& host,
         const std::vector<uint32_t>& devices) {
  Subject& subject = *subjects.Add();
  subject.set_host(host);
  subject.mutable_devices()->Add(devices.begin(), devices.end());
}

TEST(DevicesTextTest, FoldsRunsAndForgetsRepeats) {
  EXPECT_EQ(DevicesText({}), "");
  EXPECT_EQ(DevicesText({3}), "device 3");
  EXPECT_EQ(DevicesText({3, 3}), "device 3");
  EXPECT_EQ(DevicesText({5, 0, 2, 1, 3}), "devices 0-3,5");
}

TEST(HostsTextTest, CountsTheHostsThatDoNotFit) {
  EXPECT_EQ(HostsText({"node1", "node2"}, 40), "node[1-2]");
  const std::vector<std::string> odd = {"anna", "berta", "carla", "dora"};
  const std::string text = HostsText(odd, 12);
  EXPECT_EQ(text, "anna,berta and 2 more hosts");
  // Stays short for thousands of names that do not fold.
  std::vector<std::string> hosts;
  for (int i = 0; i < 10'000; ++i) {
    hosts.push_back(
        absl::StrCat("n", i * 7919 % 100'000, i % 2 == 0 ? "a" : "b"));
  }
  EXPECT_LE(TextColumns(HostsText(hosts, 100)), 130);
}

TEST(SubjectsTextTest, JoinsDevicesOfAHostAndFoldsHostsOfTheSameDevices) {
  using Hosts = std::vector<std::pair<std::string, std::vector<uint32_t>>>;
  const std::pair<Hosts, const char*> kCases[] = {
      {{{"server1", {3}}, {"server1", {4}}}, "server1 devices 3-4"},
      {{{"server0", {3}}, {"server1", {3}}, {"server2", {}}},
       "server[0-1] device 3; server2"},
      // No host is the cluster.
      {{}, "cluster"},
      {{{"", {}}}, "cluster"},
      {{{"", {}}, {"server0", {}}}, "cluster; server0"}};
  for (const auto& [hosts, text] : kCases) {
    Subjects subjects;
    for (const auto& [host, devices] : hosts) Add(subjects, host, devices);
    EXPECT_EQ(SubjectsText(subjects, 4, 60), text);
  }
}

TEST(SubjectsTextTest, CountsHiddenHosts) {
  Subjects subjects;
  for (uint32_t i = 0; i < 6; ++i) Add(subjects, absl::StrCat("s", i), {i});
  EXPECT_EQ(SubjectsText(subjects, 2, 60),
            "s0 device 0; s1 device 1; and 4 more hosts");
}

TEST(ActorNameTest, IsTheShortNameOfAnIdAndWhatOlderVersionsKept) {
  EXPECT_EQ(ActorName("spiffe://demo/user/ann"), "ann");
  EXPECT_EQ(ActorName("spiffe://demo/user/ann/role/admin"), "ann");
  EXPECT_EQ(ActorName("spiffe://demo/host/node07"), "host node07");
  EXPECT_EQ(ActorName(ControllerActor("demo")), "clusterd-controller");
  for (const char* other : {"", "ann", "host node07", "spiffe://", "spiffe://a",
                            "spiffe://demo/printer", "spiffe://demo/a/b"}) {
    EXPECT_EQ(ActorName(other), other);
  }
  // Takes no user of that name for the controller.
  EXPECT_TRUE(IsController(ControllerActor("demo")));
  EXPECT_TRUE(IsController("clusterd-controller"));
  for (const char* other : {"spiffe://demo/user/clusterd-controller",
                            "spiffe://demo/host/clusterd-controller", "ann"}) {
    EXPECT_FALSE(IsController(other)) << other;
  }
}

TEST(HostNetworkNoteTest, NamesWhatSharesTheNetworkAndWhere) {
  EXPECT_EQ(
      ValueText(HostNetworkNote("container:train-1", {"node01", "node02"})),
      Say("shared-container", "train-1", "node[01-02]"));
  EXPECT_EQ(ValueText(HostNetworkNote("pid:4711", {"node01"})),
            Say("shared-process", 4711, "node01"));
  EXPECT_EQ(ValueText(HostNetworkNote("path:/run/netns/x", {"node01"})),
            Say("shared-namespace", "/run/netns/x", "node01"));
}

TEST(FirstSeenTest, KeepsTheOrderAndOneValuePerKey) {
  FirstSeen<std::string, int> counts;
  for (const char* word : {"b", "a", "b"}) ++counts[word];
  std::string text;
  for (const auto& [word, count] : counts) {
    text += word + std::to_string(count);
  }
  EXPECT_EQ(text, "b2a1");
  EXPECT_EQ(counts.size(), 2u);
}

}  // namespace
}  // namespace clusterd
