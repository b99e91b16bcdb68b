#include "config/launch/launch_text.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;

std::string Quoted(absl::string_view text) {
  static const LazyRE2 kPlain = {"[A-Za-z0-9_./:,=@%+-]+"};
  return HasForm(text, *kPlain) ? std::string(text) : ShellQuoted(text);
}

std::string ShellWord(const LaunchWord& word) {
  return word.shell.empty() ? Quoted(word.value) : word.shell;
}

std::string Assignment(const LaunchVariable& variable) {
  return absl::StrCat(
      variable.exported ? "export " : "", variable.name, "=",
      variable.formula.empty() ? Quoted(variable.value) : variable.formula,
      "\n");
}

// Puts an option on each line, as the vendor's example does.
std::string Gathered(const NodeLaunch& node) {
  std::string text = absl::StrCat(node.gathered_name, "=\"");
  for (size_t i = 1; i <= node.gathered; ++i) {
    const std::string word = ShellWord(node.command[i]);
    const bool begins_line = i > 1 && absl::StartsWith(word, "--");
    absl::StrAppend(&text, begins_line ? " \\\n " : " ", word);
  }
  return text + " \"\n";
}

std::string CommandLine(const NodeLaunch& node) {
  std::vector<std::string> words;
  for (size_t i = 0; i < node.command.size(); ++i) {
    if (i == 1 && node.gathered > 0) {
      words.push_back(absl::StrCat("$", node.gathered_name));
      i += node.gathered;
    }
    words.push_back(ShellWord(node.command[i]));
  }
  return absl::StrJoin(words, " ");
}

// Starts a process per device, and fails if any of them failed.
std::string Loop(const NodeLaunch& node) {
  std::string ranks;
  for (uint32_t i = 0; i < node.processes; ++i) absl::StrAppend(&ranks, " ", i);
  return absl::StrCat(
      "processes='' failed=0\nfor LOCAL_RANK in", ranks,
      "; do\n  export LOCAL_RANK "
      "RANK=$(($NODE_RANK*$NPUS_PER_NODE+$LOCAL_RANK))\n  ",
      CommandLine(node),
      " &\n  processes=\"$processes $!\"\ndone\nfor process in $processes; "
      "do\n  wait \"$process\" || failed=1\ndone\n[ \"$failed\" = 0 ]\n");
}

std::string ShellText(const Launch& launch, const NodeLaunch& node) {
  std::string text = absl::StrCat("#!/bin/bash\n# ", launch.method, ", node ",
                                  node.node_rank, ": ", node.host, "\n");
  for (const std::string& line : node.remarks) {
    absl::StrAppend(&text, "# ", SafeText(line, /*utf8=*/true), "\n");
  }
  for (const LaunchVariable& variable : node.variables) {
    text += Assignment(variable);
  }
  for (const std::string& file : node.sources) {
    const std::string word = Quoted(file);
    absl::StrAppend(&text, "[ -f ", word, " ] && . ", word, "\n");
  }
  for (const SearchFolder& folder : node.folders) {
    absl::StrAppend(&text, "[ -d ", folder.folder, " ] && export ", folder.name,
                    "=", folder.folder, ":$", folder.name, "\n");
  }
  for (const LaunchVariable& variable : node.hccl_variables) {
    text += Assignment(variable);
  }
  if (node.command.empty()) return text;
  if (node.gathered > 0) text += Gathered(node);
  return text + (node.processes > 0 ? Loop(node) : CommandLine(node) + "\n");
}

std::vector<LaunchVariable> AllVariables(const NodeLaunch& node) {
  std::vector<LaunchVariable> all = node.variables;
  all.insert(all.end(), node.hccl_variables.begin(), node.hccl_variables.end());
  return all;
}

template <typename Texts>
void SetTexts(const Texts& texts, ListValue* list) {
  for (const auto& text : texts) list->add_values()->set_string_value(text);
}

void SetNode(const NodeLaunch& node, Struct* json) {
  auto& fields = *json->mutable_fields();
  fields["host"].set_string_value(node.host);
  fields["node_rank"].set_number_value(node.node_rank);
  auto& environment =
      *fields["environment"].mutable_struct_value()->mutable_fields();
  for (const LaunchVariable& variable : AllVariables(node)) {
    environment[variable.name].set_string_value(variable.value);
  }
  SetTexts(node.sources, fields["source"].mutable_list_value());
  ListValue* const command = fields["command"].mutable_list_value();
  for (const LaunchWord& word : node.command) {
    command->add_values()->set_string_value(word.value);
  }
  fields["processes"].set_number_value(
      node.command.empty() ? 0 : std::max(1u, node.processes));
  SetTexts(node.remarks, fields["remarks"].mutable_list_value());
}

}  // namespace

std::vector<absl::string_view> LaunchForms() {
  return {"shell", "dotenv", "json", "slurm-task-prolog"};
}

std::string NodeText(const Launch& launch, const NodeLaunch& node,
                     LaunchForm form) {
  if (form == LaunchForm::kShell) return ShellText(launch, node);
  std::string text;
  for (const LaunchVariable& variable : AllVariables(node)) {
    // A task prolog's reader and docker keep quotes.
    absl::StrAppend(&text, form == LaunchForm::kDotenv ? "" : "export ",
                    variable.name, "=", variable.value, "\n");
  }
  return text;
}

google::protobuf::Struct LaunchDocument(const Launch& launch) {
  Struct json;
  auto& fields = *json.mutable_fields();
  fields["schema_version"].set_number_value(1);
  fields["method"].set_string_value(launch.method);
  ListValue* const nodes = fields["nodes"].mutable_list_value();
  for (const NodeLaunch& node : launch.nodes) {
    SetNode(node, nodes->add_values()->mutable_struct_value());
  }
  ListValue* const notes = fields["notes"].mutable_list_value();
  for (const FindingValue& note : launch.notes) {
    notes->add_values()->set_string_value(EnglishText(note));
  }
  return json;
}

}  // namespace clusterd
