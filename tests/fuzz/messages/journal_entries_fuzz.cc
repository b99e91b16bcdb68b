// Any journal: resources that it does not license stay as they are, and only
// programs of an apply run.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "daemon/agent/apply/journal.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

constexpr char kJournal[] = "/var/lib/clusterd/apply/a1.journal";
constexpr const char* kPrograms[] = {"hccn_tool", "ufw", "firewall-cmd",
                                     "systemctl"};
// A journal may put these back.
const std::vector<std::string> kChanged = {
    "/etc/hccn.conf", "/etc/sysctl.d/90-clusterd.conf", "/etc/ufw/",
    "/etc/firewalld/zones/", "/var/lib/clusterd/"};

void CheckCommands(const FakeMachine& machine) {
  for (const std::string& command : machine.commands()) {
    const std::string program = command.substr(0, command.find(' '));
    bool is_known = false;
    for (const char* known : kPrograms) {
      is_known = is_known || absl::EndsWith(program, known);
    }
    Require(is_known);
  }
}

FUZZ_MESSAGE(journal_entries, 2, JournalInput,
             "tests/testdata/messages/journal-*.txtpb") {
  const auto scenario = OpenUfwScenario();
  FakeFileSystem& files = scenario->machine.files();
  files.Put("/etc/shadow", "secret");
  const auto before = files.Snapshot(kChanged);
  files.PutFolder("/var/lib/clusterd/apply");
  {
    const auto journal = Journal::Create(&files, kJournal);
    Require(journal.ok());
    for (const JournalEntry& entry : input.entries()) {
      Require((*journal)->Append(entry).ok());
    }
  }
  const auto recovered = scenario->MakeApplier()->Recover();
  Require(recovered.ok() || !recovered.status().message().empty());
  RollbackRequest request;
  request.apply_id = "a1";
  request.force = true;
  scenario->MakeApplier()->Rollback(request).status().IgnoreError();
  Require(files.Snapshot(kChanged) == before);
  CheckCommands(scenario->machine);
}

}  // namespace
}  // namespace clusterd
