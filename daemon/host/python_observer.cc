#include "daemon/host/python_observer.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/hccl/python_packages.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/command/user_identity.h"
#include "daemon/host/files/missing.h"

namespace clusterd {
namespace {

constexpr absl::string_view kFind[] = {"/usr/bin/find", "/bin/find"};
constexpr absl::string_view kGrep[] = {"/usr/bin/grep", "/bin/grep"};
constexpr absl::string_view kReadlink[] = {"/usr/bin/readlink",
                                           "/bin/readlink"};
constexpr absl::string_view kDebianFolder = "/usr/lib/python3/dist-packages";
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
      return absl::InvalidArgumentError(
          absl::StrCat("python: ", QuotedText(question_.interpreter()),
                       ", expected an absolute path that ends in python3"));
    }
    const absl::Status ready = FindReaders();
    // It says nothing about the interpreter.
    if (absl::IsNotFound(ready)) {
      return absl::FailedPreconditionError(ready.message());
    }
    RETURN_IF_ERROR(ready);
    RETURN_IF_ERROR(FindFolders());
    RETURN_IF_ERROR(ReadFolders());
    return std::move(python_);
  }

 private:
  using Lines = std::vector<std::pair<std::string, std::string>>;
  // By name of a package and of its folder or file: its version.
  using Folder = std::map<std::string, std::map<std::string, std::string>>;

  // The programs that read, and who they run as.
  absl::Status FindReaders() {
    const std::string& root = host_.paths.root;
    ASSIGN_OR_RETURN(find_, FindProgram(root, kFind));
    ASSIGN_OR_RETURN(grep_, FindProgram(root, kGrep));
    ASSIGN_OR_RETURN(readlink_, FindProgram(root, kReadlink));
    ASSIGN_OR_RETURN(
        user_, FindUser(root, host_.runner, *host_.budget, question_.user()));
    return absl::OkStatus();
  }

  absl::StatusOr<CommandResult> RunAsUser(std::vector<std::string> argv) {
    Command command = {std::move(argv), host_.budget->ForCommand()};
    command.as = user_;
    ASSIGN_OR_RETURN(CommandResult result, host_.runner->Run(command));
    if (result.timed_out) {
      return absl::DeadlineExceededError(
          absl::StrCat("files of Python: no answer in ",
                       host_.budget->CutBy(result.elapsed)));
    }
    if (!result.output_cut && result.signal == 0) return result;
    return absl::ResourceExhaustedError("files of Python: more than are read");
  }

  // The first lines of that form in regular files that `tests` of find(1) take
  // below the paths, with their files. What is not there has none.
  absl::StatusOr<Lines> Search(const std::vector<std::string>& paths,
                               const std::vector<std::string>& tests,
                               const std::string& form) {
    std::vector<std::string> argv = {find_, "-L"};
    for (const std::string& path : paths) argv.push_back(root_ + path);
    argv.insert(argv.end(), tests.begin(), tests.end());
    argv.insert(argv.end(), {"-type", "f", "-exec", grep_, "-saiHZE", "-m",
                             "32", "-e", form, "--", "{}", "+"});
    ASSIGN_OR_RETURN(const CommandResult found, RunAsUser(std::move(argv)));
    static const LazyRE2 kNothing = {
        R"(.*(?:No such file or directory|Not a directory|)"
        R"(Too many levels of symbolic links|File system loop detected.*))"};
    for (const absl::string_view line :
         absl::StrSplit(found.standard_error, '\n', absl::SkipEmpty())) {
      if (HasForm(line, *kNothing)) continue;
      const std::string words = PrintableText(line);
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

  // The order of Python's own sys.path (site.py; Debian's and Fedora's have
  // folders of their own).
  void AddSites(const std::string& prefix) {
    const bool is_system = prefix == "/usr";
    const auto add = [this](const std::string& folder, const char* kind) {
      folders_.push_back(absl::StrCat(folder, "/", library_, "/", kind));
    };
    if (is_system) {
      add("/usr/local/lib", "dist-packages");
      add("/usr/local/lib64", "site-packages");
      add("/usr/local/lib", "site-packages");
      folders_.emplace_back(kDebianFolder);
    }
    add(prefix + "/lib64", "site-packages");
    add(prefix + "/lib", "site-packages");
  }

  absl::Status FindFolders() {
    static const LazyRE2 kSetting = {R"((?i)\s*(\S+?)\s*=\s*(.*?)\s*)"};
    static const LazyRE2 kVersion = {
        R"((?:.*/python)?((\d+\.\d+)(?:\.\d+)?).*)"};
    const std::string& path = question_.interpreter();
    ASSIGN_OR_RETURN(const CommandResult link,
                     RunAsUser({readlink_, "-e", "--", root_ + path}));
    const std::string real(absl::StripSuffix(
        absl::StripPrefix(link.standard_output, root_), "\n"));
    if (link.exit_status != 0 || real.empty()) {
      return absl::NotFoundError(absl::StrCat(PrintableText(path),
                                              ": not there, or ", user_.name,
                                              " may not reach it"));
    }
    const std::string programs = ParentOf(path);
    ASSIGN_OR_RETURN(
        const Lines settings,
        Search({programs + "/pyvenv.cfg", ParentOf(programs) + "/pyvenv.cfg"},
               {"-maxdepth", "0"},
               "^[[:blank:]]*(home|include-system-site-packages|version|"
               "version_info)[[:blank:]]*="));
    std::string base = ParentOf(ParentOf(real));
    std::string version = real;
    bool sees_system = settings.empty();
    for (const auto& [file, line] : settings) {
      std::string key, value;
      if (file != settings[0].first || !HasForm(line, *kSetting, &key, &value))
        continue;
      absl::AsciiStrToLower(&key);
      if (key == "home") base = ParentOf(value);
      if (absl::StartsWith(key, "version")) version = value;
      if (absl::StartsWith(key, "include")) {
        sees_system = absl::EqualsIgnoreCase(value, "true");
      }
    }
    std::string minor;
    if (!HasForm(version, *kVersion, python_.mutable_version(), &minor)) {
      return absl::FailedPreconditionError(absl::StrCat(
          PrintableText(path), ": its version cannot be told from the name ",
          QuotedText(real), " or pyvenv.cfg"));
    }
    library_ = "python" + minor;
    for (const absl::string_view folder :
         absl::StrSplit(question_.path(), ':')) {
      if (absl::StartsWith(folder, "/")) folders_.emplace_back(folder);
    }
    if (!settings.empty()) AddSites(ParentOf(settings[0].first));
    if (!sees_system) return absl::OkStatus();
    AddSites(user_.home + "/.local");
    AddSites(base);
    return absl::OkStatus();
  }

  absl::StatusOr<Lines> SearchSites(const std::vector<std::string>& folders) {
    return Search(folders,
                  {"-mindepth", "1", "-maxdepth", "2", "-regextype",
                   "posix-extended", "(", "-regex",
                   R"(.*\.((dist-info|egg-info)(/METADATA|/PKG-INFO)?|pth))",
                   "-o", "-prune", "-false", ")", "-printf", R"(%p\0\n)"},
                  "^(Version:|/)");
  }

  // torch_npu-2.1.0.post6.dist-info, PyYAML-6.0-py3.10.egg-info, mine.egg-info.
  // Each is listed with an empty line, and before its metadata.
  absl::Status ReadFolders() {
    static const LazyRE2 kForm = {
        R"((.*)/(([^/]+?)(?:-v?\d[^-/]*(?:-[^/]*)?)?\.(?:dist-info|egg-info)))"
        R"((?:/[^/]*)?)"};
    ASSIGN_OR_RETURN(Lines lines, SearchSites(folders_));
    std::vector<std::string> others;  // That a .pth file adds.
    for (const auto& [path, line] : lines) {
      if (absl::EndsWith(path, ".pth") && absl::StartsWith(line, "/") &&
          others.size() < kMaxOthers) {
        others.emplace_back(absl::StripTrailingAsciiWhitespace(line));
      }
    }
    if (!others.empty()) {
      ASSIGN_OR_RETURN(const Lines more, SearchSites(others));
      lines.insert(lines.end(), more.begin(), more.end());
      folders_.insert(folders_.end(), others.begin(), others.end());
    }
    std::map<std::string, Folder> folders;
    for (const auto& [path, line] : lines) {
      std::string folder, entry, name;
      if (!HasForm(path, *kForm, &folder, &entry, &name)) continue;
      std::string& version = folders[folder][NormalPackageName(name)][entry];
      if (!version.empty() || line.empty()) continue;
      version = PrintableText(
          absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)),
          kMaxVersionBytes);
    }
    // Debian's interpreter has another name for these.
    const bool is_debian = folders.count(std::string(kDebianFolder)) > 0;
    for (const std::string& path : folders_) {
      const bool is_others = is_debian && absl::StartsWith(path, "/usr/") &&
                             absl::EndsWith(path, "/site-packages");
      if (!is_others && folders.count(path) > 0) Take(path, folders[path]);
    }
    if (!python_.folders().empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "packages of ", PrintableText(question_.interpreter()), ": none in ",
        PrintableText(absl::StrJoin(folders_, ", "))));
  }

  // An earlier folder hides what a later one has.
  void Take(const std::string& path, const Folder& folder) {
    python_.add_folders(path);
    for (const std::string& name : question_.names()) {
      const auto entries = folder.find(name);
      if (entries == folder.end() || !taken_.insert(name).second) continue;
      for (const auto& [entry, version] : entries->second) {
        PythonPackage* const package = python_.add_packages();
        package->set_name(name);
        package->set_version(version);
      }
    }
  }

  const HostAccess& host_;
  const PythonQuestion& question_;
  const std::string root_;  // Before every path of the machine.
  std::string find_, grep_, readlink_;
  RunAs user_;
  std::string library_;               // "python3.10"
  std::vector<std::string> folders_;  // In the order of sys.path.
  std::set<std::string> taken_;
  PythonFact::Python python_;
};

}  // namespace

PythonFact ReadPython(const HostAccess& host, const PythonQuestion& question) {
  PythonFact fact;
  SetFact(PythonReading(host, question).Read(), &fact);
  return fact;
}

}  // namespace clusterd
