// What a TCP link costs over the sockets it is made of: loopback, two threads,
// each measure taken for both in turn, so that they meet the same machine.
//
// usage: link_bench [ROUNDS]     one JSON line per measure: medians, and ratios of
//                                time and of processor time
//
//   bandwidth   1 MiB messages one way; bytes per second
//   latency     8 bytes there and back, half of it; microseconds
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/address.h"
#include "runtime/transport/tcp/socket.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::transport {
namespace {

constexpr size_t kMessageBytes = 1 << 20;
constexpr int kMessages = 500;
constexpr int kWindow = 8;
constexpr int kPings = 5000;

// Two connected, blocking sockets.
std::pair<UniqueFd, UniqueFd> SocketPair() {
  UniqueFd listener = Listen(ParseAddress("127.0.0.1").value(), PortRange()).value();
  SocketAddress address = ParseEndpoint("tcp:" + LocalName(listener.get()), "tcp").value();
  UniqueFd a(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REIGEN_CHECK(connect(a.get(), address.get(), address.bytes) == 0, "connect");
  pollfd wait = {listener.get(), POLLIN, 0};
  poll(&wait, 1, 1000);
  UniqueFd b(accept(listener.get(), nullptr, nullptr));
  REIGEN_CHECK(b.valid(), "accept");
  for (int fd : {a.get(), b.get()}) REIGEN_CHECK(Tune(fd, seconds(8)).ok(), "tune");
  return {std::move(a), std::move(b)};
}

void SendAll(int fd, const std::byte* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(fd, data, bytes, 0);
    REIGEN_CHECK(sent > 0, "send");
    data += sent;
    bytes -= static_cast<size_t>(sent);
  }
}

void RecvAll(int fd, std::byte* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(fd, data, bytes, 0);
    REIGEN_CHECK(got > 0, "recv");
    data += got;
    bytes -= static_cast<size_t>(got);
  }
}

double Seconds(const std::function<void()>& a, const std::function<void()>& b) {
  const Time start = Now();
  std::thread other(b);
  a();
  other.join();
  return ToSeconds(Now() - start);
}

double SocketBandwidth() {
  const auto ends = SocketPair();
  std::vector<std::byte> out(kMessageBytes);
  std::vector<std::vector<std::byte>> in(kWindow, std::vector<std::byte>(kMessageBytes));
  const double elapsed_s = Seconds(
      [&] {
        for (int i = 0; i < kMessages; ++i) SendAll(ends.first.get(), out.data(), out.size());
      },
      [&] {
        for (int i = 0; i < kMessages; ++i) {
          RecvAll(ends.second.get(), in[static_cast<size_t>(i % kWindow)].data(), kMessageBytes);
        }
      });
  return kMessages * static_cast<double>(kMessageBytes) / elapsed_s;
}

double SocketLatency() {
  const auto ends = SocketPair();
  std::byte ping[8] = {}, pong[8] = {};
  const double elapsed_s = Seconds(
      [&] {
        for (int i = 0; i < kPings; ++i) {
          SendAll(ends.first.get(), ping, sizeof ping);
          RecvAll(ends.first.get(), ping, sizeof ping);
        }
      },
      [&] {
        for (int i = 0; i < kPings; ++i) {
          RecvAll(ends.second.get(), pong, sizeof pong);
          SendAll(ends.second.get(), pong, sizeof pong);
        }
      });
  return elapsed_s / kPings / 2 * 1e6;
}

// One end, driven as the worker drives it: sleep on the file descriptor.
class End {
 public:
  End(int host, int channels) {
    TcpOptions options;
    options.job = "bench";
    options.secret = "secret";
    options.host = host;
    options.name = "host" + std::to_string(host);
    options.bind_addresses = {"127.0.0.1"};
    options.channels = channels;
    transport_ = TcpTransport::Create(options).value();
  }
  void Connect(const End& other, int host) {
    link_ =
        transport_->Connect({host, "host" + std::to_string(host), other.transport_->addresses()});
  }
  Link& link() { return *link_; }

  // Until that many more posts are complete.
  void Finish(int posts) {
    wanted_ += posts;
    while (!Enough()) {
      transport_->Progress(Now());
      if (Enough()) return;
      const std::optional<Time> deadline = transport_->NextDeadline();
      Duration wait = seconds(1);
      if (deadline) wait = std::clamp(*deadline - Now(), Duration(0), wait);
      const auto wait_ms = std::chrono::ceil<milliseconds>(wait).count();
      if (wait_ms == 0) continue;
      pollfd event = {transport_->event_fd(), POLLIN, 0};
      poll(&event, 1, static_cast<int>(wait_ms));
    }
  }

 private:
  bool Enough() {
    std::array<Completion, 16> done;
    wanted_ -= static_cast<int>(link_->Poll(done));
    return wanted_ <= 0;
  }

  int wanted_ = 0;  // completions; negative: so many came early
  std::unique_ptr<TcpTransport> transport_;
  std::unique_ptr<Link> link_;
};

Tag TagOf(int i) {
  return {.collective = {.epoch = 1, .sequence = static_cast<uint64_t>(i), .stream = 0}};
}

void Must(const Status& status) { REIGEN_CHECK(status.ok(), "post"); }

void Exchange(End& end, std::span<std::byte> buffer, int index, bool first) {
  if (first) Must(end.link().PostSend(buffer, TagOf(index), 0));
  Must(end.link().PostRecv(buffer, TagOf(index), 0));
  end.Finish(first ? 2 : 1);
  if (first) return;
  Must(end.link().PostSend(buffer, TagOf(index), 0));
  end.Finish(1);
}

struct Ends {
  explicit Ends(int channels) : a(0, channels), b(1, channels) {
    a.Connect(b, 1);
    b.Connect(a, 0);
    std::byte bytes[2] = {};
    Seconds(
        [&] {
          Exchange(a, {bytes, 1}, 1 << 30, true);
        },
        [&] {
          Exchange(b, {bytes + 1, 1}, 1 << 30, false);
        });
  }
  End a, b;
};

double LinkBandwidth(int channels) {
  Ends ends(channels);
  std::vector<std::byte> out(kMessageBytes);
  std::vector<std::vector<std::byte>> in(kWindow, std::vector<std::byte>(kMessageBytes));
  const double elapsed_s = Seconds(
      [&] {
        for (int i = 0; i < kMessages; ++i) {
          if (i >= kWindow) ends.a.Finish(1);
          Must(ends.a.link().PostSend(out, TagOf(i), 0));
        }
        ends.a.Finish(kWindow);
      },
      [&] {
        for (int i = 0; i < kMessages; ++i) {
          if (i >= kWindow) ends.b.Finish(1);
          Must(ends.b.link().PostRecv(in[static_cast<size_t>(i % kWindow)], TagOf(i), 0));
        }
        ends.b.Finish(kWindow);
      });
  return kMessages * static_cast<double>(kMessageBytes) / elapsed_s;
}

double LinkLatency() {
  Ends ends(2);
  std::byte ping[8] = {}, pong[8] = {};
  const double elapsed_s = Seconds(
      [&] {
        for (int i = 0; i < kPings; ++i) Exchange(ends.a, ping, i, true);
      },
      [&] {
        for (int i = 0; i < kPings; ++i) Exchange(ends.b, pong, i, false);
      });
  return elapsed_s / kPings / 2 * 1e6;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

void Compare(const char* measure, const char* unit, int rounds, double scale,
             const std::function<double()>& socket, const std::function<double()>& link) {
  std::vector<double> sockets, links, ratios, cpu_ratios;
  for (int i = 0; i < rounds; ++i) {
    const double start_s = CpuSeconds();
    sockets.push_back(socket() * scale);
    const double middle_s = CpuSeconds();
    links.push_back(link() * scale);
    ratios.push_back(links.back() / sockets.back());
    cpu_ratios.push_back((CpuSeconds() - middle_s) / (middle_s - start_s));
  }
  std::printf(
      "{\"measure\": \"%s\", \"unit\": \"%s\", \"socket\": %.3f, \"link\": %.3f, "
      "\"link_to_socket\": %.3f, \"cpu_link_to_socket\": %.3f}\n",
      measure, unit, Median(sockets), Median(links), Median(ratios), Median(cpu_ratios));
  std::fflush(stdout);
}

}  // namespace

int RunAll(int rounds) {
  SetLogLevel("warning");
  Compare("bandwidth, 1 socket", "GB/s", rounds, 1e-9, SocketBandwidth,
          [] { return LinkBandwidth(1); });
  Compare("bandwidth, 2 sockets", "GB/s", rounds, 1e-9, SocketBandwidth,
          [] { return LinkBandwidth(2); });
  Compare("latency", "us", rounds, 1, SocketLatency, LinkLatency);
  return 0;
}

}  // namespace reigen::transport

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? static_cast<int>(std::strtol(argv[1], nullptr, 10)) : 5;
  return reigen::transport::RunAll(std::max(1, rounds));
}
