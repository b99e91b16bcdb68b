#include "tests/sim/tool/product.h"

#include <stdlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace clusterd::sim {
namespace {

// Siblings are compared in groups: ids below this, and the rest.
constexpr int kGroupSize = 4;
// Server ids from here on mean "not in a super pod".
constexpr int kFirstIdOutsidePod = 48;

std::vector<int> FirstIds(int count) {
  std::vector<int> ids(count);
  for (int i = 0; i < count; ++i) ids[i] = i;
  return ids;
}

struct Row {
  const char* name;
  Product::Build build;
  bool smp;
  int board_id;
  int mainboard_id;
  int server_id;
  int devices;  // 0: the two cards 1 and 4.
};

constexpr Row kProducts[] = {
    {"A1-SMP", Product::Build::kA1, true, 0x21, 0x0, 1023, 8},
    {"A1-AMP", Product::Build::kA1, false, 0x21, 0x0, 1023, 8},
    {"A2", Product::Build::kA2, false, 0x30, 0x3, 1023, 8},
    {"A2-board-0x0", Product::Build::kA2, false, 0x0, 0x3, 1023, 8},
    {"A2-Box16", Product::Build::kA2, false, 0x50, 0x3, 1023, 16},
    {"A2-PCIe-card", Product::Build::kA2, false, 0x10, 0x3, 1023, 0},
    {"A2-default-build", Product::Build::kA2Default, false, 0x30, 0x3, 1023, 8},
    {"A3-no-pod", Product::Build::kA3, false, 0xb0, 0x15, 1023, 16},
    {"A3-superpod", Product::Build::kA3, false, 0xb0, 0x18, 0, 16},
    {"A3-9000", Product::Build::kA3, false, 0xb0, 0x1c, 0, 8},
};

std::vector<int> ParseIds(const std::string& text) {
  std::vector<int> ids;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    const int first = std::max(atoi(ends.front().c_str()), 0);
    const int last = std::min(atoi(ends.back().c_str()), 63);
    for (int id = first; id <= last; ++id) ids.push_back(id);
  }
  return ids;
}

bool InSubnet(uint32_t address, uint32_t network, int prefix) {
  return (address >> (32 - prefix)) == (network >> (32 - prefix));
}

constexpr uint32_t Quad(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// A server's own modules share an address space; cards only check their own
// addresses. The tool distinguishes them by bits of the board id, and so takes
// every board from 0x30 on for a card (hicann/driver 05354178, tool_ops.c and
// the header of tool).
bool IsCard(int board) {
  constexpr int kNoCardBits = 0xe00;
  const int kind = board & 0xfff0;
  return (kind & kNoCardBits) == 0 && kind != 0 && kind != 0x20;
}

std::vector<int> GroupOf(const Product& product, int device) {
  std::vector<int> group;
  for (int id : product.devices) {
    if ((id < kGroupSize) == (device < kGroupSize)) group.push_back(id);
  }
  return group;
}

}  // namespace

bool FindProduct(const std::string& name, Product* product) {
  for (const Row& row : kProducts) {
    if (name != row.name) continue;
    product->name = row.name;
    product->build = row.build;
    product->smp = row.smp;
    product->board_id = row.board_id;
    product->mainboard_id = row.mainboard_id;
    product->server_id = row.server_id;
    product->devices =
        row.devices > 0 ? FirstIds(row.devices) : std::vector<int>{1, 4};
    return true;
  }
  return false;
}

Product ProductOf(const DeviceState& state) {
  Product product;
  FindProduct(state.Find("product").value_or("A2"), &product);
  auto take = [&state](const char* key, int* into) {
    if (auto number = state.Number(key)) *into = static_cast<int>(*number);
  };
  take("board_id", &product.board_id);
  take("mainboard_id", &product.mainboard_id);
  take("server_id", &product.server_id);
  if (auto ids = state.Find("devices")) product.devices = ParseIds(*ids);
  return product;
}

bool Is9000(const Product& product) {
  return product.mainboard_id == 0x1c || product.mainboard_id == 0x1d;
}

bool IsA3(const Product& product) {
  const int id = product.mainboard_id;
  return id == 0x14 || id == 0x15 || id == 0x18 || id == 0x19 ||
         Is9000(product);
}

bool InSuperPod(const Product& product) {
  return IsA3(product) && product.server_id < kFirstIdOutsidePod;
}

bool HasDevice(const Product& product, int device) {
  return std::find(product.devices.begin(), product.devices.end(), device) !=
         product.devices.end();
}

bool IsReserved(const Product& product, uint32_t address) {
  if (InSuperPod(product)) return InSubnet(address, Quad(192, 0, 0, 0), 8);
  if (IsA3(product)) return InSubnet(address, Quad(192, 168, 0, 0), 21);
  if (InSubnet(address, Quad(192, 168, 1, 0), 24)) return true;
  if (InSubnet(address, Quad(192, 168, 2, 0), 24)) return true;
  if (product.build != Product::Build::kA1 || !product.smp) return false;
  return InSubnet(address, Quad(192, 168, 3, 0), 24) ||
         InSubnet(address, Quad(192, 168, 4, 0), 23);
}

std::vector<int> DevicesCompared(const Product& product, int device) {
  std::vector<int> compared;
  if (Is9000(product)) return compared;
  if (IsA3(product)) {
    if (HasDevice(product, device ^ 1)) compared.push_back(device ^ 1);
    return compared;
  }
  if (IsCard(product.board_id)) return compared;
  for (int id : GroupOf(product, device)) {
    if (id != device) compared.push_back(id);
  }
  return compared;
}

std::vector<int> VnicsCompared(const Product& product, int device) {
  if (IsA3(product)) return {};
  if (IsCard(product.board_id)) return {device};
  return GroupOf(product, device);
}

std::vector<int> GatewayGroup(const Product& product, int device) {
  const bool shared = product.build == Product::Build::kA1 && !IsA3(product) &&
                      !IsCard(product.board_id);
  return shared ? GroupOf(product, device) : std::vector<int>{device};
}

bool NotesModuleResets(const Product& product) {
  constexpr int kMainboard = 3;
  const int kind = (product.board_id >> 4) & 0x7;
  return product.build != Product::Build::kA1 && !IsA3(product) &&
         (kind == 3 || kind == 4) && product.mainboard_id == kMainboard;
}

int MaxPausing(const Product& product) {
  return product.build == Product::Build::kA1 ? 8 : 4;
}

bool HasRetimer(const Product& product) {
  const int id = product.mainboard_id;
  if (IsA3(product)) return id == 0x18 || id == 0x19;
  const int kind = (product.board_id >> 4) & 0x7;
  return NotesModuleResets(product) ||
         (product.build != Product::Build::kA1 && (kind == 5 || kind == 6));
}

bool HasFrontLanes(const Product& product, int device) {
  const int kind = (product.board_id >> 4) & 0x7;
  if (IsA3(product)) return Is9000(product) || device < 8;
  return (kind != 5 && kind != 6) || device % 2 == 0;
}

Vnic DefaultVnic(const Product& product, int device) {
  if (InSuperPod(product)) {
    return {absl::StrCat("192.0.", 2 + device / 2, ".", 199 - device % 2),
            "255.0.0.0"};
  }
  if (product.build == Product::Build::kA1 && product.smp) {
    return {absl::StrCat("192.168.", 2 + device % 4, ".", 199 - device / 4),
            "255.255.255.0"};
  }
  return {absl::StrCat("192.168.2.", 199 - device), "255.255.255.0"};
}

}  // namespace clusterd::sim
