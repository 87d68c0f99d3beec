#include "client/cli/reigenrun/output_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

// All pieces of `data`, cut after every `cut` bytes: "line|", "bar^".
std::string Pieces(const std::string& data, size_t cut) {
  LineSplitter splitter;
  std::string text;
  const auto add = [&](const std::vector<Piece>& pieces) {
    for (const Piece& p : pieces) text += p.text + (p.is_bar ? "^" : "|");
  };
  for (size_t at = 0; at < data.size(); at += cut) add(splitter.Append(data.substr(at, cut)));
  add(splitter.Finish());
  return text;
}

TEST(LineSplitterTest, CutsTheSameWhateverTheReads) {
  const std::string data = "one\n\ntwo\r\n10%\r20%\r100%\ndone\n\r 1%\r 2%\ntail";
  for (size_t cut = 1; cut <= data.size(); ++cut) {
    EXPECT_EQ(Pieces(data, cut), "one||two|10%^20%^100%|done| 1%^ 2%|tail|") << cut;
  }
}

TEST(LineSplitterTest, KeepsATailAndABarAtTheEnd) {
  EXPECT_EQ(Pieces("a\nb", 3), "a|b|");
  EXPECT_EQ(Pieces("50%\r", 3), "50%|");
  EXPECT_EQ(Pieces("", 1), "");
}

TEST(LineSplitterTest, AnEndlessLineIsPassedOnInParts) {
  LineSplitter splitter;
  const auto pieces = splitter.Append(std::string(LineSplitter::kMaxLineBytes + 1, 'x'));
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].text.size(), LineSplitter::kMaxLineBytes);
  EXPECT_EQ(splitter.Finish()[0].text, "x");
}

TEST(OutputFormatterTest, EachPieceHasOnePrefix) {
  OutputFormatter file(/*on_terminal=*/false);
  EXPECT_EQ(file.Format({3, false}, {"hello", false}, ""), "[3]<stdout>:hello\n");
  EXPECT_EQ(file.Format({0, true}, {"10%", true}, "12:00 "), "12:00 [0]<stderr>:10%\n");
}

TEST(OutputFormatterTest, ABarOnATerminalIsDrawnOverAndKeptWhenOthersWrite) {
  OutputFormatter terminal(/*on_terminal=*/true);
  EXPECT_EQ(terminal.Format({0, false}, {"10%", true}, ""), "[0]<stdout>:10%\r");
  EXPECT_EQ(terminal.Format({0, false}, {"20%", true}, ""), "[0]<stdout>:20%\r");
  EXPECT_EQ(terminal.Format({1, false}, {"x", false}, ""), "\n[1]<stdout>:x\n");
  EXPECT_EQ(terminal.Format({0, false}, {"30%", true}, ""), "[0]<stdout>:30%\r");
  EXPECT_EQ(terminal.Plain("note\n"), "\nnote\n");
  EXPECT_EQ(terminal.Plain("note\n"), "note\n");
}

TEST(TailTest, KeepsTheLastLinesCut) {
  Tail tail;
  for (int i = 0; i < 25; ++i) tail.Add(std::to_string(i));
  tail.Add(std::string(2000, 'x'));
  EXPECT_EQ(tail.lines().size(), Tail::kLines);
  EXPECT_EQ(tail.lines().front(), "16");
  EXPECT_LT(tail.lines().back().size(), 600u);
}

}  // namespace
}  // namespace reigen::run
