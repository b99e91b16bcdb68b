#include "daemon/host/hccn_query/hccn_port.h"

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/hccn_query/hccn_named_values.h"

namespace clusterd {
namespace {

constexpr uint32_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

absl::StatusOr<absl::string_view> OnlyValueOf(absl::string_view name,
                                              absl::string_view output) {
  const absl::string_view names[] = {name};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(names, output);
  if (!values.ok()) return values.status();
  return values->front();
}

// "12.34 MB/sec", in hundredths.
absl::StatusOr<uint64_t> ParseLoad(absl::string_view text) {
  const auto malformed = [text] {
    return UnexpectedHccnText(text, "a load like \"12.34 MB/sec\"");
  };
  absl::string_view number = text;
  if (!absl::ConsumeSuffix(&number, " MB/sec")) return malformed();
  const size_t point = number.find('.');
  if (point == absl::string_view::npos) return malformed();
  const absl::string_view decimals = number.substr(point + 1);
  if (decimals.size() != 2 || !absl::ascii_isdigit(decimals[0]) ||
      !absl::ascii_isdigit(decimals[1])) {
    return malformed();
  }
  const absl::StatusOr<uint64_t> whole =
      ParseHccnNumber(number.substr(0, point), kMaxUint32);
  if (!whole.ok()) return malformed();
  return *whole * 100 + static_cast<uint64_t>(decimals[0] - '0') * 10 +
         static_cast<uint64_t>(decimals[1] - '0');
}

// Takes "bw_max[200000 Mbps]" from the start of `text`.
bool ConsumeLimit(absl::string_view label, absl::string_view* text,
                  uint32_t* mbps) {
  constexpr absl::string_view kEnd = " Mbps]";
  if (!absl::ConsumePrefix(text, absl::StrCat(label, "["))) return false;
  const size_t end = text->find(kEnd);
  if (end == absl::string_view::npos) return false;
  const absl::StatusOr<uint64_t> number =
      ParseHccnNumber(text->substr(0, end), kMaxUint32);
  if (!number.ok()) return false;
  *mbps = static_cast<uint32_t>(*number);
  text->remove_prefix(end + kEnd.size());
  return true;
}

}  // namespace

absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output) {
  const absl::StatusOr<absl::string_view> value = OnlyValueOf("Speed", output);
  if (!value.ok()) return value.status();
  if (*value == "Unknown!") return std::optional<uint32_t>();
  absl::string_view number = *value;
  const bool has_unit = absl::ConsumeSuffix(&number, " Mb/s");
  const absl::StatusOr<uint64_t> mbps = ParseHccnNumber(number, kMaxUint32);
  if (!has_unit || !mbps.ok()) {
    return UnexpectedHccnText(*value, "a speed like \"200000 Mb/s\"");
  }
  return std::optional<uint32_t>(static_cast<uint32_t>(*mbps));
}

absl::StatusOr<HccnDuplex> ParseHccnDuplex(absl::string_view output) {
  const absl::StatusOr<absl::string_view> value = OnlyValueOf("Duplex", output);
  if (!value.ok()) return value.status();
  if (*value == "Full") return HccnDuplex::kFull;
  if (*value == "Half") return HccnDuplex::kHalf;
  if (*value == "Unknown!") return HccnDuplex::kUnknown;
  return UnexpectedHccnText(*value, "Full, Half or Unknown!");
}

absl::StatusOr<std::string> ParseHccnMac(absl::string_view output) {
  const absl::StatusOr<absl::string_view> value =
      OnlyValueOf("mac addr", output);
  if (!value.ok()) return value.status();
  constexpr size_t kBytes = 6;
  bool is_mac = value->size() == kBytes * 3 - 1;
  for (size_t i = 0; is_mac && i < value->size(); ++i) {
    const char c = (*value)[i];
    is_mac = i % 3 == 2 ? c == ':' : absl::ascii_isxdigit(c);
  }
  if (!is_mac) return UnexpectedHccnText(*value, "a MAC address");
  return std::string(*value);
}

absl::StatusOr<HccnFec> ParseHccnFec(absl::string_view output) {
  const absl::StatusOr<absl::string_view> value =
      OnlyValueOf("fec mode", output);
  if (!value.ok()) return value.status();
  if (*value == "rs FEC mode") return HccnFec::kRs;
  if (*value == "no FEC mode") return HccnFec::kNone;
  if (*value == "auto FEC mode") return HccnFec::kAuto;
  return UnexpectedHccnText(*value, "rs, no or auto FEC mode");
}

absl::StatusOr<HccnBandwidth> ParseHccnBandwidth(absl::string_view output) {
  constexpr absl::string_view kNames[] = {"Bandwidth TX", "Bandwidth RX"};
  const absl::StatusOr<std::vector<absl::string_view>> values =
      ParseHccnValuesOf(kNames, output);
  if (!values.ok()) return values.status();
  const absl::StatusOr<uint64_t> sent = ParseLoad((*values)[0]);
  if (!sent.ok()) return sent.status();
  const absl::StatusOr<uint64_t> received = ParseLoad((*values)[1]);
  if (!received.ok()) return received.status();
  return HccnBandwidth{*sent, *received};
}

absl::StatusOr<HccnShaping> ParseHccnShaping(absl::string_view output) {
  const absl::StatusOr<absl::string_view> line = OnlyHccnDataLine(output);
  if (!line.ok()) return line.status();
  absl::string_view rest = *line;
  HccnShaping shaping;
  bool ok = ConsumeLimit("bw_limit", &rest, &shaping.limit_mbps) &&
            ConsumeLimit(", bw_max", &rest, &shaping.max_mbps);
  if (ok && !rest.empty()) {
    uint32_t current = 0;
    ok = ConsumeLimit(", bw_cur", &rest, &current) && rest.empty();
    shaping.current_mbps = current;
  }
  if (!ok) {
    return UnexpectedHccnText(*line, "\"bw_limit[N Mbps], bw_max[N Mbps]\"");
  }
  return shaping;
}

}  // namespace clusterd
