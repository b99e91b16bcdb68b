#include "tests/support/report/sample_reports.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "config/rules/judge.h"
#include "google/protobuf/descriptor.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

constexpr int kHostsOfRack = 18;
constexpr int kBrokenEvery = 9;
constexpr int kBrokenDevices = 4;

void SetLeaf(int leaf, DeviceFacts* device) {
  LldpNeighbour* const neighbour = device->mutable_lldp()->mutable_value();
  neighbour->Clear();
  neighbour->set_heard(true);
  neighbour->set_peer(LldpNeighbour::SWITCH);
  neighbour->set_system_name(absl::StrFormat("leaf-%03d", leaf));
  neighbour->set_chassis_id(
      absl::StrFormat("6c:b1:58:00:%02x:%02x", leaf / 256, leaf % 256));
}

void BreakDevice(DeviceFacts* device) {
  Ipv4Setting* const setting =
      device->mutable_address()->mutable_value()->mutable_settings(0);
  setting->set_netmask("255.255.255.128");
  device->mutable_link()->set_value(LinkFact::DOWN);
}

void BreakHost(int number, HostFacts* host) {
  if (number % kBrokenEvery == 0) {
    for (int d = 0; d < std::min(kBrokenDevices, host->devices_size()); ++d) {
      BreakDevice(host->mutable_devices(d));
    }
  }
  if (number % 160 == 7) {
    host->mutable_versions()->mutable_driver()->set_value("24.1.rc2");
  }
  if (number / kHostsOfRack == 3) {
    for (DeviceFacts& device : *host->mutable_devices()) {
      device.mutable_mtu()->set_value(1024);
    }
  }
  if (number % 29 == 1)
    host->mutable_kernel()->mutable_somaxconn()->set_value(128);
}

class Filler {
 public:
  explicit Filler(absl::Span<const std::string> texts) : texts_(texts) {}

  void Fill(google::protobuf::Message* message) {
    const auto* const type = message->GetDescriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      FillField(*type->field(i), message);
    }
  }

 private:
  std::string NextText() {
    const std::string text = texts_[next_ % texts_.size()];
    return absl::StrCat(text, ++next_);
  }

  void FillField(const google::protobuf::FieldDescriptor& field,
                 google::protobuf::Message* message) {
    using Field = google::protobuf::FieldDescriptor;
    const auto* const reflection = message->GetReflection();
    const bool many = field.is_repeated();
    for (int i = 0; i < (many ? 2 : 1); ++i) {
      if (field.cpp_type() == Field::CPPTYPE_STRING) {
        many ? reflection->AddString(message, &field, NextText())
             : reflection->SetString(message, &field, NextText());
      } else if (field.cpp_type() == Field::CPPTYPE_MESSAGE) {
        // Values are nested.
        if (field.message_type() == message->GetDescriptor()) continue;
        Fill(many ? reflection->AddMessage(message, &field)
                  : reflection->MutableMessage(message, &field));
      } else if (field.cpp_type() == Field::CPPTYPE_UINT32) {
        many ? reflection->AddUInt32(message, &field, i)
             : reflection->SetUInt32(message, &field, 1);
      } else if (field.cpp_type() == Field::CPPTYPE_ENUM) {
        reflection->SetEnumValue(message, &field, FAIL);
      }
    }
  }

  absl::Span<const std::string> texts_;
  size_t next_ = 0;
};

}  // namespace

Report LargeBrokenReport(int hosts) {
  ClusterSpec spec = MakeSpec("atlas-a2", "", hosts);
  spec.set_name("large");
  std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  for (int h = 0; h < hosts; ++h) {
    const int rack = h / kHostsOfRack;
    spec.mutable_servers(h)->set_rack(absl::StrFormat("r%02d", rack + 1));
    for (DeviceFacts& device : *facts[h].mutable_devices()) {
      SetLeaf(8 * (rack / 2) + static_cast<int>(device.id()), &device);
    }
    BreakHost(h, &facts[h]);
    if (h % 190 == 11) {
      facts[h] = MakeSilentHost(spec.servers(h).host(), Missing::NO_ANSWER,
                                "never attached");
    }
  }
  DeviceFacts* const swapped = facts[hosts / 2 + 1].mutable_devices(2);
  const int leaf = 8 * ((hosts / 2 + 1) / kHostsOfRack / 2);
  SetLeaf(leaf + 3, swapped);
  SetLeaf(leaf + 2, facts[hosts / 2 + 1].mutable_devices(3));
  Report report = BuildReport(spec, Pointers(facts), {});
  report.set_run_id("3fa2c4d5e6f70812");
  report.set_started_at_ms(1790000000000);
  report.set_elapsed_ms(4200);
  report.set_clusterd_version("0.0.0");
  return report;
}

Report SmallBrokenReport() {
  ClusterSpec spec = MakeSpec("atlas-training", "", 2);
  spec.set_name("demo");
  std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  facts[1].mutable_devices(3)->mutable_link()->set_value(LinkFact::DOWN);
  facts[1].mutable_devices(3)->mutable_net_health()->set_value(
      NET_HEALTH_RECEIVE_TIMEOUT);
  Report report = BuildReport(spec, Pointers(facts), {});
  report.set_run_id("3fa2c4d5e6f70812");
  report.set_started_at_ms(1790000000000);
  report.set_elapsed_ms(1300);
  return report;
}

absl::Span<const std::string> HostileTexts() {
  static const auto* const texts = new std::vector<std::string>{
      "\"><script>document.title='owned'</script>",
      "javascript:document.title='owned'",
      "' onmouseover='document.title=\"owned\"' x='",
      "\" autofocus onfocus=\"document.title='owned'",
      "</script><script>document.title='owned'</script>",
      "<!--<script>document.title='owned'//",
      "--></pre></title></style>"
      "<img src=http://127.0.0.1:9/x onerror=document.title='owned'>",
      "&lt;script&gt;&#60;script>&quot;",
      "{{JSON}}{{#BOX}}{{/BOX}}{{%AUTOESCAPE context=\"HTML\"}}",
      "\xe2\x80\xa8"
      "document.title='owned'\xe2\x80\xa9\xe2\x80\xae",
      "a\nb\r\n\tc`document.title='owned'`$(x)",
      "\\\"},\"verdict\":\"PASS\"}];document.title='owned'//",
      "</textarea></noscript><base href=http://127.0.0.1:9/><svg "
      "onload=document.title='owned'>",
  };
  return *texts;
}

void FillTexts(absl::Span<const std::string> texts,
               google::protobuf::Message* message) {
  Filler(texts).Fill(message);
}

}  // namespace clusterd
