// -tls
#include <stdlib.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"

namespace clusterd::sim {
namespace {

constexpr time_t kNearExpirySeconds = 60 * 24 * 3600;
// The low byte of the code for a date that cannot be read.
constexpr int kUnreadableDate = 8;
constexpr char kPresetWarning[] =
    "[Warning] The currently loaded is a preset certificate, which has "
    "security risks.It is recommended to configure a security certificate.\n";

struct Certificate {
  const char* kind;
  const char* subject;
  std::string issuer;
};

// Those of the device; the state may name other issuers.
std::vector<Certificate> CertificatesOf(const ToolContext& context) {
  const Driver& driver = *context.driver;
  std::vector<Certificate> all = {
      {"pub", "/CN=stub-leaf", "/C=CN/O=Huawei/CN=Huawei IT Product CA"},
      {"ca1", "/CN=stub-ca", "/C=CN/O=Huawei/CN=Huawei Equipment CA"}};
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].issuer =
        driver.Setting(absl::StrCat("tls_issuer", i)).value_or(all[i].issuer);
  }
  const long count =
      driver.Number("tls_ncert", context.device)
          .value_or(atol(driver.Setting("tls_ncert").value_or("2").c_str()));
  if (count < static_cast<long>(all.size())) all.resize(std::max(count, 0L));
  return all;
}

// A device may have a list of certificates, and none in it.
bool HasCertificates(const ToolContext& context) {
  return context.driver->Setting("tls_cert").value_or("1") != "0";
}

// Issued by the vendor, as far as records show the issuer.
bool ArePreset(const std::vector<Certificate>& certificates) {
  return std::any_of(certificates.begin(), certificates.end(),
                     [](const Certificate& certificate) {
                       return absl::StartsWith(certificate.issuer,
                                               "/C=CN/O=Huawei/CN=Huawei ");
                     });
}

bool ParseDate(const std::string& text, time_t* when) {
  tm parts = {};
  const char* end = strptime(text.c_str(), "%a %b %d %H:%M:%S %Y", &parts);
  if (end == nullptr || *end != '\0') return false;
  *when = timegm(&parts);
  return true;
}

Outcome PrintCertificate(ToolContext& context, const Certificate& certificate) {
  Driver& driver = *context.driver;
  const std::string start =
      driver.Setting("tls_start").value_or("Wed Feb 19 03:19:21 2020");
  const std::string end =
      driver.Setting("tls_end").value_or("Mon Feb 19 03:19:21 2040");
  Terminal& terminal = *context.terminal;
  terminal.Out(absl::StrCat("dev_id:", context.device, ", [", certificate.kind,
                            " cert] info:\n\t subject[", certificate.subject,
                            "]\n\t issuer[", certificate.issuer,
                            "]\n\t start_time[", start, " GMT]\n\t end_time[",
                            end, " GMT]\n"));
  time_t ends = 0;
  if (!ParseDate(end, &ends)) return failures::Generic(kUnreadableDate);
  int status = 0;
  if (ends < context.server->now) {
    status = 2;
  } else if (ends - context.server->now < kNearExpirySeconds) {
    status = 1;
  }
  const std::string line =
      absl::StrCat("\t tls expiration status[", status,
                   "](0:normal, 1:near expiration, 2:has expired)\n");
  // An expired one is reported on the other stream.
  if (status == 2) {
    terminal.Err(line);
  } else {
    terminal.Out(line);
  }
  return std::nullopt;
}

}  // namespace

Outcome GetTls(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.CallLibrary("tls", context.device)) {
    return failure;
  }
  if (Outcome failure = context.AskUnlisted()) return failure;
  if (!HasCertificates(context)) return failures::NoCertificate();
  const std::vector<Certificate> certificates = CertificatesOf(context);
  const std::string enabled = context.Value("tls", "0");
  // A query that writes: the key is stored if it is not there. It does not
  // matter to the tool whether that succeeds.
  std::optional<std::string> stored;
  const std::string key = context.Key("tls_enable");
  if (!context.conf->Read(key, &stored) && !stored) {
    context.conf->Write(key, enabled);
  }
  context.terminal->Out(
      absl::StrCat("dev_id:", context.device, ", tls switch[", enabled,
                   "](0:disable, 1:enable), tls preconfigured[",
                   ArePreset(certificates) ? 1 : 0,
                   "](0:non-preset, 1:preset), tls alarm time "
                   "threshold[60]days\n"));
  for (const Certificate& certificate : certificates) {
    if (Outcome failure = PrintCertificate(context, certificate)) {
      return failure;
    }
  }
  return std::nullopt;
}

// No host here has certificates of its own.
Outcome GetHostTls(ToolContext&, const Arguments&) {
  return failures::NoCertificate();
}

Outcome SetTls(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"enable"}, &values)) {
    return failure;
  }
  const std::string& enable = values["enable"];
  if (enable != "0" && enable != "1") return failures::WrongEnableValue();
  if (Outcome failure = context.AskToChange()) return failure;
  if (!HasCertificates(context)) return failures::NoCertificate();
  const std::vector<Certificate> certificates = CertificatesOf(context);
  context.Change("tls", enable);
  if (enable == "1" && ArePreset(certificates)) {
    context.terminal->Out(kPresetWarning);
  }
  return context.conf->Write(context.Key("tls_enable"), enable);
}

}  // namespace clusterd::sim
