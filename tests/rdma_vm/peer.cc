// One end of an RDMA link between two machines.
//
//   peer HOST OWN_ADDRESS PEER_ADDRESS      HOST 0 or 1; addresses of the RDMA network
//
// Both ends send messages of many sizes to each other and check what they get. Exit
// status 0 if all is right.
#include <poll.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/real/real_verbs.h"

namespace reigen::transport {
namespace {

constexpr uint16_t kPort = 7001;
constexpr size_t kSizes[] = {0, 1, 4096, 4097, 100003, 1 << 20, 3'000'001};
constexpr int kRounds = 4;
constexpr Duration kLimit = seconds(240);
// Far above what an emulated machine, starved by others, is silent for.
constexpr Duration kRetryBudget = seconds(30);

struct Message {
  std::vector<std::byte> out, in;
  std::unique_ptr<Region> regions[2];
};

std::byte Pattern(size_t i, uint64_t id, int sender) {
  return static_cast<std::byte>((i * 131 + (i >> 9) + id * 17 + static_cast<size_t>(sender)) & 0xff);
}

Status WaitFor(Transport& transport, Link& link, size_t posts) {
  const Time until = Now() + kLimit;
  for (size_t done = 0; done < posts;) {
    Completion completion;
    while (link.Poll({&completion, 1}) > 0) {
      if (completion.result != OpResult::kOk) return link.error();
      ++done;
    }
    if (Now() > until) return DeadlineExceeded("messages did not pass in time");
    pollfd event = {transport.event_fd(), POLLIN, 0};
    const auto deadline = transport.NextDeadline();
    const bool at_once = deadline && *deadline <= Now();
    if (done < posts) poll(&event, 1, at_once ? 0 : 5);
    transport.Progress(Now());
  }
  return OkStatus();
}

Status Exchange(Transport& transport, Link& link, int host) {
  std::vector<Message> messages(std::size(kSizes) * kRounds);
  for (uint64_t id = 0; id < messages.size(); ++id) {
    Message& message = messages[id];
    const size_t bytes = kSizes[id % std::size(kSizes)];
    message.in.resize(bytes);
    for (size_t i = 0; i < bytes; ++i) message.out.push_back(Pattern(i, id, host));
    REIGEN_ASSIGN_OR_RETURN(message.regions[0], transport.Register(message.out));
    REIGEN_ASSIGN_OR_RETURN(message.regions[1], transport.Register(message.in));
    const Tag tag = {.collective = {.epoch = 1, .sequence = id, .stream = 0}};
    REIGEN_RETURN_IF_ERROR(link.PostRecv(message.in, tag, id));
    REIGEN_RETURN_IF_ERROR(link.PostSend(message.out, tag, id));
  }
  REIGEN_RETURN_IF_ERROR(WaitFor(transport, link, 2 * messages.size()));
  for (uint64_t id = 0; id < messages.size(); ++id) {
    for (size_t i = 0; i < messages[id].in.size(); ++i) {
      if (messages[id].in[i] == Pattern(i, id, 1 - host)) continue;
      return Internal("byte " + std::to_string(i) + " of message " + std::to_string(id) +
                      " is wrong");
    }
  }
  return OkStatus();
}

Status Run(int host, const std::string& own, const std::string& peer) {
  rdma::RdmaOptions options;
  options.job = "peer";
  options.secret = "secret";
  options.host = host;
  options.name = "host" + std::to_string(host);
  options.bind_addresses = {own};
  options.ports = {kPort, kPort};
  options.connect_deadline = kLimit;
  options.retry_budget = kRetryBudget;
  REIGEN_ASSIGN_OR_RETURN(auto verbs, rdma::MakeRealVerbs());
  REIGEN_ASSIGN_OR_RETURN(const auto transport,
                          rdma::RdmaTransport::Create(options, std::move(verbs)));
  const std::string address = "rdma:" + peer + ":" + std::to_string(kPort);
  const auto link = transport->Connect({1 - host, "host" + std::to_string(1 - host), {address}});
  const Time begin = Now();
  REIGEN_RETURN_IF_ERROR(Exchange(*transport, *link, host));
  std::printf("host%d: all messages passed in %.1f s\n", host, ToSeconds(Now() - begin));
  // The last of ours is acknowledged, so all has arrived; the peer may still check.
  return OkStatus();
}

}  // namespace
}  // namespace reigen::transport

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: peer HOST OWN_ADDRESS PEER_ADDRESS\n");
    return 2;
  }
  const reigen::Status status =
      reigen::transport::Run(std::string(argv[1]) == "1" ? 1 : 0, argv[2], argv[3]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "peer: %s\n", reigen::Message(status).c_str());
  return 1;
}
