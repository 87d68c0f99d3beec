// How a tensor's elements lie in a trainer's memory, and copies between that and
// packed (C-contiguous) memory. Pure arithmetic; sums are checked in 64 bits.
#ifndef REIGEN_CLIENT_C_LAYOUT_H_
#define REIGEN_CLIENT_C_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/c/result.h"

namespace reigen::sdk {

// Frameworks stop at 64 dimensions.
inline constexpr int kMaxTensorDims = 64;

// The number of elements; an error for a negative extent or more bytes than a
// process can address. Any extent 0 makes it 0.
Result CountElements(std::span<const int64_t> shape, size_t element_bytes, uint64_t* count);

// One way to walk `count` elements in logical (C) order.
class Layout {
 public:
  Layout() = default;
  // strides in bytes, of any sign; empty: C-contiguous. `what` begins the error.
  static Result Make(std::span<const int64_t> shape, std::span<const int64_t> strides,
                     size_t element_bytes, uint64_t count, const std::string& what, Layout* out);

  // Packed in C order from the tensor's pointer on.
  bool contiguous() const { return dims_.empty(); }
  // Two of its elements share (or, for odd interleaved strides, might share)
  // bytes: fit to be read, not to be written.
  bool overlaps() const { return overlaps_; }
  // The bytes touched: [data + begin, data + end).
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  struct Dim {
    int64_t extent = 0;
    int64_t stride = 0;  // bytes
    friend bool operator==(const Dim&, const Dim&) = default;
  };
  // Outermost first, neighbours merged; empty: contiguous.
  std::span<const Dim> dims() const { return dims_; }
  size_t element_bytes() const { return element_bytes_; }
  friend bool operator==(const Layout&, const Layout&) = default;

  // Tensor at `data` -> packed memory, and back.
  void Gather(const std::byte* data, std::byte* packed) const;
  void Scatter(const std::byte* packed, std::byte* data) const;

 private:
  void Merge(std::span<const int64_t> shape, std::span<const int64_t> strides);
  void FindOverlap();
  template <typename Copy>
  void Walk(Copy copy) const;

  size_t element_bytes_ = 1;
  uint64_t count_ = 0;
  std::vector<Dim> dims_;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  bool overlaps_ = false;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_LAYOUT_H_
