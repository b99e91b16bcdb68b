#include "client/ticket/tar_gz.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kBlock = 512;
constexpr uint64_t kMaxFileBytes = uint64_t{8} << 30;  // Eleven octal digits.
// zlib.h: 15 bits of window, and 16 for a gzip header.
constexpr int kGzipWindow = 15 + 16;

struct UstarHeader {
  char name[100];
  char mode[8];
  char uid[8];
  char gid[8];
  char size[12];
  char mtime[12];
  char checksum[8];
  char type;
  char link_name[100];
  char magic[6];
  char version[2];
  char user[32];
  char group[32];
  char device_major[8];
  char device_minor[8];
  char prefix[155];
  char unused[12];
};
static_assert(sizeof(UstarHeader) == kBlock, "a header is one block");

template <size_t kSize>
void SetOctal(uint64_t number, char (&field)[kSize]) {
  const std::string digits = absl::StrFormat("%0*o", kSize - 1, number);
  std::memcpy(field, digits.c_str(), kSize);
}

UstarHeader HeaderOf(absl::string_view name, size_t size, int64_t changed) {
  UstarHeader header = {};
  if (name.size() > sizeof(header.name)) {
    const size_t slash = name.rfind('/');
    name.substr(0, slash).copy(header.prefix, sizeof(header.prefix));
    name.remove_prefix(slash + 1);
  }
  name.copy(header.name, sizeof(header.name));
  SetOctal(0600, header.mode);
  SetOctal(0, header.uid);
  SetOctal(0, header.gid);
  SetOctal(size, header.size);
  constexpr int64_t kMaxTime = 077777777777;
  SetOctal(
      static_cast<uint64_t>(std::min(std::max<int64_t>(changed, 0), kMaxTime)),
      header.mtime);
  header.type = '0';
  std::memcpy(header.magic, "ustar", 6);
  std::memcpy(header.version, "00", 2);
  // The sum counts its own field as blanks.
  std::memset(header.checksum, ' ', sizeof(header.checksum));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&header);
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += bytes[i];
  const std::string digits = absl::StrFormat("%06o", sum);
  std::memcpy(header.checksum, digits.c_str(), 7);
  return header;
}

absl::Status CheckName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const size_t last = parts.back().size();
  if (last > 0 && last <= sizeof(UstarHeader::name) && name[0] != '/' &&
      (name.size() <= sizeof(UstarHeader::name) ||
       name.size() - last - 1 <= sizeof(UstarHeader::prefix)) &&
      !absl::c_linear_search(parts, "..") &&
      name.find('\0') == absl::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "archive: name ", QuotedText(name),
      ", expected a relative path whose last part has at most 100 bytes"));
}

}  // namespace

TarGz::TarGz() {
  begun_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                        kGzipWindow, /*memLevel=*/8, Z_DEFAULT_STRATEGY);
}

TarGz::~TarGz() { deflateEnd(&stream_); }

absl::Status TarGz::Write(absl::string_view bytes, int flush) {
  if (begun_ != Z_OK) {
    return absl::ResourceExhaustedError("archive: no memory to compress");
  }
  char buffer[64 << 10];
  do {
    const size_t part =
        std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max() / 2);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(part);
    bytes.remove_prefix(part);
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof(buffer);
      deflate(&stream_, bytes.empty() ? flush : Z_NO_FLUSH);
      out_.append(buffer, sizeof(buffer) - stream_.avail_out);
    } while (stream_.avail_out == 0);
  } while (!bytes.empty());
  return absl::OkStatus();
}

absl::Status TarGz::Add(absl::string_view name, absl::string_view text,
                        int64_t changed_at_s) {
  RETURN_IF_ERROR(CheckName(name));
  if (text.size() >= kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("archive: ", name, ": ", text.size(),
                     " bytes, expected less than 8 GiB"));
  }
  const UstarHeader header = HeaderOf(name, text.size(), changed_at_s);
  RETURN_IF_ERROR(Write({reinterpret_cast<const char*>(&header), kBlock}, 0));
  RETURN_IF_ERROR(Write(text, Z_NO_FLUSH));
  const size_t over = text.size() % kBlock;
  return Write(std::string(over == 0 ? 0 : kBlock - over, '\0'), Z_NO_FLUSH);
}

absl::StatusOr<std::string> TarGz::Finish() {
  RETURN_IF_ERROR(Write(std::string(2 * kBlock, '\0'), Z_FINISH));
  return std::move(out_);
}

}  // namespace clusterd
