#include "client/cli/reigenctl/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reigen::ctl {
namespace {

control::JobStatus Example() {
  control::JobStatus status;
  status.set_job("digits");
  status.set_epoch((1ull << 32) | 2);
  status.set_state("running");
  status.set_plans(12);
  status.set_failures(1);
  for (int host : {0, 1}) {
    control::HostStatus& h = *status.add_hosts();
    h.set_host(host);
    h.set_name(host == 0 ? "alpha" : "b");
    h.set_attached(host == 0);
    h.set_heartbeat_age_seconds(0.1);
    for (int rank : {2 * host, 2 * host + 1}) {
      h.add_ranks(rank);
      control::RankStatus& r = *status.add_ranks();
      r.set_rank(rank);
      r.set_host(host);
      r.set_state(rank == 3 ? "ended" : "member");
      r.set_state_seconds(2.5);
      r.set_code(rank == 3 ? 7 : 0);
    }
  }
  status.mutable_hosts(0)->add_link_addresses("tcp:10.0.0.1:99");
  status.mutable_hosts(0)->set_network_reason("eth0 reaches the coordinator");
  control::AwaitedStatus& a = *status.add_awaited();
  a.set_name("layer/w");
  a.add_have_ranks(0);
  a.add_missing_ranks(1);
  a.add_missing_ranks(2);
  a.add_missing_hosts("alpha");
  a.add_missing_hosts("b");
  a.set_seconds(3.25);
  a.set_why("not enqueued there");
  return status;
}

TEST(RenderTest, TheTextSaysWhoIsThereAndWhatIsAwaited) {
  EXPECT_EQ(StatusText(Example()),
            "job digits: running\n"
            "  epoch 1.2, 2 hosts, 4 ranks, 12 plans, 1 failed request\n"
            "\n"
            "  host  name   ranks  worker              links            network\n"
            "  0     alpha  0,1    heard of 0.1 s ago  tcp:10.0.0.1:99  eth0 reaches the "
            "coordinator\n"
            "  1     b      2,3    not attached\n"
            "\n"
            "  ranks  host  state              since\n"
            "  0,1    0     member             2.5 s ago\n"
            "  3      1     ended with code 7  2.5 s ago\n"
            "  2      1     member             2.5 s ago\n"
            "\n"
            "  layer/w: awaited for 3.2 s from ranks 1,2 on alpha, b (not enqueued there); rank 0 "
            "has it\n");
}

TEST(RenderTest, TheJsonHasTheSame) {
  const auto json = StatusJson(Example());
  EXPECT_EQ(json["job"], "digits");
  EXPECT_EQ(json["epoch"], "1.2");
  EXPECT_EQ(json["hosts"][1]["attached"], false);
  EXPECT_EQ(json["ranks"][3]["code"], 7);
  EXPECT_EQ(json["awaited"][0]["missing_ranks"], (std::vector<int>{1, 2}));
  EXPECT_EQ(json["awaited"][0]["missing_hosts"][0], "alpha");
}

TEST(RenderTest, AnEmptyJobIsRendered) {
  control::JobStatus status;
  EXPECT_THAT(StatusText(status), testing::HasSubstr("no epoch yet"));
  EXPECT_THAT(StatusText(status), testing::HasSubstr("nothing is awaited"));
  EXPECT_TRUE(StatusJson(status)["hosts"].empty());
  EXPECT_TRUE(StatusJson(status)["epoch"].is_null());
}

}  // namespace
}  // namespace reigen::ctl
