#include "client/cli/reigenrun/hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

using Ints = std::vector<int>;

// C21 (c): valid forms are accepted, bad parts shown.
TEST(ParseHostListTest, AcceptsEveryValidForm) {
  const auto hosts = ParseHostList("a:2,a_b:1,10.0.0.3:4,[fe80::1%eth0]:2,x.y.z:1,b,[::1],me@c:3");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  std::string text;
  for (const HostEntry& h : *hosts) text += h.name + "=" + std::to_string(h.slots) + " ";
  EXPECT_EQ(text, "a=2 a_b=1 10.0.0.3=4 fe80::1%eth0=2 x.y.z=1 b=1 ::1=1 me@c=3 ");
}

TEST(ParseHostListTest, ShowsThePartThatIsBad) {
  for (const char* bad : {"a:b:2", "a:-1", "a:", "a:0", "a:x", "a:2x", "", ":2", "a b:1", "-oX=y:1",
                          "[::1:2", "[zz]:1", "[::1]2", "fe80::1", "a:99999", "a;b:1", "$(a):1"}) {
    const auto hosts = ParseHostList(std::string("good:1,") + bad);
    ASSERT_FALSE(hosts.ok()) << bad;
    EXPECT_NE(Message(hosts.status()).find("\"" + std::string(bad) + "\""), std::string::npos)
        << hosts.status();
  }
  EXPECT_FALSE(ParseHostList("a:1,a:2").ok());
}

TEST(ParseHostfileTest, SkipsCommentsAndBlankLines) {
  const auto hosts = ParseHostfile("# two hosts\n\n  a slots=2 # the first\r\n\t\nb:3\n[::1] slots=1\nc");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  ASSERT_EQ(hosts->size(), 4u);
  EXPECT_EQ((*hosts)[0].name, "a");
  EXPECT_EQ((*hosts)[0].slots, 2);
  EXPECT_EQ((*hosts)[1].slots, 3);
  EXPECT_EQ((*hosts)[2].name, "::1");
  EXPECT_EQ((*hosts)[3].slots, 1);
}

TEST(ParseHostfileTest, NamesTheLineAndThePart) {
  for (const char* bad : {"slots=", "slots=-1", "max_slots=3", "slots=two"}) {
    const auto hosts = ParseHostfile(std::string("a slots=1\n\nb ") + bad + "\n");
    ASSERT_FALSE(hosts.ok());
    EXPECT_NE(Message(hosts.status()).find("line 3"), std::string::npos) << hosts.status();
    EXPECT_NE(Message(hosts.status()).find(bad), std::string::npos) << hosts.status();
  }
  EXPECT_FALSE(ParseHostfile("# nothing\n").ok());
}

TEST(PlaceRanksTest, FillsHostsInOrder) {
  const auto placed = PlaceRanks({{"a", 2}, {"b", 3}, {"c", 1}, {"d", 5}}, 6);
  ASSERT_TRUE(placed.ok());
  ASSERT_EQ(placed->size(), 3u);  // d gets none and is no host of the job
  EXPECT_EQ((*placed)[0].ranks, (Ints{0, 1}));
  EXPECT_EQ((*placed)[1].ranks, (Ints{2, 3, 4}));
  EXPECT_EQ((*placed)[2].ranks, (Ints{5}));
  EXPECT_EQ((*placed)[1].cross_ranks, (Ints{1, 1, 0}));
  EXPECT_EQ((*placed)[1].cross_sizes, (Ints{3, 2, 1}));
  EXPECT_EQ((*placed)[2].cross_ranks, (Ints{2}));
}

TEST(PlaceRanksTest, WithoutNumberTakesAllSlotsAndWithoutHostsThisOne) {
  EXPECT_EQ(PlaceRanks({{"a", 2}, {"b", 1}}, 0)->size(), 2u);
  const auto local = PlaceRanks({}, 4);
  ASSERT_EQ(local->size(), 1u);
  EXPECT_EQ((*local)[0].name, "localhost");
  EXPECT_EQ((*local)[0].ranks, (Ints{0, 1, 2, 3}));
}

TEST(PlaceRanksTest, TooFewSlotsAreCountedOut) {
  const auto placed = PlaceRanks({{"a", 2}, {"b", 1}}, 4);
  ASSERT_FALSE(placed.ok());
  for (const char* part : {"-np 4", "3", "a: 2", "b: 1"}) {
    EXPECT_NE(Message(placed.status()).find(part), std::string::npos) << placed.status();
  }
}

}  // namespace
}  // namespace reigen::run
