// From the bytes of a trainer's stream to what the terminal shows: whole lines with
// one prefix each. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_LINES_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_LINES_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reigen::run {

// A line, or a state of a progress bar (ended by \r): without its end.
struct Piece {
  std::string text;
  bool is_bar = false;
};

// Cuts one stream at \n, \r\n and \r.
class LineSplitter {
 public:
  // A longer line is passed on in parts of this size.
  static constexpr size_t kMaxLineBytes = 1 << 20;

  std::vector<Piece> Append(const std::string& data);
  // What is left of a stream that has ended.
  std::vector<Piece> Finish();

 private:
  std::string line_;
  bool carriage_ = false;  // the last byte was \r: a bar, unless \n follows
};

struct StreamName {
  int rank = 0;
  bool is_stderr = false;
  bool operator==(const StreamName&) const = default;
};

// Puts the prefix before each piece: `[3]<stdout>:` after the time, if wanted. On a
// terminal a bar is drawn over by the next piece of its stream, and kept when
// another stream writes; elsewhere each of its states is a line.
class OutputFormatter {
 public:
  explicit OutputFormatter(bool on_terminal) : on_terminal_(on_terminal) {}

  std::string Format(StreamName stream, const Piece& piece, const std::string& time);
  // For text of the launcher itself: ends a bar that is being drawn.
  std::string Plain(const std::string& text);

 private:
  bool on_terminal_;
  std::optional<StreamName> bar_;
};

// The last lines of a stream, for the message about a failure.
class Tail {
 public:
  static constexpr size_t kLines = 10;
  static constexpr size_t kLineBytes = 500;

  void Add(const std::string& line);
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  std::deque<std::string> lines_;
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_LINES_H_
