#include "client/ticket/secrets.h"

#include "absl/strings/str_cat.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// A kind of secret: what stands before it, and it. Over bytes: one that is no
// UTF-8 ends no match.
struct SecretForm {
  const char* kind;
  LazyRE2 form;
};

SecretForm kForms[] = {
    // RFC 7468: labels of keys end in "PRIVATE KEY".
    {"private key",
     {R"((?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----))"
      R"((.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|.*))",
      RE2::Latin1}},
    // The beginning of that text was cut off.
    {"private key",
     {R"((?s)\A()([A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----))",
      RE2::Latin1}},
    {"authorization",
     {R"((?i)(\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+))"
      R"(([^\s"',;]+))",
      RE2::Latin1}},
    // In quotes, which inside of JSON have a backslash each.
    {"value",
     {R"((?i)([\w.-]{0,64}(?:token|passw(?:or)?d|passphrase|secret|credential|)"
      R"(api_?-?key|access_?-?key|private_?-?key)[\w.-]{0,64}\\?["']?\s*[=:]\s*)"
      R"(b?\\?["'])((?:[^"'\\\n]|\\[^"'])+))",
      RE2::Latin1}},
    {"value",
     {R"((?i)([\w.-]{0,64}(?:token|passw(?:or)?d|passphrase|secret|credential|)"
      R"(api_?-?key|access_?-?key|private_?-?key)[\w.-]{0,64}\\?["']?\s*[=:]\s*))"
      R"(([^\s"',;&\\\[\]{}()](?:[^\s"',;&\\]|\\[^"'])*))",
      RE2::Latin1}},
    // A program's option and its value, also in a list of words; no path.
    {"value",
     {R"((?i)(--[\w-]{0,64}(?:token|passw|secret|api_?-?key)[\w-]{0,64}["',\\]{0,3})"
      R"(\s+["'\\]{0,2})([^\s"',;&\\/.\[-][^\s"',;&\\]*))",
      RE2::Latin1}},
    {"address",
     {R"((\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@]{1,128}:))"
      R"(([^\s/@]{1,256})@)",
      RE2::Latin1}},
    {"token",
     {R"((\b)(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|gh[pousr]_\w{20,}|)"
      R"(github_pat_\w{20,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|)"
      R"((?:AKIA|ASIA)[0-9A-Z]{16}))",
      RE2::Latin1}}};

std::string Without(SecretForm& form, absl::string_view text,
                    RemovedSecrets* removed) {
  std::string kept;
  re2::StringPiece rest(text.data(), text.size());
  re2::StringPiece head;
  re2::StringPiece secret;
  const char* from = text.data();
  while (RE2::FindAndConsume(&rest, *form.form, &head, &secret)) {
    const char* const begin = secret.data();
    kept.append(from, static_cast<size_t>(begin - from));
    from = begin + secret.size();
    // What another form has taken out before is no secret any more.
    if (secret == "[removed]") {
      kept.append("[removed]");
      continue;
    }
    kept.append("[removed]");
    ++(*removed)[form.kind];
  }
  kept.append(from, static_cast<size_t>(text.data() + text.size() - from));
  return kept;
}

}  // namespace

std::string WithoutSecrets(absl::string_view text, RemovedSecrets* removed) {
  std::string kept(text);
  for (SecretForm& form : kForms) kept = Without(form, kept, removed);
  return kept;
}

}  // namespace clusterd
