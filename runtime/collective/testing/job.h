// Tensors of all ranks of a cluster, the buckets over them, and what must come out.
#ifndef REIGEN_RUNTIME_COLLECTIVE_TESTING_JOB_H_
#define REIGEN_RUNTIME_COLLECTIVE_TESTING_JOB_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/collective/bucket.h"
#include "runtime/collective/testing/cluster.h"
#include "runtime/reduce/reference.h"

namespace reigen::collective {

struct JobOptions {
  CollectiveKind kind = CollectiveKind::kAllreduce;
  Algorithm algorithm = Algorithm::kRing;
  ReduceOp op = ReduceOp::kSum;
  DataType dtype = DataType::kFloat32;
  DataType wire = DataType::kFloat32;
  double prescale = 1.0;
  double postscale = 1.0;
  int hosts = 2;
  int ranks = 1;                      // per host
  int root = 0;                       // broadcast: host; its rank 0 there
  std::vector<uint64_t> counts = {};  // elements of each tensor
  uint64_t segment_bytes = 4096;
  int channels = 2;
  uint64_t seed = 1;
  reduce::Data data = reduce::Data::kPlain;
  std::vector<int> gpu_hosts = {};   // that run buckets on GPUs
  std::vector<int> idle_hosts = {};  // their ranks contribute nothing (they have joined)
};

// Must outlive the cluster that runs its buckets. Even ranks work in place, odd ones have an output
// of their own. Tensor t is called "t<t>".
class Job {
 public:
  explicit Job(const JobOptions& options);

  // A bucket of tensors `which` as `host` has it.
  Bucket BucketOf(int host, const CollectiveId& id, const std::vector<size_t>& which);
  Bucket BucketOfAll(int host, const CollectiveId& id);

  // What `host` was told at the end of its buckets, in that order.
  const std::vector<Status>& ends(int host) const { return ends_[host]; }

  // "" if every rank has what the reference says, and all the same bits.
  std::string Check() const;
  const std::vector<std::byte>& result(size_t tensor, int host, int rank) const {
    return memory_[tensor][Index(host, rank)].output;
  }
  std::vector<std::vector<std::byte>> Results() const;  // of rank 0, all tensors
  // Everything the ranks have, to see whether anybody writes to it.
  std::vector<std::byte> AllMemory() const;

 private:
  struct RankTensor {
    std::vector<std::byte> original;
    std::vector<std::byte> input;   // empty if it works in place
    std::vector<std::byte> output;  // and input, if in place
  };

  size_t Index(int host, int rank) const {
    return static_cast<size_t>(host * options_.ranks + rank);
  }
  bool Contributes(int host) const;
  std::string CheckTensor(size_t tensor) const;

  const JobOptions options_;
  std::vector<std::vector<RankTensor>> memory_;  // [tensor][rank]
  std::vector<std::vector<Status>> ends_;        // [host]
};

// Starts one bucket of all tensors on every host and runs to the end. "" if all is
// as it should be.
std::string RunAndCheck(Cluster& cluster, Job& job, uint64_t sequence = 1);

// Starts on every host, in an order of its own among them, `buckets` buckets of each of the
// streams 1, 2, ...: those of one stream in order, each of one tensor, as many as the job has.
void StartInRandomOrders(Cluster& cluster, Job& job, size_t streams, uint64_t buckets,
                         std::mt19937_64& random);

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_TESTING_JOB_H_
