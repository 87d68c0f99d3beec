#include "runtime/base/frame_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace reigen {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read_end.Reset(fds[0]);
    write_end.Reset(fds[1]);
  }
  UniqueFd read_end, write_end;
};

TEST(FrameParserTest, FindsFramesWhateverTheCuts) {
  const std::string bytes = EncodeFrame("") + EncodeFrame(std::string("a\0b", 3)) + EncodeFrame("xyz");
  for (size_t cut = 1; cut <= bytes.size(); ++cut) {
    FrameParser parser;
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += cut) {
      parser.Append(bytes.data() + at, std::min(cut, bytes.size() - at));
      for (;;) {
        auto next = parser.Next();
        ASSERT_TRUE(next.ok());
        if (!*next) break;
        found.push_back(**next);
      }
    }
    EXPECT_EQ(found, (std::vector<std::string>{"", std::string("a\0b", 3), "xyz"}));
    EXPECT_TRUE(parser.empty());
  }
}

TEST(FrameParserTest, RefusesAFrameAboveTheLimit) {
  FrameParser parser(/*max_bytes=*/8);
  const std::string bytes = EncodeFrame("123456789");
  parser.Append(bytes.data(), bytes.size());
  EXPECT_EQ(parser.Next().status().code(), StatusCode::kInvalidArgument);
}

TEST(FrameReaderTest, SaysWhenTheStreamIsClosedAndWhenTimeIsUp) {
  Pipe pipe;
  FrameReader reader(pipe.read_end.get());
  EXPECT_EQ(reader.Read(Now()).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(WriteFrame(pipe.write_end.get(), "hello", Now() + seconds(5)).ok());
  pipe.write_end.Reset();
  EXPECT_EQ(*reader.Read(Now() + seconds(5)), "hello");
  EXPECT_EQ(reader.Read(Now() + seconds(5)).status().code(), StatusCode::kUnavailable);
}

TEST(FrameWriterTest, KeepsWhatAFullPipeDoesNotTake) {
  Pipe pipe;
  ASSERT_TRUE(SetNonBlocking(pipe.write_end.get()).ok());
  FrameWriter writer(pipe.write_end.get());
  const std::string large(1 << 20, 'x');
  writer.Queue(large);
  ASSERT_TRUE(writer.Flush().ok());
  EXPECT_GT(writer.pending_bytes(), 0u);
  FrameReader reader(pipe.read_end.get());
  for (;;) {
    ASSERT_TRUE(writer.Flush().ok());
    ASSERT_TRUE(*reader.Fill());
    auto next = reader.Next();
    ASSERT_TRUE(next.ok());
    if (!*next) continue;
    EXPECT_EQ(**next, large);
    break;
  }
  EXPECT_EQ(writer.pending_bytes(), 0u);
}

}  // namespace
}  // namespace reigen
