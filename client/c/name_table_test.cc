#include "client/c/name_table.h"

#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

using Names = std::vector<std::string>;

std::vector<uint32_t> Ids(const std::vector<NameTable::Pinned>& pinned) {
  std::vector<uint32_t> ids;
  for (const auto& name : pinned) ids.push_back(name.id);
  return ids;
}

TEST(NameTableTest, ANameIsNewOnce) {
  NameTable table(8);
  std::vector<NameTable::Pinned> pinned;
  ASSERT_TRUE(table.Pin(Names{"a", "b"}, &pinned).ok());
  EXPECT_TRUE(pinned[0].is_new && pinned[1].is_new);
  const auto ids = Ids(pinned);
  table.Unpin(ids);
  ASSERT_TRUE(table.Pin(Names{"a", "b"}, &pinned).ok());
  EXPECT_FALSE(pinned[0].is_new || pinned[1].is_new);
  EXPECT_EQ(Ids(pinned), ids);
}

TEST(NameTableTest, ANameInUseIsADuplicateAndNothingIsTaken) {
  NameTable table(8);
  std::vector<NameTable::Pinned> pinned;
  ASSERT_TRUE(table.Pin(Names{"a"}, &pinned).ok());
  const Result result = table.Pin(Names{"b", "a"}, &pinned);
  EXPECT_EQ(result.code, REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(result.text, "a: duplicate name: a request of this name is still pending");
  EXPECT_EQ(table.Pin(Names{"c", "c"}, &pinned).code, REIGEN_INVALID_ARGUMENT);
  ASSERT_TRUE(table.Pin(Names{"b", "c"}, &pinned).ok());
  EXPECT_TRUE(pinned[0].is_new && pinned[1].is_new);  // never told to the worker
}

TEST(NameTableTest, TheNameIdleForLongestGivesUpItsNumber) {
  NameTable table(3);
  std::vector<NameTable::Pinned> pinned;
  ASSERT_TRUE(table.Pin(Names{"a", "b", "c"}, &pinned).ok());
  const auto ids = Ids(pinned);
  table.Unpin(std::vector<uint32_t>{ids[1], ids[0]});
  ASSERT_TRUE(table.Pin(Names{"d"}, &pinned).ok());
  EXPECT_EQ(pinned[0].id, ids[1]);
  EXPECT_TRUE(pinned[0].is_new);
  ASSERT_TRUE(table.Pin(Names{"a"}, &pinned).ok());
  EXPECT_FALSE(pinned[0].is_new);
  EXPECT_EQ(table.Pin(Names{"b"}, &pinned).code, REIGEN_RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace reigen::sdk
