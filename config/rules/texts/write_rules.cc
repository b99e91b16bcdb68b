// Writes the build's outputs from the rows of all rules to stdout:
//   write_rules rule|word|code|page|messages|codes FILE...
#include <fstream>
#include <iostream>
#include <iterator>

#include "config/rules/texts/rule_rows.h"

int main(int argc, char** argv) {
  std::vector<clusterd::RowFile> files;
  for (int i = 2; i < argc; ++i) {
    std::ifstream file(argv[i]);
    files.push_back({argv[i], std::string(std::istreambuf_iterator<char>(file),
                                          std::istreambuf_iterator<char>())});
  }
  const auto categories = clusterd::ReadRuleRows(files);
  if (!categories.ok()) {
    std::cerr << categories.status().message() << "\n";
    return 1;
  }
  const std::string what = argc > 1 ? argv[1] : "";
  std::cout << (what == "page"       ? clusterd::RulePage(*categories)
                : what == "messages" ? clusterd::MessagePage(*categories)
                : what == "codes"    ? clusterd::CodePage(*categories)
                : what == "word"     ? clusterd::WordTable(*categories)
                : what == "code"     ? clusterd::CodeTable(*categories)
                                     : clusterd::RuleTable(*categories));
  return 0;
}
