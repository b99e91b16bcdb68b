#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/python_packages.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/launch_observer.h"

namespace clusterd {
namespace {

constexpr char kFolder[] = "a directory";
constexpr size_t kMaxVersionBytes = 128;
constexpr size_t kMaxOthers = 32;

std::string ParentOf(absl::string_view path) {
  return std::string(path.substr(0, path.rfind('/')));
}

class PythonReading {
 public:
  PythonReading(const HostAccess& host, const PythonQuestion& question)
      : host_(host), question_(question), root_(host.files().Resolve("")) {}

  absl::StatusOr<PythonFact::Python> Read() {
    static const LazyRE2 kForm = {R"(/(?:[^\x00-\x1f]*/)?python[0-9.]*)"};
    if (!HasForm(question_.interpreter(), *kForm)) {
      return InvalidWords("fact-python-path",
                          QuotedText(question_.interpreter()));
    }
    const absl::Status ready = FindReaders();
    // A missing program or user is not a fault of the interpreter.
    if (absl::IsNotFound(ready)) {
      return WithWords(absl::CancelledError(""), MessageWords(ready));
    }
    RETURN_IF_ERROR(ready);
    RETURN_IF_ERROR(FindFolders());
    RETURN_IF_ERROR(ReadFolders());
    RETURN_IF_ERROR(TakePackages());
    return std::move(python_);
  }

 private:
  using Lines = std::vector<std::pair<std::string, std::string>>;

  // Finds the programs for reading, and the user to run them as.
  absl::Status FindReaders() {
    const std::string& root = host_.paths.root;
    ASSIGN_OR_RETURN(find_, FindProgram(root, {"/usr/bin/find", "/bin/find"}));
    ASSIGN_OR_RETURN(grep_, FindProgram(root, {"/usr/bin/grep", "/bin/grep"}));
    ASSIGN_OR_RETURN(readlink_,
                     FindProgram(root, {"/usr/bin/readlink", "/bin/readlink"}));
    ASSIGN_OR_RETURN(
        user_, FindUser(root, host_.runner, *host_.budget, question_.user()));
    return absl::OkStatus();
  }

  absl::StatusOr<CommandResult> RunAsUser(std::vector<std::string> argv) {
    ASSIGN_OR_RETURN(CommandResult result,
                     RunWithin(*host_.budget, host_.runner, "files of Python",
                               std::move(argv), kMaxStreamBytes, user_));
    if (result.signal == 0) return result;
    return ExhaustedWords("fact-python-signal", result.signal);
  }

  // Returns the first matching lines of the regular files below the paths that
  // `tests` of find(1) select, with those files. Missing paths have none.
  absl::StatusOr<Lines> Search(const std::vector<std::string>& paths,
                               const std::vector<std::string>& tests,
                               const std::string& form) {
    std::vector<std::string> argv = {find_, "-L"};
    for (const std::string& path : paths) argv.push_back(root_ + path);
    argv.insert(argv.end(), tests.begin(), tests.end());
    argv.insert(argv.end(), {"-type", "f", "-exec", grep_, "-aiHZE", "-m", "32",
                             "-e", form, "--", "{}", "+"});
    ASSIGN_OR_RETURN(const CommandResult found, RunAsUser(std::move(argv)));
    static const LazyRE2 kNothing = {
        R"(.*(?:No such file or directory|Not a directory|)"
        R"(Too many levels of symbolic links|File system loop detected.*))"};
    for (const absl::string_view line :
         absl::StrSplit(found.standard_error, '\n', absl::SkipEmpty())) {
      if (HasForm(line, *kNothing)) continue;
      const std::string words = PrintableText(line, 1024);
      return absl::EndsWith(line, "Permission denied")
                 ? absl::PermissionDeniedError(words)
                 : absl::UnavailableError(words);
    }
    Lines lines;
    for (const absl::string_view each :
         absl::StrSplit(found.standard_output, '\n', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(each, absl::MaxSplits('\0', 1));
      lines.emplace_back(absl::StripPrefix(parts.first, root_), parts.second);
    }
    return lines;
  }

  // The order of sys.path (site.py; Debian and Fedora have their own folders).
  void AddSites(const std::string& prefix, const std::string& library) {
    if (prefix == "/usr") {
      if (host_.files().CheckExists("/etc/debian_version").ok()) {
        folders_.insert(
            folders_.end(),
            {absl::StrCat("/usr/local/lib/", library, "/dist-packages"),
             "/usr/lib/python3/dist-packages"});
        return;
      }
      AddSites("/usr/local", library);
    }
    for (const char* folder : {"/lib64/", "/lib/"}) {
      folders_.push_back(
          absl::StrCat(prefix, folder, library, "/site-packages"));
    }
  }

  absl::Status FindFolders() {
    static const LazyRE2 kSetting = {R"((?i)\s*([a-z]+).*?\s*=\s*(.*?)\s*)"};
    static const LazyRE2 kVersion = {
        R"((?:.*/python)?((\d+\.\d+)(?:\.\d+)?).*)"};
    const std::string& path = question_.interpreter();
    ASSIGN_OR_RETURN(
        const CommandResult found,
        RunAsUser({find_,     "-L",    root_ + path, "-maxdepth",   "0",
                   "(",       "-type", "f",          "-executable", "-exec",
                   readlink_, "-e",    "--",         "{}",          ";",
                   "-o",      "-type", "d",          "-printf",     kFolder,
                   ")"}));
    const std::string real(absl::StripSuffix(
        absl::StripPrefix(found.standard_output, root_), "\n"));
    if (!absl::StartsWith(real, "/")) {
      return NotFoundWords(
          found.exit_status == 0
              ? real.empty() ? "fact-python-not-run" : "fact-python-folder"
              : "fact-python-not-there",
          PrintableText(path), user_.name);
    }
    const std::string programs = ParentOf(path);
    ASSIGN_OR_RETURN(
        const Lines lines,
        Search({programs + "/pyvenv.cfg", ParentOf(programs) + "/pyvenv.cfg"},
               {"-maxdepth", "0"},
               "^[[:blank:]]*(home|include-system-site-packages|version|"
               "version_info)[[:blank:]]*="));
    // By the first word of each key.
    std::map<std::string, std::string> settings = {
        {"home", ParentOf(real)}, {"version", real}, {"include", "true"}};
    if (!lines.empty()) settings["include"] = "false";
    for (const auto& [file, line] : lines) {
      std::string key, value;
      if (file == lines[0].first && HasForm(line, *kSetting, &key, &value)) {
        settings[absl::AsciiStrToLower(key)] = value;
      }
    }
    std::string minor;
    if (!HasForm(settings["version"], *kVersion, python_.mutable_version(),
                 &minor)) {
      return PreconditionWords("fact-python-version", PrintableText(path),
                               QuotedText(real));
    }
    for (const absl::string_view folder :
         absl::StrSplit(question_.path(), ':')) {
      if (absl::StartsWith(folder, "/")) folders_.emplace_back(folder);
    }
    const std::string library = "python" + minor;
    if (!lines.empty()) AddSites(ParentOf(lines[0].first), library);
    if (!absl::EqualsIgnoreCase(settings["include"], "true")) {
      return absl::OkStatus();
    }
    std::string base = question_.user_base();
    if (base.empty()) base = user_.home + "/.local";
    if (!question_.no_user_site() && base[0] == '/') AddSites(base, library);
    AddSites(ParentOf(settings["home"]), library);
    return absl::OkStatus();
  }

  // torch_npu-2.1.0.post6.dist-info, PyYAML-6.0-py3.10.egg-info, mine.egg-info.
  // Each is listed with an empty line, and before its metadata.
  absl::Status ReadFolders() {
    static const LazyRE2 kForm = {
        R"((.*)/(([^/]+?)(?:-v?\d[^-/]*(?:-[^/]*)?)?\.(?:dist-info|egg-info)))"
        R"((?:/[^/]*)?)"};
    std::vector<std::string> others = folders_;
    // The second pass reads the folders that .pth files add.
    for (const bool is_first : {true, false}) {
      if (others.empty()) break;
      ASSIGN_OR_RETURN(
          const Lines lines,
          Search(others,
                 {"-mindepth", "1", "-maxdepth", "2", "-regextype",
                  "posix-extended", "(", "-regex",
                  R"(.*\.((dist-info|egg-info)(/METADATA|/PKG-INFO)?|pth))",
                  "-o", "-prune", "-false", ")", "-printf", R"(%p\0\n)"},
                 "^(Version:|/)"));
      others.clear();
      for (const auto& [path, line] : lines) {
        std::string folder, entry, name;
        if (is_first && absl::EndsWith(path, ".pth") &&
            absl::StartsWith(line, "/") && others.size() < kMaxOthers) {
          others.emplace_back(absl::StripTrailingAsciiWhitespace(line));
        }
        if (!HasForm(path, *kForm, &folder, &entry, &name)) continue;
        std::string& version =
            packages_[folder][NormalPackageName(name)][entry];
        if (!version.empty() || line.empty()) continue;
        version = PrintableText(
            absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)),
            kMaxVersionBytes);
      }
      folders_.insert(folders_.end(), others.begin(), others.end());
    }
    return absl::OkStatus();
  }

  // An earlier folder hides a later one's packages.
  absl::Status TakePackages() {
    std::set<std::string> taken;
    for (const std::string& path : folders_) {
      // find(1) prints paths with the folder's name in this form.
      const auto folder =
          packages_.find(std::string(absl::StripSuffix(path, "/")));
      if (folder == packages_.end()) continue;
      python_.add_folders(path);
      for (const std::string& name : question_.names()) {
        const auto entries = folder->second.find(name);
        if (entries == folder->second.end()) continue;
        if (!taken.insert(name).second) continue;
        for (const auto& [entry, version] : entries->second) {
          PythonPackage* const package = python_.add_packages();
          package->set_name(name);
          package->set_version(version);
        }
      }
    }
    if (!python_.folders().empty()) return absl::OkStatus();
    return PreconditionWords("fact-python-packages",
                             PrintableText(question_.interpreter()),
                             PrintableText(absl::StrJoin(folders_, ", ")));
  }

  const HostAccess& host_;
  const PythonQuestion& question_;
  const std::string root_;  // Prefix of every path of the machine.
  std::string find_, grep_, readlink_;
  RunAs user_;
  std::vector<std::string> folders_;  // In the order of sys.path.
  // Versions by folder, package and the folder or file that has them.
  std::map<std::string,
           std::map<std::string, std::map<std::string, std::string>>>
      packages_;
  PythonFact::Python python_;
};

}  // namespace

PythonFact ReadPython(const HostAccess& host, const PythonQuestion& question) {
  return MakeFact<PythonFact>(PythonReading(host, question).Read());
}

}  // namespace clusterd
