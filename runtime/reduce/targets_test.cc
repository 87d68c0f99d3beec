// Goal: the same bits on every machine and however a block is cut (R2). Method:
// every Highway target that this machine can run, against the best one, and
// random cuts against the whole.
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"
#include "runtime/reduce/simulated_allreduce.h"
#include "runtime/reduce/supported.h"

namespace reigen::reduce {
namespace {

constexpr size_t kCount = 600;

std::vector<AllreduceCase> Cases() {
  std::vector<AllreduceCase> cases;
  for (int type = 0; type < kDataTypeCount; ++type) {
    for (ReduceOp op : {ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
      for (double scale : {1.0, 0.3}) {
        for (Data data : {Data::kPlain, Data::kAnyBits, Data::kCorners}) {
          AllreduceCase c;
          c.dtype = static_cast<DataType>(type);
          c.wire = IsHalf(c.dtype) && scale == 1.0 ? DataType::kFloat32 : c.dtype;
          c.op = op;
          c.prescale = c.postscale = scale;
          c.hosts = 2;
          c.divisor = op == ReduceOp::kAverage ? 3 : 1;
          for (uint64_t r = 0; r < 4; ++r) c.inputs.push_back(MakeData(c.dtype, data, kCount, 11 + r));
          if (SupportedReduction(c.dtype, c.op, scale, scale)) cases.push_back(std::move(c));
        }
      }
    }
  }
  return cases;
}

std::string Label(const AllreduceCase& c) {
  return std::string(Name(c.dtype)) + " " + std::string(Name(c.op)) + " scaled " +
         std::to_string(c.prescale);
}

void UseTarget(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Both shapes, and a partial as it would travel.
std::vector<std::byte> Results(const AllreduceCase& c) {
  std::vector<std::byte> all = SimulatedAllreduce(c, Shape::kChain, 0, kCount);
  const auto tree = SimulatedAllreduce(c, Shape::kTree, 0, kCount);
  all.insert(all.end(), tree.begin(), tree.end());
  std::vector<std::byte> partial(kCount * ElementBytes(c.wire));
  const std::byte* inputs[] = {c.inputs[0].data(), c.inputs[1].data(), c.inputs[2].data()};
  ReducePartial(SpecOf(c), inputs, nullptr, partial.data(), kCount);
  all.insert(all.end(), partial.begin(), partial.end());
  return all;
}

TEST(TargetsTest, EveryTargetGivesTheSameBits) {
  const std::vector<AllreduceCase> cases = Cases();
  std::vector<std::vector<std::byte>> best;
  for (const AllreduceCase& c : cases) best.push_back(Results(c));
  int targets = 0;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    UseTarget(target);
    ++targets;
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(Results(cases[i]), best[i]) << Label(cases[i]) << " on " << hwy::TargetName(target);
    }
    UseTarget(0);
  }
  EXPECT_GE(targets, 1);
  RecordProperty("targets", targets);
}

TEST(TargetsTest, RandomCutsGiveTheSameBits) {
  std::mt19937 random(5);
  for (const AllreduceCase& c : Cases()) {
    const auto whole = SimulatedAllreduce(c, Shape::kChain, 0, kCount);
    for (int round = 0; round < 3; ++round) {
      std::vector<std::byte> pieces;
      for (size_t begin = 0; begin < kCount;) {
        const size_t end = std::min(kCount, begin + 1 + random() % 400);
        const auto piece = SimulatedAllreduce(c, Shape::kChain, begin, end);
        pieces.insert(pieces.end(), piece.begin(), piece.end());
        begin = end;
      }
      EXPECT_EQ(pieces, whole) << Label(c);
    }
  }
}

}  // namespace
}  // namespace reigen::reduce
