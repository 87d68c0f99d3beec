#include "client/cli/reigenrun/output_lines.h"

namespace reigen::run {

std::vector<Piece> LineSplitter::Append(const std::string& data) {
  std::vector<Piece> pieces;
  for (char c : data) {
    if (carriage_) {
      carriage_ = false;
      if (c != '\n') {
        // Bars often begin with \r: the nothing before it is no state of the bar.
        if (!line_.empty()) pieces.push_back({std::exchange(line_, {}), true});
      }
    }
    if (c == '\r') {
      carriage_ = true;
    } else if (c == '\n') {
      pieces.push_back({std::exchange(line_, {}), false});
    } else {
      line_ += c;
      if (line_.size() >= kMaxLineBytes) pieces.push_back({std::exchange(line_, {}), false});
    }
  }
  return pieces;
}

std::vector<Piece> LineSplitter::Finish() {
  carriage_ = false;
  if (line_.empty()) return {};
  return {{std::exchange(line_, {}), false}};
}

std::string OutputFormatter::Format(StreamName stream, const Piece& piece,
                                    const std::string& time) {
  std::string text;
  if (bar_ && !(*bar_ == stream)) text = "\n";
  const bool draw = piece.is_bar && on_terminal_;
  bar_ = draw ? std::optional(stream) : std::nullopt;
  text += time + "[" + std::to_string(stream.rank) + "]<" +
          (stream.is_stderr ? "stderr" : "stdout") + ">:" + piece.text + (draw ? '\r' : '\n');
  return text;
}

std::string OutputFormatter::Plain(const std::string& text) {
  const bool drawing = bar_.has_value();
  bar_.reset();
  return (drawing ? "\n" : "") + text;
}

void Tail::Add(const std::string& line) {
  lines_.push_back(line.size() <= kLineBytes ? line : line.substr(0, kLineBytes) + "...");
  if (lines_.size() > kLines) lines_.pop_front();
}

}  // namespace reigen::run
