#include "runtime/transport/tcp/poller.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <string>

#include "runtime/base/unique_fd.h"

namespace reigen::transport {
namespace {

TEST(PollerTest, ADescriptorThatCannotBeWatchedIsNamed) {
  Poller poller;
  const UniqueFd fd(eventfd(0, EFD_CLOEXEC));
  const auto first = poller.Add(fd.get(), EPOLLIN, [](uint32_t) {});
  ASSERT_TRUE(first.ok());
  const auto second = poller.Add(fd.get(), EPOLLIN, [](uint32_t) {});
  ASSERT_FALSE(second.ok());
  const std::string text = second.status().ToString();
  EXPECT_NE(text.find("descriptor " + std::to_string(fd.get())), std::string::npos) << text;
  EXPECT_NE(text.find("File exists"), std::string::npos) << text;
}

}  // namespace
}  // namespace reigen::transport
