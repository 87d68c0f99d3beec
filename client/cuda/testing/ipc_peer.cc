// Another process over the fake driver: `ipc_peer HANDLE DEVICE`, the handle in hex. Adds
// the memory's floats 16 and 17 to its floats 0 and 1 by a command of that device, with
// memory of its own between, and says "added", or why not.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "client/cuda/device.h"
#include "client/cuda/load_driver.h"
#include "runtime/base/check.h"

namespace reigen::sdk::cuda {
namespace {

constexpr uint32_t kImage[4] = {0xba55ed50};

using HandleBytes = std::array<uint8_t, kCuIpcHandleBytes>;

HandleBytes Parse(std::string_view hex) {
  HandleBytes handle{};
  REIGEN_CHECK(hex.size() == 2 * handle.size());
  for (size_t i = 0; i < handle.size(); ++i) {
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, handle[i], 16);
  }
  return handle;
}

Result Run(Device& device, CuAddress from, CuAddress to) {
  Command command{.inputs = 2, .items = {}};
  command.items.push_back({.count = 2, .inputs = {from, from + 64}, .outputs = {to}});
  std::unique_ptr<Device::Event> end;
  REIGEN_SDK_RETURN_IF_ERROR(device.StartCommand(command, &end));
  Command copy{.kind = CommandKind::kCopy, .inputs = 1, .items = {}};
  copy.items.push_back({.count = 2, .inputs = {to}, .outputs = {from}});
  REIGEN_SDK_RETURN_IF_ERROR(device.StartCommand(copy, &end));
  return end->Wait();
}

Result Add(const HandleBytes& handle, int ordinal) {
  DriverApi api;
  REIGEN_SDK_RETURN_IF_ERROR(LoadDriver(kDriverLibrary, &api));
  DeviceOptions options;
  options.api = &api;
  options.image = std::as_bytes(std::span(kImage));
  std::shared_ptr<Device> device;
  REIGEN_SDK_RETURN_IF_ERROR(Device::Open(options, ordinal, &device));
  std::unique_ptr<DeviceRange> own;
  REIGEN_SDK_RETURN_IF_ERROR(device->Allocate(1, &own));
  CuAddress first = 0;
  CuAddress again = 0;
  REIGEN_SDK_RETURN_IF_ERROR(device->OpenIpc(handle, &first));
  REIGEN_SDK_RETURN_IF_ERROR(device->OpenIpc(handle, &again));
  REIGEN_CHECK(first == again, "a second opening is another use of the first");
  device->CloseIpc(again);
  REIGEN_SDK_RETURN_IF_ERROR(Run(*device, first, own->address()));
  device->CloseIpc(first);
  const Result closed = Run(*device, first, own->address());
  REIGEN_CHECK(!closed.ok(), "closed memory is out of reach");
  return Ok();
}

}  // namespace
}  // namespace reigen::sdk::cuda

int main(int argc, char** argv) {
  using namespace reigen::sdk::cuda;
  if (argc != 3) return 2;
  const reigen::sdk::Result added = Add(Parse(argv[1]), argv[2][0] - '0');
  std::puts(added.ok() ? "added" : added.text.c_str());
  return 0;
}
