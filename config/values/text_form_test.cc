#include "config/values/text_form.h"

#include <cstdint>
#include <optional>
#include <string>

#include "config/values/nearest_word.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

const LazyRE2 kRow = {R"((\d+) +([a-z]+)( \d+)?)"};

TEST(HasFormTest, TakesTheGroupsInTheirOrderAndWantsTheWholeText) {
  uint32_t number = 0;
  absl::string_view word;
  const std::string text = "12  up";
  ASSERT_TRUE(HasForm(text, *kRow, &number, &word));
  EXPECT_EQ(number, 12u);
  EXPECT_EQ(word, "up");
  EXPECT_EQ(word.data(), text.data() + 4);
  EXPECT_TRUE(HasForm("12 up", *kRow));
  EXPECT_FALSE(HasForm("12 up.", *kRow));
  EXPECT_FALSE(HasForm(" 12 up", *kRow));
  EXPECT_FALSE(HasForm("12 up\n", *kRow));
}

TEST(HasFormTest, ANumberThatDoesNotFitIsAMismatch) {
  uint32_t number = 0;
  EXPECT_TRUE(HasForm("4294967295 up", *kRow, &number));
  EXPECT_FALSE(HasForm("4294967296 up", *kRow, &number));
  // A group without text leaves an optional empty.
  static const LazyRE2 kRange = {R"((\d+)(?:-(\d+))?)"};
  uint32_t first = 0;
  std::optional<uint32_t> last;
  ASSERT_TRUE(HasForm("7", *kRange, &first, &last));
  EXPECT_EQ(last, std::nullopt);
  ASSERT_TRUE(HasForm("7-9", *kRange, &first, &last));
  EXPECT_EQ(last, 9u);
  EXPECT_FALSE(HasForm("7-99999999999", *kRange, &first, &last));
}

TEST(NearestWordTest, FindsOneLetterWrongMissingExtraOrSwapped) {
  for (absl::string_view word :
       {"netmask", "netmast", "netmsk", "nettmask", "netmaks", "NETMASK"}) {
    EXPECT_EQ(NearestWord(word, {"addresses", "netmask", "rails"}), "netmask")
        << word;
  }
  // Prefers the fewest edits and then the first.
  EXPECT_EQ(NearestWord("atlas-a4", {"atlas-a24", "atlas-a2", "atlas-a3"}),
            "atlas-a24");
  EXPECT_EQ(NearestWord("atlas-a4", {"atlas-a2", "atlas-a3"}), "atlas-a2");
  // Says nothing when nothing is near.
  EXPECT_EQ(NearestWord("colour", {"netmask", "rails"}), "");
  EXPECT_EQ(NearestWord("", {"a"}), "");
  EXPECT_EQ(NearestWord("smp", {}), "");
  EXPECT_EQ(NearestWord(std::string(65, 'a'), {std::string(64, 'a')}), "");
}

}  // namespace
}  // namespace clusterd
