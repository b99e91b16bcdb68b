#include <sstream>

#include "config/words/terminal.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

Style Window(int width) {
  Style style;
  style.utf8 = true;
  style.width = width;
  return style;
}

template <typename Print>
std::string Printed(const Style& style, const Print& print) {
  std::ostringstream out;
  Page page(style, out);
  print(page);
  return out.str();
}

std::string Table(const std::vector<Row>& rows, const TableLayout& layout,
                  int width = 0) {
  return Printed(Window(width),
                 [&](Page& page) { page.PrintTable(rows, layout); });
}

constexpr auto kCut = TableLayout::Last::kIsCut;
constexpr auto kWrapped = TableLayout::Last::kIsWrapped;

TEST(PageTableTest, AlignsColumnsAndEndsLinesWithoutSpaces) {
  EXPECT_EQ(Table({{{"STATE"}, {"HOSTS"}, {""}},
                   {{"é"}, {"server[0-1]"}, {"1 drifted"}}},
                  {}),
            "STATE  HOSTS\n"
            "é      server[0-1]  1 drifted\n");
  // Lets the last cell of a row make no column wider.
  EXPECT_EQ(Table({{{"a"}, {"a long one"}}, {{"b"}, {"x"}, {"y"}}}, {2}),
            "  a  a long one\n"
            "  b  x  y\n");
  // Cuts or wraps the last cell at the window.
  const std::vector<Row> rows = {{{"a"}, {"one two three four five six"}}};
  EXPECT_EQ(Table(rows, {0, kCut}, 25), "a  one two three four fi…\n");
  EXPECT_EQ(Table(rows, {0, kWrapped}, 25),
            "a  one two three four\n"
            "   five six\n");
  EXPECT_EQ(Table(rows, {0, kCut}), "a  one two three four five six\n");
  EXPECT_EQ(Table(rows, {0, kCut, 25}), "a  one two three four fi…\n");
  // Paints cells with their padding.
  Style style = Window(0);
  style.color = true;
  EXPECT_EQ(Printed(style,
                    [](Page& page) {
                      page.PrintTable({{{"a", Paint::kRed}, {"b"}},
                                       {{"aa"}, {"c", Paint::kGreen}}},
                                      {});
                    }),
            "\x1b[31ma \x1b[0m  b\naa  \x1b[32mc\x1b[0m\n");
}

TEST(PageTest, PutsFurtherLinesBelowTheFirst) {
  EXPECT_EQ(Printed(Window(24),
                    [](Page& page) {
                      page.Wrapped("why ", "one two three four five\nsix");
                      page.Whole("fix ", "a command that is not to be broken");
                    }),
            "why one two three four\n"
            "    five\n"
            "    six\n"
            "fix a command that is not to be broken\n");
  // Paints the word of a sentence only and makes titles notes and lines safe.
  Style style = Window(0);
  style.color = true;
  EXPECT_EQ(Printed(style,
                    [](Page& page) {
                      page.Sentence("PASS", Paint::kGreen, "all\x1b");
                    }),
            "\x1b[32m\x1b[1mPASS\x1b[0m\x1b[0m: all\\x1b\n");
  EXPECT_EQ(Printed(Window(0),
                    [](Page& page) {
                      page.Title("a\x1b");
                      page.PrintNotes(std::vector<std::string>{"b\nc"});
                      page.Whole("", page.SafeLines("d\x1b\ne"));
                    }),
            "\na\\x1b\nnote: b\n  c\nd\\x1b\ne\n");
}

}  // namespace
}  // namespace clusterd
