#include "runtime/collective/testing/job.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/hash.h"

namespace reigen::collective {

Job::Job(const JobOptions& options) : options_(options), ends_(options.hosts) {
  for (size_t t = 0; t < options.counts.size(); ++t) {
    auto& ranks = memory_.emplace_back();
    for (int r = 0; r < options.hosts * options.ranks; ++r) {
      RankTensor& rank = ranks.emplace_back();
      const uint64_t seed = options.seed * 1000003 + t * 1009 + static_cast<uint64_t>(r);
      rank.original = reduce::MakeData(options.dtype, options.data, options.counts[t], seed);
      if (r % 2 == 0) {
        rank.output = rank.original;
      } else {
        rank.input = rank.original;
        rank.output.resize(rank.original.size(), std::byte{0xee});
      }
    }
  }
}

bool Job::Contributes(int host) const {
  if (options_.kind == CollectiveKind::kBroadcast) return host == options_.root;
  return std::find(options_.idle_hosts.begin(), options_.idle_hosts.end(), host) ==
         options_.idle_hosts.end();
}

Bucket Job::BucketOf(int host, const CollectiveId& id, const std::vector<size_t>& which) {
  Bucket bucket;
  bucket.id = id;
  bucket.kind = options_.kind;
  bucket.algorithm = options_.algorithm;
  bucket.op = options_.op;
  bucket.dtype = options_.dtype;
  bucket.wire = options_.wire;
  bucket.prescale = options_.prescale;
  bucket.postscale = options_.postscale;
  if (options_.op == ReduceOp::kAverage)
    bucket.divisor = static_cast<uint64_t>(options_.hosts * options_.ranks);
  bucket.hosts.resize(options_.hosts);
  std::iota(bucket.hosts.begin(), bucket.hosts.end(), 0);
  bucket.self = host;
  bucket.root = options_.root;
  bucket.segment_bytes = options_.segment_bytes;
  bucket.channels = options_.channels;
  bucket.on_gpus = std::ranges::count(options_.gpu_hosts, host) > 0;
  for (const size_t t : which) {
    BucketTensor& tensor = bucket.tensors.emplace_back();
    tensor.count = options_.counts[t];
    tensor.name_hash = NameHash("t" + std::to_string(t));
    for (int r = 0; r < options_.ranks; ++r) {
      RankTensor& rank = memory_[t][Index(host, r)];
      const bool is_input = options_.kind == CollectiveKind::kAllreduce || r == 0;
      if (Contributes(host) && is_input) {
        tensor.inputs.push_back(rank.input.empty() ? rank.output.data() : rank.input.data());
      }
      tensor.outputs.push_back(rank.output.data());
    }
  }
  bucket.done = [this, host](const Status& status) { ends_[host].push_back(status); };
  return bucket;
}

Bucket Job::BucketOfAll(int host, const CollectiveId& id) {
  std::vector<size_t> all(options_.counts.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return BucketOf(host, id, all);
}

std::string Job::CheckTensor(size_t t) const {
  const auto& ranks = memory_[t];
  reduce::AllreduceCase expected{options_.dtype,     options_.wire,
                                 options_.op,        options_.prescale,
                                 options_.postscale, 1,
                                 options_.hosts,     {}};
  if (options_.op == ReduceOp::kAverage) expected.divisor = ranks.size();
  for (int h = 0; h < options_.hosts; ++h) {
    for (int r = 0; r < options_.ranks && Contributes(h); ++r) {
      expected.inputs.push_back(ranks[Index(h, r)].original);
    }
  }
  std::string message;
  if (options_.kind == CollectiveKind::kBroadcast) {
    if (ranks[0].output != ranks[Index(options_.root, 0)].original) message = "not the root's";
  } else if (!reduce::WithinR3(expected, ranks[0].output, &message)) {
    message = "rank 0: " + message;
  }
  for (size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r].output != ranks[0].output)
      message += " ranks 0 and " + std::to_string(r) + " differ";
    if (!ranks[r].input.empty() && ranks[r].input != ranks[r].original)
      message += " an input changed";
  }
  return message.empty() ? "" : "t" + std::to_string(t) + ": " + message;
}

std::string Job::Check() const {
  for (int h = 0; h < options_.hosts; ++h) {
    for (const Status& end : ends_[h]) {
      if (!end.ok()) return "host " + std::to_string(h) + ": " + Message(end);
    }
  }
  for (size_t t = 0; t < memory_.size(); ++t) {
    const std::string message = CheckTensor(t);
    if (!message.empty()) return message;
  }
  return "";
}

std::vector<std::vector<std::byte>> Job::Results() const {
  std::vector<std::vector<std::byte>> results;
  for (const auto& ranks : memory_) results.push_back(ranks[0].output);
  return results;
}

std::vector<std::byte> Job::AllMemory() const {
  std::vector<std::byte> all;
  for (const auto& ranks : memory_) {
    for (const RankTensor& rank : ranks) {
      all.insert(all.end(), rank.input.begin(), rank.input.end());
      all.insert(all.end(), rank.output.begin(), rank.output.end());
    }
  }
  return all;
}

std::string RunAndCheck(Cluster& cluster, Job& job, uint64_t sequence) {
  for (int h = 0; h < cluster.size(); ++h) {
    cluster.engine(h).Start(job.BucketOfAll(h, {.epoch = 1, .sequence = sequence, .stream = 1}));
  }
  if (!cluster.RunToTheEnd()) return "a bucket did not end";
  for (int h = 0; h < cluster.size(); ++h) {
    if (job.ends(h).size() != 1) return "a bucket did not end exactly once";
  }
  return job.Check();
}

void StartInRandomOrders(Cluster& cluster, Job& job, size_t streams, uint64_t buckets,
                         std::mt19937_64& random) {
  for (int h = 0; h < cluster.size(); ++h) {
    std::vector<uint64_t> next(streams, 0);
    for (size_t started = 0; started < streams * buckets;) {
      const size_t s = random() % streams;
      if (next[s] == buckets) continue;
      const size_t tensor = s * buckets + next[s]++;
      const CollectiveId id{
          .epoch = 1, .sequence = next[s], .stream = static_cast<uint32_t>(s + 1)};
      cluster.engine(h).Start(job.BucketOf(h, id, {tensor}));
      ++started;
    }
  }
}

}  // namespace reigen::collective
