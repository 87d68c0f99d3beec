#include "client/c/local_job.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "client/c/device_work.h"
#include "runtime/reduce/scalar.h"

namespace reigen::sdk {
namespace {

constexpr auto kPause = std::chrono::microseconds(50);

void Run(const Request& request, const RequestTensor& tensor) {
  if (tensor.count == 0 || tensor.output == nullptr) return;
  if (request.kind == CollectiveKind::kAllreduce && tensor.in.contiguous() &&
      tensor.out.contiguous()) {
    const bool apart = tensor.input == tensor.output ||
                       tensor.input + tensor.bytes <= tensor.output ||
                       tensor.output + tensor.bytes <= tensor.input;
    if (apart) {
      reduce::scalar::ScaleCopy(tensor.dtype, request.prescale, request.postscale, tensor.input,
                                tensor.output, tensor.count);
      return;
    }
  }
  std::vector<std::byte> packed(tensor.bytes);
  tensor.in.Gather(tensor.input, packed.data());
  if (request.kind == CollectiveKind::kAllreduce) {
    reduce::scalar::ScaleCopy(tensor.dtype, request.prescale, request.postscale, packed.data(),
                              packed.data(), tensor.count);
  }
  tensor.out.Scatter(packed.data(), tensor.output);
}

}  // namespace

Result LocalJob::Submit(const std::shared_ptr<Operation>& operation) {
  if (operation->request().device_kind == REIGEN_CUDA) {
    std::unique_ptr<DeviceWork> work;
    REIGEN_SDK_RETURN_IF_ERROR(RunOnDevice(operation->request(), &work));
    operation->EndOnDevice(std::move(work));
    return Ok();
  }
  for (const RequestTensor& tensor : operation->request().tensors) {
    Run(operation->request(), tensor);
  }
  operation->End({});
  return Ok();
}

// A job of one rank reduces nothing: scaled there, or else through host memory.
Result LocalJob::RunOnDevice(const Request& request, std::unique_ptr<DeviceWork>* out) {
  REIGEN_SDK_RETURN_IF_ERROR(DeviceWork::Start(*devices_, request, nullptr, out));
  DeviceWork* const work = out->get();
  if (work->CanScale(request)) return work->Scale(request);
  const auto memory = std::make_shared<std::vector<std::vector<std::byte>>>();
  Result run = RunThroughHost(request, work, memory.get());
  if (!run.ok()) work->device()->KeepIfTouched(memory);
  return run;
}

Result LocalJob::RunThroughHost(const Request& request, DeviceWork* work,
                                std::vector<std::vector<std::byte>>* memory) {
  std::vector<Payload> payloads(request.tensors.size());
  for (size_t i = 0; i < payloads.size(); ++i) {
    payloads[i].packed = memory->emplace_back(request.tensors[i].bytes).data();
  }
  for (bool ready = false; !ready;) {
    REIGEN_SDK_RETURN_IF_ERROR(work->AskReady(request, &ready));
    if (!ready) std::this_thread::sleep_for(kPause);  // NOLINT: CUDA's own waits have no end
  }
  REIGEN_SDK_RETURN_IF_ERROR(work->StartFetch(request, payloads));
  REIGEN_SDK_RETURN_IF_ERROR(work->EndFetch(request));
  for (size_t i = 0; i < payloads.size(); ++i) {
    if (request.kind != CollectiveKind::kAllreduce) break;
    std::byte* const packed = payloads[i].packed;
    const RequestTensor& tensor = request.tensors[i];
    reduce::scalar::ScaleCopy(tensor.dtype, request.prescale, request.postscale, packed, packed,
                              tensor.count);
  }
  bool done = false;
  REIGEN_SDK_RETURN_IF_ERROR(work->Deliver(request, payloads, PayloadBlock()));
  return work->WaitDelivered(request, Time::max(), &done);
}

Result LocalJob::Allocate(uint64_t bytes, Block* out) {
  const uint64_t file_bytes = std::max<uint64_t>(bytes, 1) + local::kArenaAlignment;
  if (file_bytes < bytes) return Fail(REIGEN_RESOURCE_EXHAUSTED, "too many bytes");
  std::shared_ptr<ArenaFile> file;
  REIGEN_SDK_RETURN_IF_ERROR(ArenaFile::MapPrivate(file_bytes, &file));
  const auto offset = file->Allocate(bytes);
  if (!offset) return Fail(REIGEN_RESOURCE_EXHAUSTED, "too many bytes");
  *out = Block(std::move(file), *offset, bytes);
  return Ok();
}

}  // namespace reigen::sdk
