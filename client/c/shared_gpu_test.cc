// Goal: commands to one trainer work on the memory of another, which is another process:
// opened by handle when the worker says so.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
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

TEST(SharedGpuTest, ATrainersCommandWorksOnAnothersMemory) {
  if (cuda::KernelImageText() == nullptr) GTEST_SKIP() << "built without nvcc";
  std::unique_ptr<FakeWorker> workers[2];  // two sessions of one worker
  pid_t trainers[2] = {};
  for (const int rank : {0, 1}) {
    FakeScript script;
    script.rank = rank;
    script.size = 2;
    script.takes_device_arenas = true;
    workers[rank] = std::make_unique<FakeWorker>(std::move(script));
    workers[rank]->SetEnvironment();
    trainers[rank] = Spawn("client/c/shared_gpu_trainer");
  }
  local::MemoryPlace places[2];
  for (const int rank : {0, 1}) {
    const SeenRequest seen = workers[rank]->WaitForRequests(1)[0];
    places[rank] = workers[rank]->Place(seen.tensors[0]);
    ASSERT_TRUE(workers[rank]->IsOnDevice(seen.tensors[0]));
  }
  for (const int rank : {0, 1}) {
    const SeenDeviceArena other = workers[1 - rank]->device_arenas()[0];
    local::PeerArena peer;
    peer.bytes = other.packet.bytes;
    peer.local_rank = static_cast<uint32_t>(1 - rank);
    peer.arena = other.arena;
    std::copy(std::begin(other.packet.ipc_handle), std::end(other.packet.ipc_handle),
              peer.ipc_handle);
    workers[rank]->SendPeerArena(peer);
    const local::PeerArenaOpened opened = workers[rank]->WaitForOpened(1)[0];
    ASSERT_EQ(opened.code, 0u) << opened.why_not;
  }
  local::CommandSlot head;
  head.item_count = 1;
  head.dtype = head.received_dtype = head.out_dtype = static_cast<uint8_t>(DataType::kFloat32);
  head.op = static_cast<uint8_t>(ReduceOp::kSum);
  head.inputs = head.outputs = 2;
  // Each does one element.
  for (const int rank : {1, 0}) {
    workers[rank]->Command(head, {local::ItemSize{.count = 1, .reserved = 0}, places[0],
                                  places[1], places[0], places[1]});
    for (local::MemoryPlace& place : places) place.offset += sizeof(float);
  }
  for (const auto& worker : workers) {
    const local::DoneSlot done = worker->WaitForDone(1)[0];
    EXPECT_EQ(done.code, local::ResultCode::kOk) << done.text;
  }
  for (const auto& worker : workers) {
    worker->Complete(worker->WaitForRequests(1)[0].head.request);
  }
  for (const pid_t trainer : trainers) EXPECT_EQ(StatusOf(trainer), 0);
}

}  // namespace
}  // namespace reigen::sdk
