// Goal: both ends find the same pairs of ports, and none that joins two networks.
// Method: tables of what two hosts have; each is asked from both ends.
#include "runtime/transport/rdma/pairing.h"

#include <gtest/gtest.h>

#include <utility>

namespace reigen::transport::rdma {
namespace {

RailAddress Roce(const std::string& device, const std::string& address,
                 GidType type = GidType::kRoceV2) {
  RailAddress rail;
  rail.device = device;
  rail.gid = *GidOfAddress(address);
  rail.gid_type = type;
  return rail;
}

// Ports "m<n>:1" of InfiniBand; `left_out` are named so, too.
Offer Ports(const std::string& host, const std::vector<int>& used,
            const std::vector<int>& left_out = {}, const std::vector<int>& spare = {}) {
  Offer offer;
  for (const int i : used) {
    RailAddress& rail = offer.rails.emplace_back(
        Roce("m" + std::to_string(i), "fe80::" + host + ":" + std::to_string(i)));
    rail.layer = LinkLayer::kInfiniBand;
  }
  for (const int i : left_out) offer.left_out.push_back({"m" + std::to_string(i), 1});
  for (const int i : spare) offer.spare.push_back({"m" + std::to_string(i), 1});
  return offer;
}

Offer OfferOf(const std::vector<RailAddress>& rails) {
  Offer offer;
  offer.rails = rails;
  return offer;
}

std::vector<RailPair> Swapped(std::vector<RailPair> pairs) {
  for (RailPair& pair : pairs) std::swap(pair.local, pair.remote);
  return pairs;
}

void ExpectPairs(const Offer& here, const Offer& there, const std::vector<RailPair>& expected,
                 const std::string& what) {
  const auto pairs = PairRails(here, there);
  ASSERT_TRUE(pairs.ok()) << what << ": " << pairs.status().ToString();
  EXPECT_EQ(*pairs, expected) << what;
  EXPECT_EQ(*PairRails(there, here), Swapped(*pairs)) << what << ": the other end sees the same";
}

TEST(PairingTest, WithoutEqualNamesPortsArePairedInOrderAndTheFewerBeginAgain) {
  const Offer two = OfferOf({Roce("a0", "10.0.0.1"), Roce("a1", "10.1.0.1")});
  const Offer three = OfferOf(
      {Roce("b0", "10.0.0.2"), Roce("b1", "10.1.0.2"), Roce("b2", "10.2.0.2")});
  ExpectPairs(two, three, {{0, 0}, {1, 1}, {0, 2}}, "two and three");
}

// Each port may have a network of its own, which it shares with its like only.
TEST(PairingTest, APortThatIsMissingAtOneEndShiftsNoOther) {
  const struct {
    const char* what;
    Offer here;
    Offer there;
    std::vector<RailPair> pairs;
  } rows[] = {
      {"the device is gone", Ports("1", {1, 2, 3}), Ports("2", {0, 1, 2, 3}),
       {{0, 1}, {1, 2}, {2, 3}}},
      {"the port is down", Ports("1", {1, 2, 3}, {0}), Ports("2", {0, 1, 2, 3}),
       {{0, 1}, {1, 2}, {2, 3}}},
      {"one is down at each end", Ports("1", {0, 2, 3}, {1}), Ports("2", {0, 1, 3}, {2}),
       {{0, 0}, {2, 2}}},
      {"one is down and one gone", Ports("1", {0, 2, 3}, {1}), Ports("2", {0, 1, 3}),
       {{0, 0}, {2, 2}}},
      {"all but one are down", Ports("1", {2}, {0, 1, 3}), Ports("2", {0, 1, 2, 3}), {{0, 2}}},
      {"the same is down at both", Ports("1", {0, 2}, {1}), Ports("2", {0, 2}, {1}),
       {{0, 0}, {1, 1}}},
      {"names that are shifted", Ports("1", {0, 1, 2}), Ports("2", {1, 2, 3}),
       {{0, 0}, {1, 1}, {2, 2}}},
      {"another order, asked for", Ports("1", {0, 1}), Ports("2", {1, 0}), {{0, 0}, {1, 1}}},
      {"fewer, in another order", Ports("1", {1, 0}), Ports("2", {0, 2, 1}), {{0, 2}, {1, 0}}},
      {"a name that only one has", Ports("1", {0, 7}), Ports("2", {0, 1, 2}), {{0, 0}}},
      {"names that only one has, in order of both", Ports("1", {0, 7}), Ports("2", {0, 1}),
       {{0, 0}, {1, 1}}},
      {"names shifted by a slower port", Ports("1", {0, 1, 2}), Ports("2", {1, 2, 3}, {}, {0}),
       {{0, 0}, {1, 1}, {2, 2}}},
      {"another one is slow at each end", Ports("1", {0, 2, 3}, {}, {1}),
       Ports("2", {0, 1, 3}, {}, {2}), {{0, 0}, {2, 2}}},
      {"what is left has no like", Ports("1", {0}, {1}), Ports("2", {1}, {0}), {{0, 0}}},
  };
  for (const auto& row : rows) ExpectPairs(row.here, row.there, row.pairs, row.what);
}

// Where one kind joins the hosts, ports of another one that have no like are not needed.
TEST(PairingTest, PortsWithoutTheirLikeAreUsedOnlyIfThereAreNoOthers) {
  Offer here = Ports("1", {0, 1}), there = Ports("2", {0, 1}, {4});
  here.rails.push_back(Roce("m4", "10.0.0.1"));
  there.rails.push_back(Roce("m5", "10.1.0.2"));
  ExpectPairs(here, there, {{0, 0}, {1, 1}}, "InfiniBand joins them");
  for (Offer* offer : {&here, &there}) offer->rails.erase(offer->rails.begin(), offer->rails.begin() + 2);
  ExpectPairs(here, there, {{0, 0}}, "nothing else does");
}

TEST(PairingTest, PortsOfOneDeviceAreToldByTheirNumbers) {
  Offer one = Ports("1", {0});
  one.rails[0].port = 2;
  Offer two = Ports("2", {0, 0});
  two.rails[1].port = 2;
  ExpectPairs(one, two, {{0, 1}}, "the second port");
  two.rails.pop_back();
  two.left_out.push_back({"m0", 2});
  ExpectPairs(one, two, {{0, 0}}, "it is down there, and no other is here");
}

// The order of the devices differs between hosts.
TEST(PairingTest, PortsArePairedWithThoseOfTheirKind) {
  RailAddress a_infiniband = Roce("a1", "fe80::1");
  a_infiniband.layer = LinkLayer::kInfiniBand;
  RailAddress b_infiniband = a_infiniband;
  b_infiniband.device = "b0";
  const Offer here = OfferOf({Roce("a0", "10.0.0.1"), a_infiniband, Roce("a2", "10.1.0.1")});
  const Offer there = OfferOf(
      {b_infiniband, Roce("b1", "10.0.0.2"), Roce("b2", "fd00::2"), Roce("b3", "10.1.0.2")});
  ExpectPairs(here, there, {{1, 0}, {0, 1}, {2, 3}}, "three kinds");
}

TEST(PairingTest, PortsThatCannotTalkAreNotPaired) {
  const Offer here = OfferOf({Roce("a0", "10.0.0.1")});
  ExpectPairs(here, OfferOf({Roce("b0", "fd00::2"), Roce("b1", "10.0.0.2")}), {{0, 1}}, "IPv6");

  RailAddress infiniband = Roce("b2", "fe80::2", GidType::kInfiniBand);
  infiniband.layer = LinkLayer::kInfiniBand;
  RailAddress second_port = Roce("b3", "10.0.0.4", GidType::kRoceV1);
  second_port.port = 2;
  const Offer others = OfferOf({infiniband, Roce("b3", "10.0.0.3", GidType::kRoceV1), second_port,
                                Roce("b4", "10.0.0.5", GidType::kRoceV1)});
  const Status status = PairRails(here, others).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  for (const char* part :
       {"no two RDMA ports can talk: here a0:1 speaks RoCE v2 over IPv4; at the other end b2:1 "
        "speaks InfiniBand with PKey 0xffff, b3:1, b3:2 and b4:1 speak RoCE v1 over IPv4 (",
        "--rdma-gid-index"}) {
    EXPECT_NE(status.ToString().find(part), std::string::npos) << status.ToString();
  }
  EXPECT_NE(PairRails(here, {}).status().ToString().find("at the other end there is none"),
            std::string::npos);
}

// Each port may be of another subnet; the order is no help then.
TEST(PairingTest, InfiniBandPortsArePairedInsideTheirSubnets) {
  const auto subnets = [](const std::string& host, const std::vector<int>& of_ports) {
    Offer offer = Ports(host, std::vector<int>(of_ports.size()));
    for (size_t i = 0; i < of_ports.size(); ++i) {
      offer.rails[i].device = host + std::to_string(i);
      offer.rails[i].gid =
          *GidOfAddress("fec0:0:0:" + std::to_string(of_ports[i]) + "::" + host);
    }
    return offer;
  };
  ExpectPairs(subnets("a", {1, 2, 3}), subnets("b", {3, 1, 2}), {{0, 1}, {1, 2}, {2, 0}}, "rails");
  ExpectPairs(subnets("a", {1, 2}), subnets("b", {2, 3}), {{1, 0}}, "one in common");
  const Status status = PairRails(subnets("a", {1}), subnets("b", {2})).status();
  EXPECT_NE(status.ToString().find("inside one InfiniBand subnet"), std::string::npos)
      << status.ToString();
}

// Packets of another partition are dropped without a word.
TEST(PairingTest, PortsOfDifferentPartitionsOrTwoLimitedMembersAreNotPaired) {
  const auto with = [](Offer offer, const std::vector<uint16_t>& pkeys) {
    for (size_t i = 0; i < pkeys.size(); ++i) offer.rails[i].pkey = pkeys[i];
    return offer;
  };
  const Offer two = Ports("1", {0, 1}), other = Ports("2", {0, 1}), one = Ports("3", {0});
  const struct {
    const char* what;
    Offer here;
    Offer there;
    std::vector<RailPair> pairs;
  } rows[] = {
      {"a full and a limited member", with(two, {0x8001, 1}), with(other, {1, 0x8001}),
       {{0, 0}, {1, 1}}},
      {"two limited ones are left", with(two, {0x8001, 1}), with(other, {0x8001, 1}), {{0, 0}}},
      {"two limited ones first", with(two, {1, 0x8001}), with(other, {1, 0x8001}),
       {{0, 1}, {1, 0}}},
      {"the like is limited, too", with(two, {1, 0x8001}), with(one, {1}), {{1, 0}}},
      {"partitions in another order", with(two, {0x8001, 0x8002}), with(other, {0x8002, 0x8001}),
       {{0, 1}, {1, 0}}},
      {"one in common", with(two, {0x8001, 0x8002}), with(other, {0x8002, 0x8003}), {{1, 0}}},
  };
  for (const auto& row : rows) ExpectPairs(row.here, row.there, row.pairs, row.what);

  const auto refused = [&](uint16_t here, uint16_t there) {
    return PairRails(with(one, {here}), with(Ports("4", {0}), {there})).status().ToString();
  };
  for (const auto& [here, there] : {std::pair{0x8001, 0xffff}, std::pair{0x0001, 0x0001}}) {
    const std::string text = refused(static_cast<uint16_t>(here), static_cast<uint16_t>(there));
    for (const std::string& part :
         {"here m0:1 speaks " + RdmaKind("InfiniBand", static_cast<uint16_t>(here)),
          "other end m0:1 speaks " + RdmaKind("InfiniBand", static_cast<uint16_t>(there)),
          std::string("REIGEN_RDMA_PKEY")}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
}

TEST(PairingTest, APortThatIsDownForTheLinkIsNotUsedNorItsLike) {
  Offer here = Ports("1", {0, 1, 2});
  here.rails[1].max_queues = 0;
  ExpectPairs(here, Ports("2", {0, 1, 2}), {{0, 0}, {2, 2}}, "one of three");
  Offer there = Ports("2", {0, 1, 2});
  there.rails[2].max_queues = 0;
  ExpectPairs(here, there, {{0, 0}}, "another one there");
  for (RailAddress& rail : here.rails) rail.max_queues = 0;
  const std::string text = PairRails(here, there).status().ToString();
  EXPECT_NE(text.find("here m0:1 (down), m1:1 (down) and m2:1 (down)"), std::string::npos) << text;
}

TEST(PairingTest, QueuesAreNoMoreThanPortsHoldAndEndsCountOn) {
  const struct {
    const char* what;
    int channels[2];
    std::vector<int> max_queues[2];  // by port, with names that differ
    std::vector<RailPair> queues;
  } rows[] = {
      {"in turn", {5, 3}, {{15, 15}, {15, 15}}, {{0, 0}, {1, 1}, {0, 0}}},
      {"each way has one", {1, 1}, {{15, 15}, {15, 15}}, {{0, 0}, {1, 1}}},
      {"one port holds less", {6, 6}, {{1, 15}, {15, 15}},
       {{0, 0}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"one of the other end", {6, 6}, {{15, 15}, {15, 2}},
       {{0, 0}, {1, 1}, {0, 0}, {1, 1}, {0, 0}, {0, 0}}},
      {"all are full", {6, 6}, {{2, 1}, {15, 15}}, {{0, 0}, {1, 1}, {0, 0}}},
      {"several to one, which holds three", {3, 15}, {{3}, {15, 15, 15, 15}},
       {{0, 0}, {0, 1}, {0, 2}}},
      {"several to one, which counts on two", {2, 15}, {{15}, {15, 15, 15, 15}},
       {{0, 0}, {0, 1}}},
  };
  for (const auto& row : rows) {
    Offer ends[2];
    for (const size_t end : {0, 1}) {
      const size_t ports = row.max_queues[end].size();
      for (size_t i = 0; i < ports; ++i) {
        const std::string name = (end == 0 ? "a" : "b") + std::to_string(i);
        ends[end].rails.push_back(Roce(name, "10.0." + std::to_string(i) + "." +
                                                 std::to_string(end + 1)));
        ends[end].rails[i].max_queues = static_cast<uint8_t>(row.max_queues[end][i]);
      }
      ends[end].channels = static_cast<uint16_t>(row.channels[end]);
    }
    const auto place = [&](const Offer& local, const Offer& remote) {
      return PlaceQueues(*PairRails(local, remote), local, remote);
    };
    EXPECT_EQ(place(ends[0], ends[1]), row.queues) << row.what;
    EXPECT_EQ(place(ends[1], ends[0]), Swapped(row.queues)) << row.what;
  }
}

}  // namespace
}  // namespace reigen::transport::rdma
