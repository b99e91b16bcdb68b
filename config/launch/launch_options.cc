#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/launch/launch.h"
#include "config/launch/launch_methods.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// Of a script's arguments, and of each of them.
constexpr size_t kMostWords = 1000;
constexpr size_t kMostBytes = 4096;

// What may stand in a file that a person or a shell reads line by line.
bool IsOneLine(absl::string_view text) {
  return text.size() <= kMostBytes && SafeText(text, /*utf8=*/true) == text;
}

class OptionCheck {
 public:
  OptionCheck(const LaunchMethod& method, const LaunchOptions& options)
      : method_(method), options_(options) {}

  std::vector<std::string> Check() {
    CheckWord("--python", options_.python);
    CheckWord("--script", options_.script);
    if (options_.arguments.size() > kMostWords) {
      Wrong("arguments of the script: ", options_.arguments.size(),
            ", expected at most ", kMostWords);
    }
    for (const std::string& argument : options_.arguments) {
      if (!argument.empty()) CheckWord("argument of the script", argument);
    }
    for (const std::string& file :
         options_.sources.value_or(std::vector<std::string>())) {
      CheckWord("--source", file);
    }
    // https://www.hiascend.com/document/detail/zh/Pytorch/700/comref/
    // Envvariables/Envir_028.html
    if (options_.asd > 3) {
      Wrong("--asd: ", options_.asd, ", expected 0 to 3");
    }
    CheckRankTablePath();
    CheckMpi();
    if (options_.tiered.has_value() && method_.name != "torch-npu-run") {
      Wrong("--tiered: ", options_.method,
            " has no tiers, expected --method torch-npu-run");
    }
    return std::move(mistakes_);
  }

 private:
  void CheckWord(absl::string_view option, const std::string& word) {
    if (!word.empty() && IsOneLine(word)) return;
    Wrong(option, ": ", QuotedText(word),
          ", expected text on one line of at most ", kMostBytes,
          " bytes without signs that cannot be seen");
  }

  // HCCL refuses a table under another name (facts of topoinfo_ranktableParser:
  // EI0004).
  void CheckRankTablePath() {
    const std::string& path = options_.rank_table;
    if (path.empty()) return;
    CheckWord("--rank-table", path);
    if (!absl::StartsWith(path, "/") || !absl::EndsWith(path, ".json")) {
      Wrong("--rank-table: ", QuotedText(path),
            ", expected a path from / on whose name ends in .json: HCCL reads "
            "no other");
    }
  }

  void CheckMpi() {
    if (!method_.from_master &&
        (!options_.mpi_args.empty() || options_.ssh_port != 0)) {
      Wrong("--mpi-args, --ssh-port: ", options_.method,
            " uses neither, expected --method horovodrun");
    }
    if (options_.mpi_args.empty()) return;
    CheckWord("--mpi-args", options_.mpi_args);
    // The Rec SDK's guide has it taken out: it leaves MPI all other interfaces,
    // and contradicts the one that is named.
    if (absl::StrContains(options_.mpi_args, "btl_tcp_if_exclude")) {
      Wrong("--mpi-args: ", QuotedText(options_.mpi_args),
            ", expected no btl_tcp_if_exclude: the interface of each host's "
            "address is named instead");
    }
  }

  template <typename... Parts>
  void Wrong(const Parts&... parts) {
    mistakes_.push_back(absl::StrCat(parts...));
  }

  const LaunchMethod& method_;
  const LaunchOptions& options_;
  std::vector<std::string> mistakes_;
};

}  // namespace

std::vector<std::string> FindOptionMistakes(const LaunchMethod& method,
                                            const LaunchOptions& options) {
  return OptionCheck(method, options).Check();
}

}  // namespace clusterd
