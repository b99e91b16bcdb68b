// Writes what recorded runs of the vendor's tool printed into a folder, a file
// for each different text: what a fuzz test begins with.
//   write_seeds captures.jsonl FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

// Names of records hold quotes and colons, and a list of seeds commas.
std::string FileName(size_t number, const std::string& record) {
  std::string name = record;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') {
      c = '_';
    }
  }
  return absl::StrFormat("%04d-%s.txt", number, name);
}

// The number of seeds; 0 and a message on stderr if one record is unusable.
size_t WriteSeeds(std::ifstream& records, const std::filesystem::path& folder) {
  std::set<std::string> written;
  size_t line_number = 0;
  for (std::string line; std::getline(records, line);) {
    ++line_number;
    if (line.empty() || line[0] == '#') continue;
    const auto record = sim::ParseCaptureRecord(line);
    if (!record.ok()) {
      std::cerr << "line " << line_number << ": " << record.status() << "\n";
      return 0;
    }
    // Readers see standard output. Text from elsewhere must not become a value
    // there.
    for (const std::string& text :
         {record->standard_output, record->standard_error}) {
      if (text.empty() || !written.insert(text).second) continue;
      const auto path = folder / FileName(written.size(), record->name);
      std::ofstream file(path, std::ios::binary);
      file << text;
      if (!file.flush()) {
        std::cerr << path << ": cannot be written\n";
        return 0;
      }
    }
  }
  return written.size();
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: write_seeds captures.jsonl FOLDER\n";
    return 2;
  }
  std::ifstream records(argv[1], std::ios::binary);
  const size_t seeds = clusterd::WriteSeeds(records, argv[2]);
  if (seeds > 0) return 0;
  std::cerr << argv[1] << ": no seeds were made of it\n";
  return 1;
}
