#include "tests/worker/gpu_script.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>

#include "runtime/base/clock.h"
#include "worker/session/scripted_gpu.h"
#include "worker/session/scripted_trainer.h"

namespace reigen::worker {
namespace {

constexpr uint64_t kSmall = 100;
constexpr uint64_t kLarge = 700'000;

[[noreturn]] void Fail(const std::string& why) {
  std::printf("%s\n", why.c_str());
  std::exit(9);
}

class GpuScript {
 public:
  GpuScript(int rank, int size, ScriptedGpu::Behaviour behaviour)
      : rank_(rank), size_(size), behaviour_(std::move(behaviour)) {}

  void Attach(const std::string& socket) {
    if (!trainer_.Connect(socket) || !trainer_.Init(rank_)) Fail("init failed");
    const auto begun = trainer_.packet<local::EpochBegun>();
    if (begun.requires_device_arenas != 0) {
      std::printf("told of require\n");
      std::fflush(stdout);  // the job may end it
    }
    gpu_ = std::make_unique<ScriptedGpu>(&trainer_, behaviour_);
    if (begun.device_scratch_bytes > 0) {
      AddArena(begun.device_scratch_bytes, local::DeviceArenaKind::kScratch);
    }
    trainer_.DefineName(0, "small");
    trainer_.DefineName(1, "large");
  }

  // The payload is `host`: in the first arena, else on the GPU.
  void Sum(uint32_t name, uint64_t count, bool host) {
    float* data = reinterpret_cast<float*>(trainer_.arena() + kHostPayload);
    uint64_t request = 0;
    if (!host) {
      const uint32_t arena =
          AddArena(count * sizeof(float) + 4096, local::DeviceArenaKind::kTensors);
      data = reinterpret_cast<float*>(gpu_->memory(arena));
      Fill(data, count);
      request = gpu_->Allreduce(name, arena, count);
    } else {
      Fill(data, count);
      local::TensorSlot tensor;
      tensor.dtype = static_cast<uint8_t>(DataType::kFloat32);
      tensor.count = count;
      tensor.offset = kHostPayload;
      request = trainer_.Allreduce(name, ReduceOp::kSum, local::kCudaDevice, tensor);
    }
    const auto result = trainer_.Wait(request);
    if (!result.has_value()) Fail("nothing came");
    if (result->code != local::ResultCode::kOk) Fail(result->text);
    Check(host ? data : gpu_->Result(request), count);
  }

  void Leave() {
    trainer_.Send(local::Shutdown{});
    if (trainer_.Receive() != local::PacketKind::kShutdownDone) Fail("no ShutdownDone");
    std::printf("summed, %s, %d mirrored%s%s\n",
                gpu_->commands() > 0 ? "on GPUs" : "by the CPU", gpu_->mirrored(),
                gpu_->not_used().empty() ? "" : ", not used: ", gpu_->not_used().c_str());
  }

 private:
  static constexpr uint64_t kHostPayload = 32 << 20;

  uint32_t AddArena(uint64_t bytes, local::DeviceArenaKind kind) {
    const auto arena = gpu_->AddArena(bytes, kind);
    if (!arena) pause();  // the worker says why
    return *arena;
  }
  void Fill(float* data, uint64_t count) const {
    for (uint64_t i = 0; i < count; ++i) data[i] = static_cast<float>(rank_ + 1 + i % 1000);
  }
  void Check(const float* data, uint64_t count) const {
    const float ranks = static_cast<float>(size_ * (size_ + 1)) / 2;
    for (uint64_t i = 0; i < count; ++i) {
      const float right = ranks + static_cast<float>(size_) * static_cast<float>(i % 1000);
      if (data[i] != right) {
        Fail("element " + std::to_string(i) + " is " + std::to_string(data[i]) + ", not " +
             std::to_string(right));
      }
    }
  }
  void Idle() {
    if (gpu_ != nullptr) gpu_->Serve();
    usleep(100);
  }

  const int rank_;
  const int size_;
  const ScriptedGpu::Behaviour behaviour_;
  ScriptedTrainer trainer_{seconds(60), [this] { Idle(); }};
  std::unique_ptr<ScriptedGpu> gpu_;
};

ScriptedGpu::Behaviour BehaviourOf(const std::string& mode, int rank) {
  ScriptedGpu::Behaviour behaviour;
  if (rank != 1) return behaviour;
  behaviour.opens_peers = mode != "gpu_closed";
  behaviour.maps_scratch = mode != "gpu_unmapped";
  behaviour.id_error = mode == "gpu_nonsense" ? 7 : 0;
  if (mode == "gpu_silent") behaviour.on_command = [] { return false; };
  if (mode == "gpu_dies") {
    behaviour.on_command = [] {
      raise(SIGKILL);
      return false;
    };
  }
  return behaviour;
}

}  // namespace

int RunGpuMode(const std::string& mode, int rank, int size, const std::string& socket) {
  const std::set<std::string> modes = {"gpu_sum",      "gpu_twice", "gpu_mixed",    "gpu_closed",
                                       "gpu_unmapped", "gpu_dies",  "gpu_nonsense", "gpu_silent"};
  if (!modes.contains(mode)) return -1;
  const bool host = mode == "gpu_mixed" && rank == 1;
  for (int session = 0; session < (mode == "gpu_twice" ? 2 : 1); ++session) {
    GpuScript script(rank, size, BehaviourOf(mode, rank));
    script.Attach(socket);
    for (int round = 0; round < 3; ++round) {
      script.Sum(0, kSmall, host);
      script.Sum(1, kLarge, host);
    }
    script.Leave();
  }
  return 0;
}

}  // namespace reigen::worker
