#include "worker/gpu/device_arenas.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::worker {
namespace {

using Reach = ArenaEntry::Reach;

std::byte* At(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

DeviceArena Arena(uint32_t id, uintptr_t base,
                  local::DeviceArenaKind kind = local::DeviceArenaKind::kTensors) {
  DeviceArena arena;
  arena.id = id;
  arena.base = At(base);
  arena.bytes = 0x1000;
  arena.kind = kind;
  arena.ipc_handle[0] = static_cast<uint8_t>(id);
  return arena;
}

// "TO<-OWNER.ARENA"
std::vector<std::string> Texts(const std::vector<DeviceArenas::Offer>& offers) {
  std::vector<std::string> texts;
  for (const auto& offer : offers) {
    texts.push_back(std::to_string(offer.to) + "<-" + std::to_string(offer.arena.local_rank) +
                    "." + std::to_string(offer.arena.arena));
  }
  return texts;
}

TEST(DeviceArenasTest, EachTrainerIsToOpenTheOthersPayloads) {
  using Words = std::vector<std::string>;
  DeviceArenas arenas;
  EXPECT_EQ(Texts(arenas.Add(0, Arena(1, 0x10000))), Words{});
  EXPECT_EQ(Texts(arenas.Add(1, Arena(1, 0x20000, local::DeviceArenaKind::kScratch))),
            Words{"1<-0.1"})
      << "a scratch is its owner's alone";
  EXPECT_EQ(Texts(arenas.Add(1, Arena(2, 0x30000))), Words{"0<-1.2"});
  EXPECT_EQ(Texts(arenas.Add(0, Arena(2, 0x40000))), Words{"1<-0.2"}) << "once";
  EXPECT_EQ(Texts(arenas.Add(2, Arena(1, 0x50000))),
            (Words{"2<-0.1", "2<-1.2", "2<-0.2", "0<-2.1", "1<-2.1"}));
}

TEST(DeviceArenasTest, AnAddressIsFoundWithinItsArena) {
  DeviceArenas arenas;
  arenas.Add(0, Arena(7, 0x10000));
  EXPECT_EQ(arenas.Find(At(0xffff)), nullptr);
  EXPECT_EQ(arenas.Find(At(0x10000))->id, 7u);
  EXPECT_EQ(arenas.Find(At(0x10fff))->id, 7u);
  EXPECT_EQ(arenas.Find(At(0x11000)), nullptr);
  arenas.Remove(0);
  EXPECT_EQ(arenas.Find(At(0x10000)), nullptr);
}

TEST(DeviceArenasTest, ReachIsWhatTheTrainerAnswered) {
  DeviceArenas arenas;
  arenas.Add(0, Arena(1, 0x10000));
  arenas.Add(1, Arena(1, 0x20000));
  const ArenaEntry& first = *arenas.Find(At(0x10000));
  std::string why;
  EXPECT_EQ(ReachOf(first, 0, &why), Reach::kOpen) << "its own";
  EXPECT_EQ(ReachOf(first, 1, &why), Reach::kAsked);
  arenas.GiveUpOpening();
  EXPECT_EQ(ReachOf(first, 1, &why), Reach::kRefused);
  EXPECT_EQ(why, "it has not answered");
  arenas.Opened(1, 0, 1, OkStatus());
  EXPECT_EQ(ReachOf(first, 1, &why), Reach::kOpen) << "late, but well";
  arenas.Opened(1, 0, 1, Unavailable("no peer access"));
  EXPECT_EQ(ReachOf(first, 1, &why), Reach::kRefused);
  EXPECT_EQ(why, "no peer access");
  EXPECT_EQ(ReachOf(first, 2, &why), Reach::kRefused) << "nobody asked it";
  arenas.Opened(5, 0, 1, OkStatus());
  arenas.Opened(1, 5, 9, OkStatus());
}

}  // namespace
}  // namespace reigen::worker
