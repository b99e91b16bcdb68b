#include "tests/sim/tool/driver.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd::sim {
namespace {

Driver DriverOf(const TestServer& server, uid_t uid = 0) {
  return Driver(StateFile(server.StatePath()), uid);
}

int StatusOf(const Outcome& outcome) { return outcome ? outcome->status : 0; }

TEST(DriverTest, MapsWhatTheDeviceAnswers) {
  const TestServer server(
      "res.0x5.0=-16;res.0x5.1=0x300b;res.0x5.2=-13;res.0x5.3=-67;"
      "res.0x5.4=0x100;res.0x5.5=-22;rc.0x5.6=46;rc.0x5.7=16");
  const Driver driver = DriverOf(server);
  const int expected[] = {11, 11, 12, 22, 25, 1, 12, 1};
  for (int device = 0; device < 8; ++device) {
    EXPECT_EQ(StatusOf(driver.Ask(Mailbox::kGetGateway, device)),
              expected[device])
        << device;
  }
  EXPECT_EQ(StatusOf(driver.Ask(Mailbox::kGetMtu, 0)), 0);
}

TEST(DriverTest, AnswerWithoutADeviceIsEveryDevices) {
  const TestServer server("res.0xa0=16");
  EXPECT_EQ(StatusOf(DriverOf(server).Ask(Mailbox::kHccsPing, 3)), 31);
}

TEST(DriverTest, NumberOfNoMailboxAnswersForCallsWithoutANumber) {
  const TestServer server("res.0x21.0=-16;rc.0x99.1=46;res.0x5.2=-16");
  const Driver driver = DriverOf(server);
  EXPECT_EQ(StatusOf(driver.AskUnlisted(0)), 11);
  EXPECT_EQ(StatusOf(driver.AskToChange(0)), 11);
  EXPECT_EQ(StatusOf(driver.AskUnlisted(1)), 12);
  EXPECT_EQ(StatusOf(driver.AskUnlisted(2)), 0);
  EXPECT_EQ(StatusOf(driver.Ask(Mailbox::kGetMtu, 0)), 0);
}

TEST(DriverTest, BusyCountsDownOverRunsUnlessAlways) {
  const TestServer server("busy.1=2;busy.2=-1");
  for (const int status : {11, 11, 0}) {
    EXPECT_EQ(StatusOf(DriverOf(server).Begin(1)), status);
  }
  EXPECT_EQ(StatusOf(DriverOf(server).Begin(0)), 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(StatusOf(DriverOf(server).Begin(2)), 11);
  }
}

TEST(DriverTest, HealthTellsGoneFromSilent) {
  const TestServer server("health.0=0xffffffff;health.1=2;rc.health.2=16");
  EXPECT_EQ(StatusOf(DriverOf(server).RequireHealth(0)), 4);
  EXPECT_EQ(StatusOf(DriverOf(server).RequireHealth(1)), 0);
  EXPECT_EQ(StatusOf(DriverOf(server).RequireHealth(2)), 3);
}

TEST(DriverTest, OnlyAPrivilegedUserChangesDevices) {
  const TestServer server("");
  EXPECT_EQ(StatusOf(DriverOf(server, 0).AskToChange(0)), 0);
  EXPECT_EQ(StatusOf(DriverOf(server, 1000).AskToChange(0)), 12);
  const TestServer of_an_ordinary_user("root_uid=1000");
  EXPECT_EQ(StatusOf(DriverOf(of_an_ordinary_user, 1000).AskToChange(0)), 0);
  EXPECT_EQ(StatusOf(DriverOf(of_an_ordinary_user, 1001).AskToChange(0)), 12);
}

TEST(DriverTest, ChangeIsSeenByTheNextRun) {
  const TestServer server("ip.0=10.0.0.1");
  DriverOf(server).Change("ip", 0, "10.0.0.2");
  EXPECT_EQ(DriverOf(server).Value("ip", 0), "10.0.0.2");
  DriverOf(server).Erase("ip", 0);
  EXPECT_EQ(DriverOf(server).Value("ip", 0), std::nullopt);
}

}  // namespace
}  // namespace clusterd::sim
