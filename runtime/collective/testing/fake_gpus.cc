#include "runtime/collective/testing/fake_gpus.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/reduce/kernels.h"

namespace reigen::collective {
namespace {

bool HalfOverlap(const std::byte* a, size_t a_bytes, const std::byte* b, size_t b_bytes) {
  return a != b && a < b + b_bytes && b < a + a_bytes;
}

void CheckAlias(const GpuCommand& command, const GpuItem& item) {
  const size_t in_bytes = item.count * ElementBytes(command.dtype);
  const size_t received_bytes = item.count * ElementBytes(command.received);
  const size_t out_bytes = item.count * ElementBytes(command.out);
  for (const std::byte* output : item.outputs) {
    for (const std::byte* input : item.inputs) {
      REIGEN_CHECK(!HalfOverlap(output, out_bytes, input, in_bytes));
      if (input == output) REIGEN_CHECK(command.out == command.dtype, "in place, of two types");
    }
    if (item.received == nullptr) continue;
    REIGEN_CHECK(!HalfOverlap(output, out_bytes, item.received, received_bytes));
    if (item.received == output) REIGEN_CHECK(command.out == command.received);
  }
}

void CheckCommand(const GpuCommand& command) {
  const bool copy = command.kind == GpuCommand::Kind::kCopy;
  REIGEN_CHECK(!command.items.empty() && command.items.size() <= Gpus::kMaxItems);
  const GpuItem& first = command.items.front();
  for (const DataType type : {command.received, command.out}) {
    REIGEN_CHECK(type == command.dtype || (IsHalf(command.dtype) && type == DataType::kFloat32));
  }
  REIGEN_CHECK(first.inputs.size() <= Gpus::kMaxInputs);
  REIGEN_CHECK(!first.outputs.empty() && first.outputs.size() <= Gpus::kMaxInputs);
  REIGEN_CHECK(copy ? first.inputs.size() == 1 && first.received == nullptr
                    : !first.inputs.empty() || first.received != nullptr);
  if (copy) REIGEN_CHECK(command.out == command.dtype);
  for (const GpuItem& item : command.items) {
    REIGEN_CHECK(item.count > 0 && item.inputs.size() == first.inputs.size() &&
                 item.outputs.size() == first.outputs.size() &&
                 (item.received == nullptr) == (first.received == nullptr));
    CheckAlias(command, item);
  }
}

void Reduce(const GpuCommand& command, const GpuItem& item) {
  const reduce::ReduceSpec spec{command.dtype,    command.received,  command.op,
                                command.prescale, command.postscale, command.divisor};
  if (command.out == command.dtype) {
    return reduce::ReduceFinal(spec, item.inputs, item.received, item.outputs, item.count);
  }
  REIGEN_CHECK(command.out == command.received && command.postscale == 1 && command.divisor == 1);
  const std::span<std::byte* const> outputs = item.outputs;
  reduce::ReducePartial(spec, item.inputs, item.received, outputs.front(), item.count);
  for (std::byte* const output : outputs.subspan(1)) {
    std::memcpy(output, outputs.front(), item.count * ElementBytes(command.out));
  }
}

void Execute(const GpuCommand& command) {
  for (const GpuItem& item : command.items) {
    if (command.kind == GpuCommand::Kind::kReduce) {
      Reduce(command, item);
      continue;
    }
    for (std::byte* const output : item.outputs) {
      std::memmove(output, item.inputs.front(), item.count * ElementBytes(command.dtype));
    }
  }
}

void Spoil(const GpuCommand& command) {
  for (const GpuItem& item : command.items) {
    for (std::byte* const output : item.outputs) {
      std::memset(output, 0xdd, item.count * ElementBytes(command.out));
    }
  }
}

}  // namespace

FakeGpus::FakeGpus(const FakeGpusOptions& options)
    : memory_(options.scratch),
      queues_(static_cast<size_t>(options.leaders)),
      random_(options.seed) {
  for (const GpuScratch& scratch : memory_) scratches_.emplace_back(scratch.addresses);
}

Scratch& FakeGpus::scratch(int leader) {
  REIGEN_CHECK(leader >= 0 && leader < leaders() && !scratches_.empty());
  return scratches_[static_cast<size_t>(leader) % scratches_.size()];
}

void FakeGpus::OpenStream(uint32_t stream, size_t window_bytes) {
  for (Scratch& scratch : scratches_) REIGEN_CHECK(scratch.Open(stream, window_bytes).ok());
}

void FakeGpus::Submit(int leader, GpuCommand command, std::function<void(const Status&)> done) {
  REIGEN_CHECK(leader >= 0 && leader < leaders());
  CheckCommand(command);
  ToBytes(command);
  Out& out = queues_[static_cast<size_t>(leader)].commands.emplace_back();
  out.command = std::move(command);
  out.done = std::move(done);
  if (fail_at_ == submitted_++) out.status = failure_;
}

void FakeGpus::ToBytes(GpuCommand& command) const {
  const auto bytes = [this](const std::byte* address) {
    for (const auto& [addresses, bytes] : memory_) {
      if (address >= addresses.data() && address < addresses.data() + addresses.size()) {
        return bytes.data() + (address - addresses.data());
      }
    }
    return const_cast<std::byte*>(address);  // a tensor's
  };
  for (GpuItem& item : command.items) {
    if (item.received != nullptr) item.received = bytes(item.received);
    for (const std::byte*& input : item.inputs) input = bytes(input);
    for (std::byte*& output : item.outputs) output = bytes(output);
  }
}

void FakeGpus::FailAfter(uint64_t commands, const Status& status) {
  fail_at_ = submitted_ + commands;
  failure_ = status;
}

void FakeGpus::Turn() {
  for (Queue& queue : queues_) {
    if (queue.stopped) continue;
    for (uint64_t steps = random_() % 4; steps > 0; --steps) {
      const auto next = std::find_if(queue.commands.begin(), queue.commands.end(),
                                     [](const Out& out) { return !out.executed; });
      const bool end = next == queue.commands.end() || random_() % 2 == 0;
      if (end && !queue.commands.empty() && queue.commands.front().executed) {
        EndFirst(queue, queue.commands.front().status);
      } else if (next != queue.commands.end()) {
        next->executed = true;
        next->status.ok() ? Execute(next->command) : Spoil(next->command);
      }
    }
  }
}

void FakeGpus::EndFirst(Queue& queue, Status status) {
  const auto done = std::move(queue.commands.front().done);
  queue.commands.pop_front();
  done(status);
}

void FakeGpus::EndAll(const Status& status) {
  for (Queue& queue : queues_) {
    while (!queue.commands.empty()) EndFirst(queue, status);
  }
}

bool FakeGpus::busy() const {
  return std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) {
    return !queue.stopped && !queue.commands.empty();
  });
}

size_t FakeGpus::out() const {
  size_t out = 0;
  for (const Queue& queue : queues_) out += queue.commands.size();
  return out;
}

}  // namespace reigen::collective
