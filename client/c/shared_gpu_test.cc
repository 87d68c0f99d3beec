// Goal: commands to one trainer work on the memory of another, which is another process:
// opened by handle when the worker says so.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "client/c/fake_worker.h"
#include "client/cuda/kernel_image.h"
#include "gtest/gtest.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk {
namespace {

pid_t Spawn(const char* program) {
  char* const arguments[] = {const_cast<char*>(program), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, program, nullptr, nullptr, arguments, environ), 0);
  return pid;
}

int StatusOf(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

class SharedGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::KernelImageText() == nullptr) GTEST_SKIP() << "built without nvcc";
  }
  ~SharedGpuTest() override {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "REIGEN_FAKE_CUDA_BROKEN_PEER",
                             "REIGEN_FAKE_CUDA_STRICT_END"}) {
      unsetenv(name);
    }
  }

  // Two sessions of one worker, until each has its tensor on its GPU.
  void Begin(bool own_gpus) {
    for (const int rank : {0, 1}) {
      FakeScript script;
      script.rank = rank;
      script.size = 2;
      script.takes_device_arenas = true;
      workers_[rank] = std::make_unique<FakeWorker>(std::move(script));
      workers_[rank]->SetEnvironment();
      if (own_gpus) setenv("CUDA_VISIBLE_DEVICES", rank == 0 ? "0" : "1", 1);
      trainers_[rank] = Spawn("client/c/shared_gpu_trainer");
    }
    for (const int rank : {0, 1}) {
      const SeenRequest seen = workers_[rank]->WaitForRequests(1)[0];
      places_[rank] = workers_[rank]->Place(seen.tensors[0]);
      ASSERT_TRUE(workers_[rank]->IsOnDevice(seen.tensors[0]));
    }
  }
  // Has the rank open the other's arena.
  local::PeerArenaOpened Open(int rank) {
    const SeenDeviceArena other = workers_[1 - rank]->device_arenas()[0];
    local::PeerArena peer;
    peer.bytes = other.packet.bytes;
    peer.local_rank = static_cast<uint32_t>(1 - rank);
    peer.arena = other.arena;
    std::copy(std::begin(other.packet.bus_id), std::end(other.packet.bus_id), peer.bus_id);
    std::copy(std::begin(other.packet.ipc_handle), std::end(other.packet.ipc_handle),
              peer.ipc_handle);
    workers_[rank]->SendPeerArena(peer);
    return workers_[rank]->WaitForOpened(1)[0];
  }
  void Complete() {
    for (const auto& worker : workers_) {
      worker->Complete(worker->WaitForRequests(1)[0].head.request);
    }
  }

  std::unique_ptr<FakeWorker> workers_[2];
  pid_t trainers_[2] = {};
  local::MemoryPlace places_[2];
};

TEST_F(SharedGpuTest, AccessThatIsAllowedButDoesNotWorkIsFound) {
  for (const char* lost : {"reads", "writes"}) {
    setenv("REIGEN_FAKE_CUDA_BROKEN_PEER", lost, 1);
    Begin(true);
    for (const int rank : {0, 1}) {
      const local::PeerArenaOpened opened = Open(rank);
      EXPECT_EQ(opened.code, static_cast<uint32_t>(local::ResultCode::kUnavailable));
      const std::string gpus[] = {"0000:3b:00.0", "0000:4b:00.0"};
      EXPECT_EQ(std::string(opened.why_not),
                "GPU " + gpus[rank] + " " + lost + " memory of GPU " + gpus[1 - rank] +
                    " wrongly, though CUDA allows it: see to the host's IOMMU (iommu=pt) and to "
                    "ACS of its PCIe bridges");
    }
    Complete();
    for (const pid_t trainer : trainers_) StatusOf(trainer);  // nothing was summed
  }
}

TEST_F(SharedGpuTest, ATrainerThatJustExitsHasLeftBeforeItsDriverEnds) {
  setenv("REIGEN_FAKE_CUDA_STRICT_END", "1", 1);
  FakeScript script;
  script.size = 1;
  script.takes_device_arenas = true;
  workers_[0] = std::make_unique<FakeWorker>(std::move(script));
  workers_[0]->SetEnvironment();
  const pid_t trainer = Spawn("client/c/shared_gpu_trainer");
  workers_[0]->Complete(workers_[0]->WaitForRequests(1)[0].head.request);
  EXPECT_EQ(StatusOf(trainer), 0);
}

TEST_F(SharedGpuTest, ATrainersCommandWorksOnAnothersMemory) {
  Begin(false);
  for (const int rank : {0, 1}) {
    const local::PeerArenaOpened opened = Open(rank);
    ASSERT_EQ(opened.code, 0u) << opened.why_not;
  }
  local::CommandSlot head;
  head.item_count = 1;
  head.dtype = head.received_dtype = head.out_dtype = static_cast<uint8_t>(DataType::kFloat32);
  head.op = static_cast<uint8_t>(ReduceOp::kSum);
  head.inputs = head.outputs = 2;
  // Each does one element.
  for (const int rank : {1, 0}) {
    workers_[rank]->Command(head, {local::ItemSize{.count = 1, .reserved = 0}, places_[0],
                                  places_[1], places_[0], places_[1]});
    for (local::MemoryPlace& place : places_) place.offset += sizeof(float);
  }
  for (const auto& worker : workers_) {
    const local::DoneSlot done = worker->WaitForDone(1)[0];
    EXPECT_EQ(done.code, local::ResultCode::kOk) << done.text;
  }
  Complete();
  for (const pid_t trainer : trainers_) EXPECT_EQ(StatusOf(trainer), 0);
}

}  // namespace
}  // namespace reigen::sdk
