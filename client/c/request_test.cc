// Goal: what cannot run is refused before anything moves, with a text that names
// the tensor; a job without daemons computes what a job of one rank would.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "client/c/reigen.h"
#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

using Shape = std::vector<int64_t>;

class LocalJobTest : public testing::Test {
 protected:
  LocalJobTest() {
    unsetenv("REIGEN_SOCKET");
    EXPECT_EQ(reigen_init(), REIGEN_OK) << reigen_last_error();
  }
  ~LocalJobTest() override { reigen_shutdown(); }

  // Starts, waits, releases; the failure of whichever comes first.
  reigen_status Run(const char* name = "x") {
    tensor_.name = name;
    tensor_.shape = shape_.data();
    tensor_.ndim = static_cast<int32_t>(shape_.size());
    tensor_.dtype = dtype_;
    reigen_handle handle = 0;
    reigen_status status = reigen_allreduce_async(nullptr, &tensor_, 1, &options_, &handle);
    if (status != REIGEN_OK) return status;
    status = reigen_wait(handle, 0);
    EXPECT_EQ(reigen_release(handle), REIGEN_OK);
    return status;
  }
  void ExpectRefused(const std::string& part) {
    EXPECT_EQ(Run(), REIGEN_INVALID_ARGUMENT);
    EXPECT_NE(std::string(reigen_last_error()).find(part), std::string::npos)
        << reigen_last_error();
  }

  float in_[6] = {1, 2, 3, 4, 5, 6};
  float out_[6] = {};
  Shape shape_ = {2, 3};
  int32_t dtype_ = REIGEN_FLOAT32;
  reigen_tensor tensor_ = {.struct_size = sizeof(reigen_tensor), .name = nullptr, .input = in_,
                           .output = out_, .dtype = 0, .ndim = 0, .shape = nullptr,
                           .input_strides = nullptr, .output_strides = nullptr,
                           .device_kind = REIGEN_HOST, .device = 0, .stream = 0};
  reigen_allreduce_options options_ = {.struct_size = sizeof(reigen_allreduce_options),
                                       .op = REIGEN_AVERAGE, .process_set = 0, .prescale = 1.0,
                                       .postscale = 1.0};
};

TEST_F(LocalJobTest, IsOfSizeOne) {
  EXPECT_EQ(reigen_rank(), 0);
  EXPECT_EQ(reigen_size(), 1);
  EXPECT_EQ(reigen_cross_size(), 1);
}

TEST_F(LocalJobTest, ScalesWhatItCopies) {
  options_.prescale = 2.0;
  options_.postscale = 0.25;
  ASSERT_EQ(Run(), REIGEN_OK);
  EXPECT_EQ(out_[5], 3.0f);
  EXPECT_EQ(in_[5], 6.0f);
}

TEST_F(LocalJobTest, HandlesStridesOverlapsOfInputAndOutputAndNothing) {
  const Shape transposed = {4, 8};
  shape_ = {2, 3};
  tensor_.output_strides = transposed.data();
  ASSERT_EQ(Run(), REIGEN_OK);
  EXPECT_EQ(out_[1], 4.0f);  // element (1, 0)
  tensor_.output_strides = nullptr;
  shape_ = {4};
  tensor_.output = in_ + 1;
  ASSERT_EQ(Run(), REIGEN_OK);
  EXPECT_EQ(in_[4], 4.0f);
  shape_ = {0, 3};
  tensor_.input = nullptr;
  tensor_.output = nullptr;
  EXPECT_EQ(Run(), REIGEN_OK);
}

TEST_F(LocalJobTest, RefusesWhatIsNoTensor) {
  shape_ = {2, -3};
  ExpectRefused("allreduce.x: negative extent -3");
  shape_ = {int64_t{1} << 40, int64_t{1} << 40};
  ExpectRefused("more elements than 64 bits");
  shape_ = {6};
  dtype_ = 10;
  ExpectRefused("allreduce.x: unknown dtype 10");
  dtype_ = REIGEN_FLOAT32;
  tensor_.device_kind = 2;
  ExpectRefused("device kind 2");
  tensor_.device_kind = REIGEN_CUDA;
  tensor_.struct_size = 72;
  ExpectRefused("struct_size is too small for a CUDA tensor");
  tensor_.struct_size = sizeof(tensor_);
  tensor_.device_kind = 0;
  tensor_.input = nullptr;
  ExpectRefused("allreduce.x: no input");
  tensor_.input = in_;
  tensor_.output = nullptr;
  ExpectRefused("allreduce.x: no output");
  tensor_.output = out_;
  tensor_.struct_size = 8;
  ExpectRefused("struct_size");
}

TEST_F(LocalJobTest, RefusesAnOutputWhoseElementsOverlap) {
  const Shape expanded = {0, 4};
  tensor_.output_strides = expanded.data();
  ExpectRefused("allreduce.x: the output's elements overlap");
  tensor_.output_strides = nullptr;
  tensor_.input_strides = expanded.data();
  ASSERT_EQ(Run(), REIGEN_OK);
  EXPECT_EQ(out_[3], 1.0f);
}

TEST_F(LocalJobTest, RefusesReductionsThatDoNotExist) {
  dtype_ = REIGEN_BOOL;
  ExpectRefused("allreduce.x: average of bool is not supported");
  options_.op = REIGEN_SUM;
  options_.postscale = 0.5;
  ExpectRefused("sum of bool");
  options_.op = 2;
  ExpectRefused("allreduce.x: unknown op 2");
  options_.op = REIGEN_SUM;
  options_.prescale = std::nan("");
  ExpectRefused("allreduce.x: a scale is not a number");
  options_.prescale = 1.0;
  options_.process_set = 3;
  ExpectRefused("unknown process set 3");
}

TEST_F(LocalJobTest, RefusesWrongGroupsAndNames) {
  reigen_handle handle = 0;
  EXPECT_EQ(reigen_allreduce_async("g", nullptr, 0, &options_, &handle), REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(reigen_allreduce_async("g", &tensor_, 5000, &options_, &handle),
            REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(Run(std::string(5000, 'n').c_str()), REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(reigen_allreduce_async("g", &tensor_, 1, nullptr, &handle), REIGEN_INVALID_ARGUMENT);
  int32_t done = 0;
  EXPECT_EQ(reigen_poll(12345, &done), REIGEN_INVALID_ARGUMENT);
  EXPECT_EQ(reigen_release(12345), REIGEN_INVALID_ARGUMENT);
}

TEST_F(LocalJobTest, AllocatesOrdinaryMemory) {
  auto* memory = static_cast<char*>(reigen_alloc(100));
  ASSERT_NE(memory, nullptr);
  memory[99] = 1;
  reigen_shutdown();
  memory[98] = 1;
  reigen_free(memory);
  EXPECT_EQ(reigen_alloc(100), nullptr);
  EXPECT_EQ(std::string(reigen_last_error()), "not initialised: init comes first");
  ASSERT_EQ(reigen_init(), REIGEN_OK);
  EXPECT_EQ(reigen_alloc(SIZE_MAX), nullptr);
  EXPECT_EQ(reigen_alloc(SIZE_MAX / 2), nullptr);
}

}  // namespace
}  // namespace reigen::sdk
