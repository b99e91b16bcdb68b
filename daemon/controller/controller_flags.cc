#include "daemon/controller/controller_flags.h"

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "config/values/version.h"

namespace clusterd {
namespace {

constexpr char kFooter[] =
    R"(Exit status: 0 after SIGTERM or SIGINT, 1 if it could not start, 3 for wrong
usage. If cluster.yaml has mistakes at SIGHUP, the previous one stays in force.)";

}  // namespace

std::optional<int> ParseControllerFlags(int argc, const char* const* argv,
                                        ControllerFlags* flags) {
  CLI::App app(
      "Checks and changes the hosts of a cluster as cluster.yaml says.",
      "clusterd-controller");
  app.add_option("--cluster", flags->cluster,
                 "The cluster's name, as in cluster.yaml and every\n"
                 "certificate; by default that of --cert");
  app.add_option("--spec", flags->spec, "cluster.yaml; SIGHUP has it re-read")
      ->capture_default_str();
  app.add_flag("--learn", flags->learn,
               "Start also without a cluster.yaml, so that hosts\n"
               "attach and clusterctl config learn can write one");
  app.add_option("--ca", flags->tls.ca, "PEM certificates that sign others")
      ->capture_default_str();
  app.add_option("--cert", flags->tls.certificate,
                 "PEM certificate of spiffe://CLUSTER/controller")
      ->capture_default_str();
  app.add_option("--key", flags->tls.key, "PEM private key of --cert")
      ->capture_default_str();
  app.add_option("--crl", flags->crl,
                 "PEM revocation lists of your PKI, a file or a\n"
                 "folder of *.pem and *.crl; re-read within 20 s.\n"
                 "A peer is refused without a valid list of its CA;\n"
                 "an older or partial list is refused")
      ->check(CLI::Validator(
          [](std::string& value) {
            return value.empty() ? std::string("is empty, expected a path")
                                 : std::string();
          },
          "PATH"));
  app.add_option("--listen", flags->listen,
                 "ADDRESS:PORT; port 0 takes a free one")
      ->capture_default_str();
  app.add_option("--state", flags->state,
                 "Folder of the history and of locks; created if\n"
                 "its parent exists")
      ->capture_default_str();
  app.add_option("--ca-dir", flags->ca_dir,
                 "Folder of an intermediate CA, to issue\n"
                 "certificates to hosts that join with a token;\n"
                 "without it no host can join.\n"
                 "deploy/certificates.sh ca-dir makes it");
  app.add_option("--enrol-listen", flags->enrol_listen,
                 "ADDRESS:PORT for hosts that join, open while a\n"
                 "token is valid; by default the port after --listen");
  app.add_option("--status-listen", flags->status_listen,
                 "ADDRESS:PORT of /metrics, /healthz and the newest\n"
                 "report: on a loopback address for all users of\n"
                 "this machine, on any other by mutual TLS for users\n"
                 "of role viewer; default: 127.0.0.1, two ports\n"
                 "above that of --listen; off: none");
  int leaf_days = static_cast<int>(absl::ToInt64Hours(flags->leaf_life) / 24);
  app.add_option("--leaf-days", leaf_days,
                 "How many days a host's certificate is valid; it is\n"
                 "renewed at half of that")
      ->check(CLI::Range(1, 365))
      ->capture_default_str();
  app.add_option("--port-file", flags->port_file,
                 "Write the listening port to this file");
  app.add_option("--drain-share", flags->drain.share_percent,
                 "How many hosts hooks may fail in one window, in\n"
                 "percent of those in cluster.yaml, but always 2;\n"
                 "0: none")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  int window = static_cast<int>(absl::ToInt64Minutes(flags->drain.window));
  app.add_option("--drain-window", window, "The window, in minutes")
      ->check(CLI::Range(1, 24 * 60))
      ->capture_default_str();
  app.footer(kFooter);
  app.set_version_flag("--version",
                       absl::StrCat("clusterd-controller ", kClusterdVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 3;
  }
  flags->drain.window = absl::Minutes(window);
  flags->leaf_life = absl::Hours(24 * leaf_days);
  return std::nullopt;
}

}  // namespace clusterd
