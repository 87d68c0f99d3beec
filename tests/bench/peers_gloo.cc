// Times Gloo's all-reduce over TCP on loopback. Forks its ranks.
// usage: peers_gloo RANKS POINTS FOLDER      (FOLDER: empty, for the rendezvous)
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/timing.h"

namespace reigen::bench {
namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

template <typename T>
void Allreduce(const Context& context, T* data, size_t count,
               void (*reduce)(void*, const void*, const void*, size_t)) {
  gloo::AllreduceOptions options(context);
  options.setOutput(data, count);
  options.setReduceFunction(reduce);
  gloo::allreduce(options);
}

void RunPoint(const Context& context, const Point& point, int rank, int size) {
  std::vector<float> data(point.bytes / sizeof(float), 1.0f);
  const auto allreduce = [&] {
    Allreduce(context, data.data(), data.size(), &gloo::sum<float>);
  };
  allreduce();
  const bool right = data.front() == static_cast<float>(size) && data.back() == data.front();
  std::fill(data.begin(), data.end(), 0.0f);
  for (int i = 0; i < WarmupIterations(point); ++i) allreduce();
  std::vector<double> seconds(point.iterations);
  for (double& one : seconds) one = SecondsOf(allreduce);
  Allreduce(context, seconds.data(), seconds.size(), &gloo::max<double>);
  if (rank == 0) Print(point, seconds, right);
}

int RunRank(int rank, int size, const std::string& points, const std::string& folder) {
  gloo::rendezvous::FileStore store(folder);
  gloo::transport::tcp::attr attr;
  attr.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attr);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);
  for (const Point& point : ParsePoints(points)) RunPoint(context, point, rank, size);
  return 0;
}

}  // namespace
}  // namespace reigen::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: peers_gloo RANKS POINTS FOLDER\n");
    return 2;
  }
  const int size = std::stoi(argv[1]);
  for (int rank = 0; rank < size; ++rank) {
    if (fork() == 0) return reigen::bench::RunRank(rank, size, argv[2], argv[3]);
  }
  int worst = 0, status = 0;
  while (wait(&status) > 0) worst |= status;
  return worst == 0 ? 0 : 1;
}
