#include "runtime/probe/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/probe/testing/tree.h"

namespace reigen::probe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SysfsTest, WhatIsNotThereIsNothing) {
  const Tree tree("empty");
  EXPECT_EQ(FirstLine(tree.root() + "/no"), std::nullopt);
  EXPECT_EQ(FirstNumber(tree.root() + "/no"), std::nullopt);
  EXPECT_THAT(Entries(tree.root() + "/no"), IsEmpty());
  EXPECT_EQ(LinkName(tree.root() + "/no"), "");
}

TEST(SysfsTest, FilesLinksAndFoldersAreRead) {
  Tree tree("full");
  tree.File("/b", "first\nsecond\n");
  tree.File("/a", "-1\n");
  tree.File("/c", "12 apples\n");
  tree.Link("/d", "../devices/0000:00:03.0");
  EXPECT_EQ(FirstLine(tree.root() + "/b"), "first");
  EXPECT_EQ(FirstNumber(tree.root() + "/a"), -1);
  EXPECT_EQ(FirstNumber(tree.root() + "/c"), std::nullopt);
  EXPECT_EQ(LinkName(tree.root() + "/d"), "0000:00:03.0");
  EXPECT_EQ(LinkName(tree.root() + "/a"), "");
  EXPECT_THAT(Entries(tree.root()), ElementsAre("a", "b", "c", "d"));
}

}  // namespace
}  // namespace reigen::probe
