// Goal: after an error that CUDA says is for good, the device is not used again; after any
// other one it is.
#include "client/cuda/errors.h"

#include <gtest/gtest.h>

namespace reigen::sdk::cuda {
namespace {

TEST(ErrorsTest, WhatNeedsAnotherProcessIsSticky) {
  for (const CuResult code : {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719,
                              721, 810, 911}) {
    EXPECT_TRUE(IsSticky(code)) << code;
  }
}

TEST(ErrorsTest, OthersAreOfTheirCallAlone) {
  for (const CuResult code : {0, 1, 2, 46, 200, 201, 217, 304, 400, 600, 701, 704, 711, 712, 713,
                              720, 801, 809, 900, 906, 912, 999}) {
    EXPECT_FALSE(IsSticky(code)) << code;
  }
}

}  // namespace
}  // namespace reigen::sdk::cuda
