#include "worker/guard/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reigen::worker {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    read_end = UniqueFd(fds[0]);
    write_end = UniqueFd(fds[1]);
  }
  void Write(const std::string& text) {
    EXPECT_EQ(write(write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  UniqueFd read_end, write_end;
};

class RelayTest : public testing::Test {
 protected:
  RelayTest() {
    std::vector<UniqueFd> outputs;
    outputs.push_back(std::move(stdout_.read_end));
    outputs.push_back(std::move(stderr_.read_end));
    relay_.Watch(std::move(outputs), {3}, std::move(log_.read_end));
  }

  // What the launcher has got: per stream "O" or "E" its text, with "." at the end.
  std::map<std::string, std::string> Got() {
    FrameReader reader(launcher_.read_end.get());
    std::map<std::string, std::string> got;
    EXPECT_TRUE(reader.Fill().ok());
    for (;;) {
      const auto frame = reader.Next();
      if (!frame.ok() || !frame->has_value()) return got;
      launch::FromGuard message;
      EXPECT_TRUE(message.ParseFromString(**frame));
      if (message.has_log()) got["log"] += message.log().text() + "|";
      if (!message.has_output()) continue;
      EXPECT_EQ(message.output().rank(), 3);
      std::string& text = got[message.output().is_stderr() ? "E" : "O"];
      text += message.output().data() + (message.output().end() ? "." : "");
    }
  }

  Pipe launcher_, stdout_, stderr_, log_;
  Relay relay_{launcher_.write_end.get()};
};

TEST_F(RelayTest, WhatTheDeadLeftInTheirPipesArrives) {
  stdout_.Write("last words");
  stdout_.write_end.Reset();
  stderr_.Write("of a rank");  // whose pipe a grandchild still has
  log_.Write("a line\nhalf a li");
  ASSERT_TRUE(relay_.Drain());
  const auto got = Got();
  EXPECT_EQ(got.at("O"), "last words.");
  EXPECT_EQ(got.at("E"), "of a rank.");
  EXPECT_EQ(got.at("log"), "a line|half a li|");
}

TEST_F(RelayTest, ALogLineGoesOutOnceItIsWhole) {
  log_.Write("half ");
  relay_.Progress();
  EXPECT_TRUE(Got().empty());
  log_.Write("a line\n");
  relay_.Progress();
  EXPECT_EQ(Got().at("log"), "half a line|");
}

}  // namespace
}  // namespace reigen::worker
