#include "client/c/request.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/reduce/supported.h"

namespace reigen::sdk {
namespace {

std::string_view KindPrefix(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllreduce: return "allreduce.";
    case CollectiveKind::kBroadcast: return "broadcast.";
    case CollectiveKind::kBarrier: return "barrier.";
  }
  return "";
}

// The struct as its first version had it; the fields after that are for CUDA tensors.
constexpr size_t kFirstTensorBytes = 72;
static_assert(offsetof(reigen_tensor, device) == 68);
static_assert(offsetof(reigen_tensor, stream) == kFirstTensorBytes);

// Other versions of the struct are longer or shorter: the caller's own size is the step.
const reigen_tensor& TensorAt(const TensorsArgument& argument, size_t index) {
  const auto* base = reinterpret_cast<const std::byte*>(argument.tensors);
  return *reinterpret_cast<const reigen_tensor*>(base + index * argument.tensors->struct_size);
}

Result CheckArgument(const TensorsArgument& argument) {
  if (argument.tensors == nullptr || argument.count == 0) return Invalid("no tensors given");
  if (argument.count > local::kMaxGroupTensors) {
    return Invalid(std::to_string(argument.count) + " tensors in a group, at most " +
                   std::to_string(local::kMaxGroupTensors) + " fit");
  }
  const size_t step = argument.tensors->struct_size;
  if (step < kFirstTensorBytes || step % alignof(reigen_tensor) != 0 || step > 4096) {
    return Invalid("reigen_tensor.struct_size is " + std::to_string(step) + ", expected " +
                   std::to_string(sizeof(reigen_tensor)));
  }
  for (size_t i = 0; i < argument.count; ++i) {
    if (TensorAt(argument, i).struct_size != step) {
      return Invalid("reigen_tensor.struct_size differs within the group");
    }
  }
  return Ok();
}

Result CheckProcessSet(int32_t process_set) {
  if (process_set == 0) return Ok();
  return Invalid("unknown process set " + std::to_string(process_set));
}

Result CheckName(const std::string& name) {
  if (name.size() <= local::kMaxNameBytes) return Ok();
  return Invalid("a name of " + std::to_string(name.size()) + " bytes, at most " +
                 std::to_string(local::kMaxNameBytes) + " fit: " + name.substr(0, 60) + "...");
}

// At most kMaxDims go to the worker: the last is the product of the rest.
void SetSentShape(std::span<const int64_t> shape, RequestTensor* out) {
  constexpr size_t kLast = local::kMaxDims - 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto extent = static_cast<uint64_t>(shape[d]);
    if (d <= kLast) {
      out->shape[d] = extent;
    } else {
      out->shape[kLast] = out->count == 0 ? 0 : out->shape[kLast] * extent;
    }
  }
  out->ndim = static_cast<uint8_t>(std::min<size_t>(shape.size(), local::kMaxDims));
}

Result MakeTensor(const reigen_tensor& given, const std::string& name, bool reads, bool writes,
                  RequestTensor* out) {
  if (given.dtype < 0 || given.dtype >= kDataTypeCount) {
    return Invalid(name + ": unknown dtype " + std::to_string(given.dtype));
  }
  if (given.ndim < 0 || given.ndim > kMaxTensorDims ||
      (given.ndim > 0 && given.shape == nullptr)) {
    return Invalid(name + ": bad number of dimensions " + std::to_string(given.ndim));
  }
  out->dtype = static_cast<DataType>(given.dtype);
  const size_t element = ElementBytes(out->dtype);
  const auto dims = static_cast<size_t>(given.ndim);
  const std::span<const int64_t> shape(given.shape, dims);
  Result counted = CountElements(shape, element, &out->count);
  if (!counted.ok()) return Invalid(name + ": " + counted.text);
  out->bytes = out->count * element;
  SetSentShape(shape, out);
  const auto strides = [&](const int64_t* given_strides) {
    return std::span<const int64_t>(given_strides, given_strides == nullptr ? 0 : dims);
  };
  if (reads && out->count > 0) {
    if (given.input == nullptr) return Invalid(name + ": no input");
    out->input = static_cast<const std::byte*>(given.input);
    REIGEN_SDK_RETURN_IF_ERROR(Layout::Make(shape, strides(given.input_strides), element,
                                            out->count, name + ": input", &out->in));
  }
  if (writes && out->count > 0) {
    if (given.output == nullptr) return Invalid(name + ": no output");
    out->output = static_cast<std::byte*>(given.output);
    REIGEN_SDK_RETURN_IF_ERROR(Layout::Make(shape, strides(given.output_strides), element,
                                            out->count, name + ": output", &out->out));
    if (out->out.overlaps()) {
      return Invalid(name + ": the output's elements overlap in memory (an expanded view?): "
                            "it cannot hold a result");
    }
    const auto range = static_cast<uint64_t>(out->out.end() - out->out.begin());
    if (given.device_kind == REIGEN_CUDA && range != out->bytes) {
      return Invalid(name + ": a CUDA output with gaps between its elements is not supported: "
                            "use a contiguous one");
    }
  }
  return Ok();
}

// Where the tensors of the request lie: the same for all of them.
Result SetDevice(const TensorsArgument& argument, const std::string& name, Request* out) {
  for (size_t i = 0; i < argument.count; ++i) {
    const reigen_tensor& given = TensorAt(argument, i);
    if (given.device_kind != REIGEN_HOST && given.device_kind != REIGEN_CUDA) {
      return Invalid(name + ": unknown device kind " + std::to_string(given.device_kind));
    }
    if (given.device_kind != argument.tensors->device_kind) {
      return Invalid(name + ": tensors of one group lie in host memory and on CUDA devices");
    }
    if (given.device_kind == REIGEN_HOST) continue;
    if (given.struct_size < sizeof(reigen_tensor)) {
      return Invalid(name + ": reigen_tensor.struct_size is too small for a CUDA tensor");
    }
    if (given.device != argument.tensors->device) {
      return Invalid(name + ": tensors of one group lie on CUDA devices " +
                     std::to_string(argument.tensors->device) + " and " +
                     std::to_string(given.device));
    }
    if (given.stream != argument.tensors->stream) {
      return Invalid(name + ": tensors of one group have several CUDA streams");
    }
  }
  out->device_kind = static_cast<uint8_t>(argument.tensors->device_kind);
  if (out->device_kind == REIGEN_HOST) return Ok();
  out->device = argument.tensors->device;
  out->stream = argument.tensors->stream;
  return Ok();
}

// Names and tensors of all-reduce and broadcast.
Result AddTensors(const TensorsArgument& argument, const std::string& request_name, bool reads,
                  bool writes, Request* out) {
  REIGEN_SDK_RETURN_IF_ERROR(CheckArgument(argument));
  REIGEN_SDK_RETURN_IF_ERROR(CheckName(request_name));
  REIGEN_SDK_RETURN_IF_ERROR(SetDevice(argument, request_name, out));
  out->names.push_back(request_name);
  out->tensors.resize(argument.count);
  const std::string prefix(KindPrefix(out->kind));
  for (size_t i = 0; i < argument.count; ++i) {
    const reigen_tensor& given = TensorAt(argument, i);
    std::string name = request_name;
    if (given.name != nullptr) {
      name = prefix + given.name;
    } else if (argument.count > 1) {
      name += "_" + std::to_string(i + 1) + "of" + std::to_string(argument.count);
    }
    REIGEN_SDK_RETURN_IF_ERROR(CheckName(name));
    REIGEN_SDK_RETURN_IF_ERROR(MakeTensor(given, name, reads, writes, &out->tensors[i]));
    if (argument.count > 1 || name != request_name) out->names.push_back(std::move(name));
  }
  return Ok();
}

}  // namespace

const char* GivenName(const TensorsArgument& argument) {
  if (argument.name != nullptr) return argument.name;
  const bool one = argument.tensors != nullptr && argument.count == 1 &&
                   argument.tensors->struct_size >= kFirstTensorBytes;
  return one ? argument.tensors->name : nullptr;
}

std::string RequestName(CollectiveKind kind, const char* given, NamelessCounter& nameless) {
  const std::string prefix(KindPrefix(kind));
  if (given != nullptr) return prefix + given;
  return prefix + "noname." + std::to_string(nameless.Next(kind));
}

Result MakeAllreduce(const TensorsArgument& argument, const reigen_allreduce_options* options,
                     const std::string& request_name, Request* out) {
  out->kind = CollectiveKind::kAllreduce;
  if (options == nullptr || options->struct_size < sizeof(reigen_allreduce_options)) {
    return Invalid(request_name + ": bad options");
  }
  REIGEN_SDK_RETURN_IF_ERROR(CheckProcessSet(options->process_set));
  if (options->op < 0 || options->op > std::numeric_limits<uint8_t>::max() ||
      !IsValidReduceOp(static_cast<uint8_t>(options->op))) {
    return Invalid(request_name + ": unknown op " + std::to_string(options->op));
  }
  if (std::isnan(options->prescale) || std::isnan(options->postscale)) {
    return Invalid(request_name + ": a scale is not a number");
  }
  out->op = static_cast<ReduceOp>(options->op);
  out->prescale = options->prescale;
  out->postscale = options->postscale;
  REIGEN_SDK_RETURN_IF_ERROR(AddTensors(argument, request_name, true, true, out));
  for (size_t i = 0; i < out->tensors.size(); ++i) {
    const DataType dtype = out->tensors[i].dtype;
    if (!reduce::SupportedReduction(dtype, out->op, out->prescale, out->postscale)) {
      return Invalid(out->TensorName(i) + ": " + reduce::RefusalText(dtype, out->op));
    }
  }
  return Ok();
}

Result MakeBroadcast(const TensorsArgument& argument, const reigen_broadcast_options* options,
                     const std::string& request_name, const Place& place, Request* out) {
  out->kind = CollectiveKind::kBroadcast;
  if (options == nullptr || options->struct_size < sizeof(reigen_broadcast_options)) {
    return Invalid(request_name + ": bad options");
  }
  REIGEN_SDK_RETURN_IF_ERROR(CheckProcessSet(options->process_set));
  if (options->root_rank < 0 || options->root_rank >= place.size) {
    return Invalid(request_name + ": root_rank " + std::to_string(options->root_rank) +
                   " is not in a job of size " + std::to_string(place.size));
  }
  out->root = options->root_rank;
  REIGEN_SDK_RETURN_IF_ERROR(
      AddTensors(argument, request_name, place.rank == options->root_rank, true, out));
  for (RequestTensor& tensor : out->tensors) {
    // The root's own tensor is the result: nothing to write back.
    if (tensor.input == tensor.output && tensor.in == tensor.out) tensor.output = nullptr;
  }
  return Ok();
}

Result MakeBarrier(int32_t process_set, const std::string& request_name, Request* out) {
  out->kind = CollectiveKind::kBarrier;
  out->names.push_back(request_name);
  return CheckProcessSet(process_set);
}

}  // namespace reigen::sdk
