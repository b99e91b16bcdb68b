#include "daemon/agent/identity/enrolment_call.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

#include "CLI/CLI.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/identity/regular_file.h"
#include "config/identity/signing_request.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/host/identity/identity_folder.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/resource_quota.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {
namespace {

constexpr std::chrono::seconds kCallTimeout(20);
constexpr size_t kMaxAnswerBytes = 1 << 20;
constexpr size_t kWireMemoryBytes = 16 << 20;

std::shared_ptr<grpc::Channel> ChannelTo(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // The verified connection must share nothing with the other one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxAnswerBytes));
  // gRPC reads a whole message before it checks its size.
  grpc::ResourceQuota memory("enrolment");
  memory.Resize(kWireMemoryBytes);
  arguments.SetResourceQuota(memory);
  return OpenChannel(address, credentials, arguments);
}

// The result of a call, worded for the administrator of this host.
absl::Status Explained(const std::string& address, const grpc::Status& status,
                       const char* hint) {
  absl::Status plain = ToAbslStatus(status);
  if (absl::IsUnavailable(plain)) {
    plain = UnavailableWords(hint, MessageWords(ExplainUnavailable(
                                       plain, {"of --ca-hash", "", ""})));
  } else if (absl::IsDeadlineExceeded(plain)) {
    plain = DeadlineWords("msg-trust-no-answer",
                          absl::StrCat(kCallTimeout.count(), "s"));
  } else if (absl::IsUnimplemented(plain)) {
    plain = UnimplementedWords("msg-trust-not-for-joining");
  }
  return About(Worded("controller-at", address), plain);
}

template <typename Stub, typename Request, typename Answer>
absl::StatusOr<Answer> Ask(Stub& stub, const std::string& address,
                           grpc::Status (Stub::*call)(grpc::ClientContext*,
                                                      const Request&, Answer*),
                           const Request& request,
                           const char* hint = "msg-trust-join-not-reached") {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  Answer answer;
  RETURN_IF_ERROR(
      Explained(address, (stub.*call)(&context, request, &answer), hint));
  return answer;
}

template <typename Asking>
auto Patiently(const CallPatience& patience, bool has_answered,
               const Asking& ask) {
  auto answer = ask();
  for (int tries = 1, unanswered = 0; tries < patience.tries; ++tries) {
    const bool is_busy = absl::IsResourceExhausted(answer.status());
    unanswered = is_busy ? 0 : unanswered + 1;
    if (!MayPass(answer.status(), unanswered, patience, has_answered)) break;
    // A random wait, so that a thousand hosts do not connect at the same time.
    patience.wait(absl::Seconds(1 + 2 * patience.random()));
    answer = ask();
  }
  return answer;
}

constexpr int kWrongUsage = 3;
constexpr size_t kMaxTokenBytes = 4096;
constexpr int kMaxPort = 65535;
constexpr size_t kMaxAuditBytes = 8 << 20;

constexpr char kFooter[] =
    R"(`clusterctl token create` prints the whole command line. The host's key is made
on this host and never sent. The token is sent only to a controller whose CA has
the hash. Files of another identity are replaced. An existing agent.yaml stays
as it is.

Exit status: 0 this host has its certificate, 1 it does not, and the message
says why; 3 wrong usage.)";

// Address of the controller's enrolment port.
absl::StatusOr<std::string> EnrolmentAddress(const JoinFlags& flags) {
  const size_t colon = flags.controller.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(flags.controller.substr(colon + 1), &port) ||
      port < 1 || port >= kMaxPort) {
    return InvalidWords("msg-trust-join-controller",
                        QuotedText(flags.controller));
  }
  return absl::StrCat(flags.controller.substr(0, colon), ":",
                      flags.enrol_port > 0 ? flags.enrol_port : port + 1);
}

absl::StatusOr<std::string> TokenOf(const JoinFlags& flags) {
  if (flags.token_file.empty()) return flags.token;
  ASSIGN_OR_RETURN(const std::string text,
                   ReadRegularFile(flags.token_file, kMaxTokenBytes));
  return std::string(absl::StripAsciiWhitespace(text));
}

// The key of an interrupted join, or this host's own, or a new one. A new key
// is on disk before it is used.
absl::StatusOr<std::string> KeyFor(const JoinFlags& flags,
                                   const IdentityFolder& folder) {
  const absl::StatusOr<std::string> pending = folder.ReadPendingKey();
  if (pending.ok() && !SpkiOfPrivateKey(*pending).empty()) return pending;
  if (folder.HasJoined() && !flags.new_key) {
    const auto own = ReadRegularFile(folder.PathOf("host.key"));
    if (own.ok() && !SpkiOfPrivateKey(*own).empty()) return own;
  }
  ASSIGN_OR_RETURN(std::string key, MakePrivateKey());
  RETURN_IF_ERROR(folder.WritePendingKey(key));
  return key;
}

void TellOnTerminal(const std::vector<FindingValue>& lines) {
  for (const FindingValue& line : lines) {
    std::cerr << "clusterd join: " << SafeText(ValueText(line), /*utf8=*/true)
              << "\n";
  }
}

// Quotes any text for YAML.
std::string YamlText(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}}), "'");
}

// True if nothing is left to do, for example when a join is repeated.
bool IsInPlace(const IdentityFolder& folder, const TlsPem& pair) {
  absl::StatusOr<TlsPem> now =
      ReadTlsFiles({folder.PathOf("ca.crt"), folder.PathOf("host.crt"),
                    folder.PathOf("host.key")});
  if (!folder.HasJoined() || folder.ReadPendingKey().ok() || !now.ok()) {
    return false;
  }
  now->roots_bundle = folder.ReadRootsBundle().value_or("unread");
  return *now == pair && access(folder.PathOf("agent.yaml").c_str(), F_OK) == 0;
}

// Calls `put`, with a line of this host's audit file before and after it.
absl::StatusOr<bool> PutAudited(
    AuditLog* audit, const std::string& host, const TlsPem& pair,
    const std::function<absl::StatusOr<bool>()>& put) {
  const AuditEntry entry = MakeAuditEntry("join", host);
  const absl::Status begun = audit->Begin(entry);
  if (!begun.ok()) {
    return WithWords(begun,
                     Worded("msg-trust-join-audit", MessageWords(begun)));
  }
  absl::StatusOr<bool> done = put();
  audit->End(entry,
             done.ok()
                 ? absl::StrCat("done, certificate ",
                                CertificateSerial(pair.certificate), ", roots ",
                                absl::StrJoin(RootHashes(pair.ca), " "))
                 : std::string(done.status().message()));
  return done;
}

}  // namespace

bool MayPass(const absl::Status& status, int unanswered,
             const CallPatience& patience, bool has_answered) {
  const bool is_late = absl::IsDeadlineExceeded(status);
  return absl::IsResourceExhausted(status) || (is_late && has_answered) ||
         ((is_late || absl::IsUnavailable(status)) &&
          unanswered < patience.unanswered);
}

absl::StatusOr<TrustedRoots> FetchRoots(
    const std::string& address, const std::vector<std::string>& ca_hashes,
    const CallPatience& patience) {
  // A new connection each time: after one has failed, gRPC refuses calls.
  ASSIGN_OR_RETURN(
      const RootsResponse answer,
      Patiently(patience, /*has_answered=*/false, [&] {
        const auto stub = Enrolment::NewStub(
            ChannelTo(address, MakeUnverifiedChannelCredentials()));
        return Ask(*stub, address, &Enrolment::Stub::Roots, RootsRequest());
      }));
  TrustedRoots trusted;
  std::vector<std::string> shown;
  for (const NamedCertificate& root : SplitCertificates(answer.roots_pem())) {
    shown.push_back(absl::StrCat("sha256:", root.spki_sha256));
    if (absl::c_linear_search(ca_hashes, shown.back())) {
      trusted.roots_pem.append(root.pem);
    }
  }
  if (trusted.roots_pem.empty()) {
    return DeniedWords("msg-trust-join-other-ca", address,
                       shown.empty()
                           ? Worded("request-none")
                           : ToFindingValue(absl::StrJoin(shown, ", ")),
                       absl::StrJoin(ca_hashes, ", "));
  }
  if (!IsClusterName(answer.cluster())) {
    return InvalidWords("msg-trust-join-cluster-name", address,
                        QuotedText(answer.cluster()));
  }
  trusted.cluster = answer.cluster();
  return trusted;
}

absl::StatusOr<Enrolled> AskToJoin(const std::string& address,
                                   const TrustedRoots& roots,
                                   const JoinRequest& request,
                                   const CallPatience& patience) {
  return Patiently(patience, /*has_answered=*/true, [&] {
    // A new connection each time: the server serves only a few calls on one.
    const auto stub = Enrolment::NewStub(ChannelTo(
        address,
        MakeChannelCredentialsFromRoots(roots.roots_pem, roots.cluster)));
    return Ask(*stub, address, &Enrolment::Stub::Join, request);
  });
}

absl::StatusOr<Enrolled> AskToRenewLate(const std::string& controller,
                                        const std::string& cluster,
                                        const TlsPem& pair) {
  RenewLateRequest request;
  ASSIGN_OR_RETURN(*request.mutable_signing_request(),
                   MakeSigningRequest(pair.key));
  const auto stub = Trust::NewStub(
      ChannelTo(controller, MakeChannelCredentialsFromPem(pair, cluster)));
  return Ask(*stub, controller, &Trust::Stub::RenewLate, request,
             "msg-trust-renewal-not-reached");
}

absl::StatusOr<TlsPem> CheckedPair(const Enrolled& answer,
                                   const std::string& cluster,
                                   const Roots& roots,
                                   const std::string& key_pem, absl::Time now) {
  const auto wrong = [&roots](const FindingValue& what) {
    return DeniedWords(
        roots.news.empty() ? "msg-trust-sent-certificate"
                           : "msg-trust-sent-certificate-and-roots",
        what,
        roots.news.empty() ? FindingValue()
                           : Listed(roots.news, roots.news.size()));
  };
  const absl::Status belongs =
      CheckKeyBelongs(answer.certificate_pem(), key_pem);
  if (!belongs.ok()) return wrong(MessageWords(belongs));
  ASSIGN_OR_RETURN(const CertificateInfo info,
                   ParseCertificate(answer.certificate_pem()));
  const SpiffeId expected{cluster, IdentityKind::kHost, answer.name()};
  if (!(info.id == expected)) {
    return wrong(
        Worded("sent-identity", info.id.ToString(), expected.ToString()));
  }
  if (now < info.not_before) {
    return wrong(
        Worded("sent-too-early", UtcText(info.not_before), UtcText(now)));
  }
  const absl::Status issued =
      CheckChain(answer.certificate_pem(), roots.pem, now);
  if (!issued.ok()) return wrong(MessageWords(issued));
  return TlsPem{roots.pem, answer.certificate_pem(), key_pem, roots.bundle};
}

std::string AgentConfigText(const JoinFlags& flags,
                            const std::string& cluster) {
  return absl::StrCat(
      "# Made by clusterd join. allow lists what may be changed on this "
      "host.\n",
      "controller: ", YamlText(flags.controller),
      "\ncluster: ", YamlText(cluster), "\nallow: [observe]\n");
}

std::optional<int> ParseJoinFlags(int argc, const char* const* argv,
                                  JoinFlags* flags) {
  CLI::App app("Joins this host to its cluster.", "clusterd join");
  app.footer(kFooter);
  app.add_option("--controller", flags->controller,
                 "HOST:PORT of the controller, as agent.yaml has it")
      ->required();
  app.add_option("--ca-hash", flags->ca_hashes,
                 "sha256:DIGITS of the cluster's CA; may be repeated")
      ->required();
  CLI::Option* const token = app.add_option(
      "--token", flags->token, "Token that clusterctl token create printed");
  app.add_option("--token-file", flags->token_file,
                 "File with the token, so that no list of processes\nshows it")
      ->excludes(token);
  app.add_option("--name", flags->name,
                 "This host's name in cluster.yaml (default: its host\n"
                 "name)");
  app.add_option("--cluster", flags->cluster,
                 "Refuse any other cluster (default: that of the\ncontroller)");
  app.add_option("--enrol-port", flags->enrol_port,
                 "Port where hosts join (default: the port after that\n"
                 "of --controller)")
      ->check(CLI::Range(1, kMaxPort));
  app.add_flag("--new-key", flags->new_key,
               "Make a new key even where this host has one");
  app.add_option("--dir", flags->folder,
                 "Folder of key, certificates and agent.yaml")
      ->capture_default_str();
  app.add_option("--root", flags->root, "Where this machine's files begin")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  std::vector<FindingValue> mistakes;
  for (const std::string& hash : flags->ca_hashes) {
    static const LazyRE2 kForm = {"sha256:[0-9a-f]{64}"};
    if (HasForm(hash, *kForm)) continue;
    mistakes.push_back(Worded("msg-trust-join-ca-hash", QuotedText(hash)));
  }
  const absl::Status address = EnrolmentAddress(*flags).status();
  if (!address.ok()) mistakes.push_back(MessageWords(address));
  if (flags->token.empty() && flags->token_file.empty()) {
    mistakes.push_back(Worded("msg-trust-join-no-token"));
  }
  if (flags->folder.empty() || flags->folder[0] != '/') {
    mistakes.push_back(
        Worded("msg-trust-join-folder", QuotedText(flags->folder)));
  }
  if (mistakes.empty()) return std::nullopt;
  TellOnTerminal(mistakes);
  return kWrongUsage;
}

absl::Status JoinCluster(const JoinFlags& flags, const JoinTools& parts) {
  ASSIGN_OR_RETURN(const std::string address, EnrolmentAddress(flags));
  const IdentityFolder folder(
      absl::StrCat(absl::StripSuffix(flags.root, "/"), flags.folder));
  JoinRequest request;
  ASSIGN_OR_RETURN(*request.mutable_token(), TokenOf(flags));
  ASSIGN_OR_RETURN(const TrustedRoots roots,
                   FetchRoots(address, flags.ca_hashes, parts.patience));
  if (!flags.cluster.empty() && flags.cluster != roots.cluster) {
    return DeniedWords("msg-trust-join-other-cluster", address,
                       QuotedText(roots.cluster), QuotedText(flags.cluster));
  }
  ASSIGN_OR_RETURN(const std::string key, KeyFor(flags, folder));
  ASSIGN_OR_RETURN(*request.mutable_signing_request(), MakeSigningRequest(key));
  request.set_name(flags.name.empty() ? parts.host_name : flags.name);
  request.set_machine_id(parts.machine_id);
  request.set_host_time_ms(absl::ToUnixMillis(parts.now()));
  ASSIGN_OR_RETURN(const Enrolled answer,
                   AskToJoin(address, roots, request, parts.patience));
  const Roots after =
      TakeRootBundles({roots.roots_pem, ""}, answer.root_bundles(),
                      answer.roots_pem(), roots.cluster, parts.now());
  ASSIGN_OR_RETURN(const TlsPem pair,
                   CheckedPair(answer, roots.cluster, after, key, parts.now()));
  absl::StatusOr<bool> is_new = false;
  if (!IsInPlace(folder, pair)) {
    // Returns true if agent.yaml is new.
    const auto put = [&]() -> absl::StatusOr<bool> {
      ASSIGN_OR_RETURN(
          const bool wrote,
          folder.WriteAgentConfig(AgentConfigText(flags, roots.cluster)));
      RETURN_IF_ERROR(folder.Install(pair));
      return wrote;
    };
    const auto audit = parts.open_audit ? parts.open_audit() : nullptr;
    is_new = audit ? PutAudited(audit.get(), answer.name(), pair, put) : put();
  }
  RETURN_IF_ERROR(is_new.status());
  *parts.out << Say("join-done", answer.name(), roots.cluster,
                    UtcText(answer.ends_ms()))
             << "\n"
             << Say("join-roots", absl::StrJoin(RootHashes(pair.ca), " "))
             << "\n"
             << (after.news.empty() ? "" : ValueText(Lines(after.news)) + "\n")
             << Say(*is_new ? "join-wrote" : "join-left",
                    folder.PathOf("agent.yaml"))
             << "\n"
             << Say("join-next") << "\n";
  return absl::OkStatus();
}

int RunJoin(int argc, const char* const* argv,
            const std::function<std::string(const JoinFlags&)>& state_of) {
  Environment environment;
  for (const char* variable :
       {"CLUSTERD_LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANG"}) {
    const char* const value = getenv(variable);
    if (value != nullptr) environment[variable] = value;
  }
  const InLanguage spoken(LanguageOf(environment));
  JoinFlags flags;
  if (const auto status = ParseJoinFlags(argc, argv, &flags)) return *status;
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  std::mt19937_64 generator{std::random_device{}()};
  JoinTools parts;
  parts.host_name = name;
  const auto machine_id = ReadRegularFile(
      absl::StrCat(absl::StripSuffix(flags.root, "/"), "/etc/machine-id"), 128);
  if (machine_id.ok()) {
    parts.machine_id = std::string(absl::StripAsciiWhitespace(*machine_id));
  }
  parts.now = [] { return absl::Now(); };
  parts.patience.wait = [](absl::Duration wait) { absl::SleepFor(wait); };
  parts.patience.random = [&generator] {
    return std::uniform_real_distribution<>()(generator);
  };
  DescriptorLog log(STDERR_FILENO, /*with_level=*/false);
  ThreadScheduler scheduler;
  parts.open_audit = [&] {
    return std::make_unique<AuditLog>(
        absl::StrCat(absl::StripSuffix(flags.root, "/"), state_of(flags), "/",
                     kAuditFileName),
        AuditLimits{kMaxAuditBytes, kHostAuditMinuteBytes}, "clusterd join",
        &scheduler, &log);
  };
  parts.out = &std::cout;
  const absl::Status joined = JoinCluster(flags, parts);
  if (joined.ok()) return 0;
  TellOnTerminal(MessageLines(joined));
  return 1;
}

}  // namespace clusterd
