#include "client/c/layout.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace reigen::sdk {
namespace {

bool MultiplyAdd(int64_t a, int64_t b, int64_t* sum) {
  int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

// `count` elements of `Bytes` bytes, `from_stride` and `to_stride` bytes apart.
template <size_t Bytes>
void CopyRow(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride,
             int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, Bytes);
  }
}

void CopyRow(size_t element_bytes, const std::byte* from, int64_t from_stride, std::byte* to,
             int64_t to_stride, int64_t count) {
  const auto packed = static_cast<int64_t>(element_bytes);
  if (from_stride == packed && to_stride == packed) {
    std::memcpy(to, from, static_cast<size_t>(count) * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1: return CopyRow<1>(from, from_stride, to, to_stride, count);
    case 2: return CopyRow<2>(from, from_stride, to, to_stride, count);
    case 4: return CopyRow<4>(from, from_stride, to, to_stride, count);
    default: return CopyRow<8>(from, from_stride, to, to_stride, count);
  }
}

}  // namespace

Result CountElements(std::span<const int64_t> shape, size_t element_bytes, uint64_t* count) {
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return Invalid("negative extent " + std::to_string(extent) + " in the shape");
    empty = empty || extent == 0;
  }
  *count = 0;
  if (empty) return Ok();
  int64_t elements = 1;
  int64_t bytes = 0;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(elements, extent, &elements)) {
      return Invalid("the shape has more elements than 64 bits count");
    }
  }
  if (__builtin_mul_overflow(elements, static_cast<int64_t>(element_bytes), &bytes)) {
    return Invalid("the shape has more bytes than 64 bits count");
  }
  *count = static_cast<uint64_t>(elements);
  return Ok();
}

Result Layout::Make(std::span<const int64_t> shape, std::span<const int64_t> strides,
                    size_t element_bytes, uint64_t count, const std::string& what, Layout* out) {
  *out = Layout();
  out->element_bytes_ = element_bytes;
  out->count_ = count;
  if (count == 0) return Ok();
  out->end_ = static_cast<int64_t>(count * element_bytes);
  if (strides.empty()) return Ok();

  int64_t lowest = 0;
  auto highest = static_cast<int64_t>(element_bytes);
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t& bound = strides[d] < 0 ? lowest : highest;
    if (!MultiplyAdd(shape[d] - 1, strides[d], &bound)) {
      return Invalid(what + ": stride " + std::to_string(strides[d]) + " of dimension " +
                     std::to_string(d) + " reaches beyond 64 bits");
    }
  }
  out->begin_ = lowest;
  out->end_ = highest;
  out->Merge(shape, strides);
  out->FindOverlap();
  return Ok();
}

// Drops extents of 1 and joins dimensions that one stride can walk.
void Layout::Merge(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    int64_t inner_bytes = 0;
    if (!dims_.empty() && !__builtin_mul_overflow(strides[d], shape[d], &inner_bytes) &&
        dims_.back().stride == inner_bytes) {
      dims_.back() = {dims_.back().extent * shape[d], strides[d]};
    } else {
      dims_.push_back({shape[d], strides[d]});
    }
  }
  const bool packed =
      dims_.empty() ||
      (dims_.size() == 1 && dims_[0].stride == static_cast<int64_t>(element_bytes_));
  if (packed) dims_.clear();
}

// From the smallest stride up, each must step over all that lies below it.
void Layout::FindOverlap() {
  std::vector<Dim> by_stride = dims_;
  for (Dim& dim : by_stride) dim.stride = std::abs(dim.stride);
  std::sort(by_stride.begin(), by_stride.end(),
            [](const Dim& a, const Dim& b) { return a.stride < b.stride; });
  auto reach = static_cast<int64_t>(element_bytes_);
  for (const Dim& dim : by_stride) {
    if (dim.stride < reach) {
      overlaps_ = true;
      return;
    }
    // No overflow: Make() checked the sum of all of them.
    reach += (dim.extent - 1) * dim.stride;
  }
}

// Calls copy(offset in the tensor, stride, packed offset, count) for each row of
// the innermost dimension, in logical order.
template <typename Copy>
void Layout::Walk(Copy copy) const {
  const Dim row = dims_.back();
  const size_t outer = dims_.size() - 1;
  std::array<int64_t, kMaxTensorDims> index{};
  const int64_t row_bytes = row.extent * static_cast<int64_t>(element_bytes_);
  int64_t offset = 0;
  int64_t packed = 0;
  while (true) {
    copy(offset, row.stride, packed, row.extent);
    packed += row_bytes;
    size_t d = outer;
    while (d > 0) {
      --d;
      offset += dims_[d].stride;
      if (++index[d] < dims_[d].extent) break;
      offset -= dims_[d].stride * dims_[d].extent;
      index[d] = 0;
      if (d == 0) return;
    }
    if (outer == 0) return;
  }
}

void Layout::Gather(const std::byte* data, std::byte* packed) const {
  if (count_ == 0) return;
  const auto element = static_cast<int64_t>(element_bytes_);
  if (contiguous()) {
    if (data != packed) std::memmove(packed, data, count_ * element_bytes_);
    return;
  }
  Walk([&](int64_t offset, int64_t stride, int64_t at, int64_t count) {
    CopyRow(element_bytes_, data + offset, stride, packed + at, element, count);
  });
}

void Layout::Scatter(const std::byte* packed, std::byte* data) const {
  if (count_ == 0) return;
  const auto element = static_cast<int64_t>(element_bytes_);
  if (contiguous()) {
    if (data != packed) std::memmove(data, packed, count_ * element_bytes_);
    return;
  }
  Walk([&](int64_t offset, int64_t stride, int64_t at, int64_t count) {
    CopyRow(element_bytes_, packed + at, element, data + offset, stride, count);
  });
}

}  // namespace reigen::sdk
