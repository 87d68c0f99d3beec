#include "client/cli/reigenrun/output_lines.h"

#include <algorithm>

namespace reigen::run {

std::vector<Piece> LineSplitter::Append(const std::string& data) {
  std::vector<Piece> pieces;
  for (size_t at = 0; at < data.size();) {
    const size_t end = std::min(data.find_first_of("\r\n", at), data.size());
    if (carriage_ && (end > at || data[end] != '\n')) {
      carriage_ = false;
      // Bars often begin with \r: the nothing before it is no state of the bar.
      if (!line_.empty()) pieces.push_back({std::exchange(line_, {}), true});
    }
    for (size_t room; at < end; at += room) {
      room = std::min(end - at, kMaxLineBytes - line_.size());
      line_.append(data, at, room);
      if (line_.size() == kMaxLineBytes) pieces.push_back({std::exchange(line_, {}), false});
    }
    if (end == data.size()) break;
    carriage_ = data[end] == '\r';
    if (!carriage_) pieces.push_back({std::exchange(line_, {}), false});
    at = end + 1;
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
