#include "client/cli/reigenrun/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "runtime/base/status.h"

namespace reigen::run {
namespace {

using testing::HasSubstr;

TEST(HostfileTest, IsReadAsItIs) {
  const std::string path = testing::TempDir() + "/hosts";
  std::ofstream(path) << "a slots=2\n" << std::string(10000, '#') << "\nb";
  const auto text = ReadHostfile(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), 10 + 10000 + 2u);
}

TEST(HostfileTest, WhatCannotBeOneIsNamed) {
  EXPECT_THAT(Message(ReadHostfile("/nonexistent/hosts").status()),
              HasSubstr("/nonexistent/hosts: No such file"));
  EXPECT_THAT(Message(ReadHostfile("/tmp").status()), HasSubstr("/tmp: Is a directory"));
  EXPECT_THAT(Message(ReadHostfile("/dev/zero").status()), HasSubstr("/dev/zero is no hostfile"));
}

}  // namespace
}  // namespace reigen::run
