// Reigen's client SDK for C++20: RAII over the C interface, in this header alone.
//
//   #include <reigen/reigen.hpp>            link with -lreigen
//
//   reigen::Context job;                    // joins; leaves when destroyed
//   std::vector<float> gradient = ...;
//   reigen::Handle handle = reigen::AllreduceAsync(reigen::InPlace(gradient),
//                                                  {.name = "gradient"});
//   ...
//   handle.Wait();                          // gradient is the average of all ranks
//
// Threads: all functions from any; a Handle by one at a time.
// Memory:  a tensor's memory is the library's until its handle is done.
// Errors:  reigen::Error, with the status and the library's text. Waits go on after
//          a signal handler ran.
#ifndef REIGEN_HPP_
#define REIGEN_HPP_

#include <reigen/reigen.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace reigen {

class Error : public std::runtime_error {
 public:
  Error(reigen_status status, const char* text) : std::runtime_error(text), status_(status) {}
  reigen_status status() const { return status_; }

 private:
  reigen_status status_;
};

inline void ThrowUnlessOk(reigen_status status) {
  if (status != REIGEN_OK) throw Error(status, reigen_last_error());
}

// The dtype of a C++ type. float16 and bfloat16 have none: name them.
template <typename T>
constexpr reigen_dtype DtypeOf() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return REIGEN_BOOL;
  else if constexpr (std::is_same_v<U, float>) return REIGEN_FLOAT32;
  else if constexpr (std::is_same_v<U, double>) return REIGEN_FLOAT64;
  else if constexpr (std::is_same_v<U, uint8_t>) return REIGEN_UINT8;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 1) return REIGEN_INT8;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 2) return REIGEN_INT16;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 4) return REIGEN_INT32;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 8) return REIGEN_INT64;
  else static_assert(!sizeof(U), "no dtype of Reigen has this type");
}

// A tensor that somebody else owns: where it is read and written.
class Tensor {
 public:
  // C-contiguous; strides, if any, are in bytes. An empty shape is a scalar.
  Tensor(const void* input, void* output, reigen_dtype dtype, std::vector<int64_t> shape,
         std::vector<int64_t> input_strides = {}, std::vector<int64_t> output_strides = {})
      : input_(input),
        output_(output),
        dtype_(dtype),
        shape_(std::move(shape)),
        input_strides_(std::move(input_strides)),
        output_strides_(std::move(output_strides)) {}

  // Within a group: its own name, in place of "<group>_<i>of<n>".
  Tensor&& Named(std::string name) && {
    name_ = std::move(name);
    return std::move(*this);
  }

  // Valid while this lives and does not change.
  reigen_tensor c_tensor() const {
    reigen_tensor tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.name = name_ ? name_->c_str() : nullptr;
    tensor.input = input_;
    tensor.output = output_;
    tensor.dtype = dtype_;
    tensor.ndim = static_cast<int32_t>(shape_.size());
    tensor.shape = shape_.data();
    tensor.input_strides = input_strides_.empty() ? nullptr : input_strides_.data();
    tensor.output_strides = output_strides_.empty() ? nullptr : output_strides_.data();
    return tensor;
  }

 private:
  const void* input_;
  void* output_;
  reigen_dtype dtype_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> input_strides_;
  std::vector<int64_t> output_strides_;
  std::optional<std::string> name_;
};

// A vector, array, span, ... of elements that the result replaces.
template <std::ranges::contiguous_range Range>
Tensor InPlace(Range&& elements) {
  using T = std::ranges::range_value_t<Range>;
  return Tensor(std::ranges::data(elements), std::ranges::data(elements), DtypeOf<T>(),
                {static_cast<int64_t>(std::ranges::size(elements))});
}

// The result goes elsewhere; both have the same number of elements.
template <typename T>
Tensor FromTo(std::span<const T> input, std::span<T> output) {
  const bool equal = input.size() == output.size();
  if (!equal) throw Error(REIGEN_INVALID_ARGUMENT, "FromTo: input and output differ in size");
  return Tensor(input.data(), output.data(), DtypeOf<T>(), {static_cast<int64_t>(input.size())});
}

// A started operation. The destructor waits for its end and drops the result's
// status; the memory is not written after that.
class Handle {
 public:
  explicit Handle(reigen_handle handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, 0)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Release();
      handle_ = std::exchange(other.handle_, 0);
    }
    return *this;
  }
  ~Handle() { Release(); }

  // Whether it has ended; then Wait() does not block.
  bool Done() const {
    int32_t done = 0;
    ThrowUnlessOk(reigen_poll(handle_, &done));
    return done != 0;
  }
  // Until it has ended. Throws if it failed.
  void Wait() {
    while (!WaitFor(std::chrono::hours(1))) {
    }
  }
  // False: not ended after `limit`.
  bool WaitFor(std::chrono::duration<double> limit) {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
    while (true) {
      const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
      const reigen_status status = reigen_wait(handle_, left.count() > 0 ? left.count() : 0);
      if (status == REIGEN_TIMEOUT) return false;
      if (status == REIGEN_INTERRUPTED) continue;
      ThrowUnlessOk(status);
      return true;
    }
  }

 private:
  void Release() {
    if (handle_ != 0) reigen_release(handle_);
    handle_ = 0;
  }

  reigen_handle handle_;
};

// The process's membership of its job. One at a time.
class Context {
 public:
  // Joins: returns when every rank has.
  Context() {
    reigen_status status = REIGEN_INTERRUPTED;
    while (status == REIGEN_INTERRUPTED) status = reigen_init();
    ThrowUnlessOk(status);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { reigen_shutdown(); }

  int rank() const { return reigen_rank(); }
  int size() const { return reigen_size(); }
  int local_rank() const { return reigen_local_rank(); }
  int local_size() const { return reigen_local_size(); }
  int cross_rank() const { return reigen_cross_rank(); }
  int cross_size() const { return reigen_cross_size(); }
};

struct AllreduceOptions {
  std::string name = {};  // empty: none
  reigen_op op = REIGEN_AVERAGE;
  double prescale = 1.0;
  double postscale = 1.0;
};

namespace internal {

inline std::vector<reigen_tensor> ToC(std::span<const Tensor> tensors) {
  std::vector<reigen_tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& tensor : tensors) out.push_back(tensor.c_tensor());
  return out;
}

inline const char* ToC(const std::string& name) { return name.empty() ? nullptr : name.c_str(); }

}  // namespace internal

// Of several tensors: they run, and fail, as one.
inline Handle AllreduceAsync(std::span<const Tensor> tensors, const AllreduceOptions& options = {}) {
  const std::vector<reigen_tensor> list = internal::ToC(tensors);
  reigen_allreduce_options c_options = {};
  c_options.struct_size = sizeof(c_options);
  c_options.op = options.op;
  c_options.prescale = options.prescale;
  c_options.postscale = options.postscale;
  reigen_handle handle = 0;
  ThrowUnlessOk(reigen_allreduce_async(internal::ToC(options.name), list.data(), list.size(),
                                       &c_options, &handle));
  return Handle(handle);
}
inline Handle AllreduceAsync(const Tensor& tensor, const AllreduceOptions& options = {}) {
  return AllreduceAsync(std::span<const Tensor>(&tensor, 1), options);
}
inline void Allreduce(std::span<const Tensor> tensors, const AllreduceOptions& options = {}) {
  AllreduceAsync(tensors, options).Wait();
}
inline void Allreduce(const Tensor& tensor, const AllreduceOptions& options = {}) {
  AllreduceAsync(tensor, options).Wait();
}

// root_rank's tensors go to everybody's output.
inline Handle BroadcastAsync(std::span<const Tensor> tensors, int root_rank,
                             const std::string& name = {}) {
  const std::vector<reigen_tensor> list = internal::ToC(tensors);
  reigen_broadcast_options c_options = {};
  c_options.struct_size = sizeof(c_options);
  c_options.root_rank = root_rank;
  reigen_handle handle = 0;
  ThrowUnlessOk(reigen_broadcast_async(internal::ToC(name), list.data(), list.size(), &c_options,
                                       &handle));
  return Handle(handle);
}
inline Handle BroadcastAsync(const Tensor& tensor, int root_rank, const std::string& name = {}) {
  return BroadcastAsync(std::span<const Tensor>(&tensor, 1), root_rank, name);
}
inline void Broadcast(std::span<const Tensor> tensors, int root_rank,
                      const std::string& name = {}) {
  BroadcastAsync(tensors, root_rank, name).Wait();
}
inline void Broadcast(const Tensor& tensor, int root_rank, const std::string& name = {}) {
  BroadcastAsync(tensor, root_rank, name).Wait();
}

inline Handle BarrierAsync() {
  reigen_handle handle = 0;
  ThrowUnlessOk(reigen_barrier_async(0, &handle));
  return Handle(handle);
}
// Returns once every rank has called it.
inline void Barrier() { BarrierAsync().Wait(); }

// Elements in memory shared with the worker: reduced where they are, without a
// copy. Value-initialised. Outlives the Context, as ordinary memory.
template <typename T>
  requires std::is_trivially_copyable_v<T>
class SharedArray {
 public:
  explicit SharedArray(size_t count) : count_(count) {
    if (count > SIZE_MAX / sizeof(T)) throw Error(REIGEN_INVALID_ARGUMENT, "too many elements");
    data_ = static_cast<T*>(reigen_alloc(count * sizeof(T)));
    if (data_ == nullptr) throw Error(REIGEN_RESOURCE_EXHAUSTED, reigen_last_error());
    for (T& element : *this) element = T();
  }
  SharedArray(SharedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~SharedArray() { reigen_free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return count_; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace reigen

#endif  // REIGEN_HPP_
