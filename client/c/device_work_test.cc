// Goal: a tensor waits for its own stream without a limit, and who waits long is told.
#include "client/c/device_work.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/cuda/testing/fake_driver.h"

namespace reigen::sdk {
namespace {

TEST(DeviceWorkTest, ASlowStreamIsReportedOnceWithTheTensorsNameAndIsNoError) {
  cuda::FakeDriver driver;
  std::vector<std::string> reports;
  cuda::DeviceOptions options;
  options.wait_limit = milliseconds(20);
  options.report = [&](const std::string& line) { reports.push_back(line); };
  cuda::Devices devices(options);
  const cuda::CuStream stream = driver.NewStream();
  const cuda::CuAddress memory = driver.Allocate(8);
  driver.Write(memory, {1, 2}, stream);
  driver.Hang(stream);
  Request request;
  request.names = {"allreduce.x"};
  request.device = -1;
  request.stream = reinterpret_cast<uintptr_t>(stream);
  RequestTensor& tensor = request.tensors.emplace_back();
  tensor.count = 2;
  tensor.bytes = 8;
  tensor.input = reinterpret_cast<const std::byte*>(memory);
  tensor.output = reinterpret_cast<std::byte*>(memory);
  std::unique_ptr<DeviceWork> work;
  ASSERT_TRUE(DeviceWork::Start(devices, request, nullptr, &work).ok());
  reports.clear();  // the mode
  bool ready = false;
  const Time begin = Now();
  while (Now() - begin < milliseconds(100)) {
    ASSERT_TRUE(work->AskReady(request, &ready).ok());
    ASSERT_FALSE(ready);
  }
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0],
            "allreduce.x: CUDA device 0: its stream has not come to it after 0 s: what was put "
            "there before has not ended");
  driver.Hang(stream, false);
  while (!ready) ASSERT_TRUE(work->AskReady(request, &ready).ok());
  float fetched[2] = {};
  Payload payload;
  payload.packed = reinterpret_cast<std::byte*>(fetched);
  ASSERT_TRUE(work->StartFetch(request, {&payload, 1}).ok());
  ASSERT_TRUE(work->EndFetch(request).ok());
  EXPECT_EQ(fetched[1], 2);
}

}  // namespace
}  // namespace reigen::sdk
