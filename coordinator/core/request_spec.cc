#include "coordinator/core/request_spec.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "coordinator/core/text.h"
#include "coordinator/limits.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::coordinator {
namespace {

// RequestSpec.device_kind
constexpr uint32_t kHostDevice = 0;
constexpr uint32_t kCudaDevice = 1;

using control::RequestSpec;
using control::TensorSpec;

// Tensors of a group whose differences are written out.
constexpr int kMaxTensorsDescribed = 3;

bool IsKind(const RequestSpec& spec, CollectiveKind kind) {
  return spec.kind() == static_cast<uint32_t>(kind);
}

bool SameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool SameTensor(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype() == b.dtype() && a.count() == b.count() && a.name() == b.name() &&
         std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}

std::string KindText(const RequestSpec& spec) {
  if (IsKind(spec, CollectiveKind::kAllreduce)) return "allreduce";
  if (IsKind(spec, CollectiveKind::kBroadcast)) return "broadcast";
  if (IsKind(spec, CollectiveKind::kBarrier)) return "barrier";
  return "unknown collective " + std::to_string(spec.kind());
}

bool IsValidDataTypeNumber(uint32_t dtype) {
  return dtype < 256 && IsValidDataType(static_cast<uint8_t>(dtype));
}

std::string DataTypeText(uint32_t dtype) {
  if (!IsValidDataTypeNumber(dtype)) return "unknown type " + std::to_string(dtype);
  return std::string(Name(static_cast<DataType>(dtype)));
}

bool IsValidOpNumber(uint32_t op) { return op < 256 && IsValidReduceOp(static_cast<uint8_t>(op)); }

std::string OpText(const RequestSpec& spec) {
  if (!IsValidOpNumber(spec.op())) return "unknown op " + std::to_string(spec.op());
  return std::string(Name(static_cast<ReduceOp>(spec.op())));
}

std::string ShapeText(const TensorSpec& tensor) {
  std::string text = "[";
  for (int i = 0; i < tensor.shape_size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(tensor.shape(i));
  }
  return text + "]";
}

std::string DeviceText(const RequestSpec& spec) {
  if (spec.device_kind() == kHostDevice) return "host memory";
  if (spec.device_kind() == kCudaDevice) return "CUDA device";
  return "device kind " + std::to_string(spec.device_kind());
}

// "FIELD: VALUE on ranks R; VALUE on ranks R", if the groups' values differ.
std::optional<std::string> Clause(const std::string& field, const std::vector<SpecGroup>& groups,
                                  const std::function<std::string(const RequestSpec&)>& value) {
  std::vector<std::pair<std::string, std::vector<int>>> values;
  for (const SpecGroup& group : groups) {
    const std::string text = value(*group.spec);
    auto it = std::find_if(values.begin(), values.end(),
                           [&](const auto& known) { return known.first == text; });
    if (it == values.end()) it = values.insert(values.end(), {text, {}});
    it->second.insert(it->second.end(), group.ranks.begin(), group.ranks.end());
  }
  if (values.size() < 2) return std::nullopt;
  std::string text = field + ": ";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += "; ";
    std::sort(values[i].second.begin(), values[i].second.end());
    text += values[i].first + " on " + RankText(values[i].second);
  }
  return text;
}

// What differs in the tensors, all groups having the same number of them.
void AddTensorClauses(const std::vector<SpecGroup>& groups, std::vector<std::string>& clauses) {
  const RequestSpec& first = *groups.front().spec;
  int described = 0;
  for (int i = 0; i < first.tensors_size() && described < kMaxTensorsDescribed; ++i) {
    const std::string of = first.tensors_size() > 1 ? " of " + first.tensors(i).name() : "";
    const size_t before = clauses.size();
    const auto add = [&](const std::string& field, auto value) {
      auto clause =
          Clause(field + of, groups, [&](const RequestSpec& s) { return value(s.tensors(i)); });
      if (clause) clauses.push_back(std::move(*clause));
      return clause.has_value();
    };
    add("tensor name", [](const TensorSpec& t) { return t.name(); });
    add("dtype", [](const TensorSpec& t) { return DataTypeText(t.dtype()); });
    if (!add("shape", ShapeText)) {
      add("number of elements", [](const TensorSpec& t) { return std::to_string(t.count()); });
    }
    if (clauses.size() > before) ++described;
  }
}

// The number of elements that the shape stands for, if it is in bounds.
std::optional<uint64_t> ElementsOf(const TensorSpec& tensor) {
  uint64_t elements = 1;
  for (uint64_t extent : tensor.shape()) {
    if (extent > 0 && elements > kMaxTensorElements / extent) return std::nullopt;
    elements *= extent;
  }
  return elements;
}

Status CheckTensor(const std::string& who, const TensorSpec& tensor) {
  if (!IsValidDataTypeNumber(tensor.dtype())) {
    return InvalidArgument(who + ": " + DataTypeText(tensor.dtype()));
  }
  const std::optional<uint64_t> elements = ElementsOf(tensor);
  if (!elements || *elements != tensor.count()) {
    return InvalidArgument(who + ": shape " + ShapeText(tensor) + " does not have " +
                           std::to_string(tensor.count()) + " elements");
  }
  return OkStatus();
}

Status CheckReduction(const std::string& who, const RequestSpec& spec, const TensorSpec& tensor) {
  if (static_cast<DataType>(tensor.dtype()) != DataType::kBool) return OkStatus();
  if (static_cast<ReduceOp>(spec.op()) == ReduceOp::kAverage) {
    return InvalidArgument(who + ": op average is not defined for dtype bool");
  }
  if (spec.prescale() != 1.0 || spec.postscale() != 1.0) {
    return InvalidArgument(who + ": op " + OpText(spec) +
                           " with a scale is not defined for dtype bool");
  }
  return OkStatus();
}

}  // namespace

bool SameSpec(const RequestSpec& a, const RequestSpec& b) {
  return a.kind() == b.kind() && a.op() == b.op() && a.root() == b.root() &&
         SameBits(a.prescale(), b.prescale()) && SameBits(a.postscale(), b.postscale()) &&
         a.device_kind() == b.device_kind() &&
         std::equal(a.tensors().begin(), a.tensors().end(), b.tensors().begin(),
                    b.tensors().end(), SameTensor);
}

std::string DescribeMismatch(const std::string& name, std::vector<SpecGroup> groups) {
  std::sort(groups.begin(), groups.end(), [](const SpecGroup& a, const SpecGroup& b) {
    return *std::min_element(a.ranks.begin(), a.ranks.end()) <
           *std::min_element(b.ranks.begin(), b.ranks.end());
  });
  std::vector<std::string> clauses;
  const auto add = [&](const std::string& field, auto value) {
    auto clause = Clause(field, groups, value);
    if (clause) clauses.push_back(std::move(*clause));
    return !clauses.empty();
  };
  // Requests of different kinds or sizes have nothing else to compare.
  if (!add("collective", KindText) && !add("number of tensors", [](const RequestSpec& s) {
        return std::to_string(s.tensors_size());
      })) {
    AddTensorClauses(groups, clauses);
    add("op", OpText);
    add("root", [](const RequestSpec& s) { return std::to_string(s.root()); });
    add("prescale factor", [](const RequestSpec& s) { return NumberText(s.prescale()); });
    add("postscale factor", [](const RequestSpec& s) { return NumberText(s.postscale()); });
    add("device", DeviceText);
  }
  std::string text = name + ": ranks disagree on ";
  for (size_t i = 0; i < clauses.size(); ++i) {
    if (i > 0) text += "; also on ";
    text += clauses[i];
  }
  return Shortened(std::move(text), kMaxReasonBytes);
}

Status CheckBounds(const RequestSpec& spec) {
  if (static_cast<size_t>(spec.tensors_size()) > kMaxGroupTensors) {
    return InvalidArgument("request of " + std::to_string(spec.tensors_size()) + " tensors");
  }
  for (const TensorSpec& tensor : spec.tensors()) {
    if (tensor.name().empty() || tensor.name().size() > kMaxNameBytes) {
      return InvalidArgument("tensor name of " + std::to_string(tensor.name().size()) + " bytes");
    }
    if (static_cast<size_t>(tensor.shape_size()) > kMaxDims) {
      return InvalidArgument("tensor of " + std::to_string(tensor.shape_size()) + " dimensions");
    }
  }
  return OkStatus();
}

Status CheckSupported(const std::string& name, const RequestSpec& spec, int size) {
  const bool allreduce = IsKind(spec, CollectiveKind::kAllreduce);
  const bool broadcast = IsKind(spec, CollectiveKind::kBroadcast);
  if (!allreduce && !broadcast && !IsKind(spec, CollectiveKind::kBarrier)) {
    return InvalidArgument(name + ": " + KindText(spec));
  }
  if ((spec.tensors_size() > 0) != (allreduce || broadcast)) {
    return InvalidArgument(name + ": " + KindText(spec) + " of " +
                           std::to_string(spec.tensors_size()) + " tensors");
  }
  if (spec.device_kind() > kCudaDevice) {
    return InvalidArgument(name + ": " + DeviceText(spec) + " is not supported");
  }
  if (allreduce && !IsValidOpNumber(spec.op())) return InvalidArgument(name + ": " + OpText(spec));
  if (broadcast && (spec.root() < 0 || spec.root() >= size)) {
    return InvalidArgument(name + ": root " + std::to_string(spec.root()) +
                           " is no rank of this job of size " + std::to_string(size));
  }
  for (const TensorSpec& tensor : spec.tensors()) {
    const std::string who =
        tensor.name() == name ? name : name + ": tensor " + tensor.name();
    REIGEN_RETURN_IF_ERROR(CheckTensor(who, tensor));
    if (allreduce) REIGEN_RETURN_IF_ERROR(CheckReduction(who, spec, tensor));
  }
  return OkStatus();
}

}  // namespace reigen::coordinator
