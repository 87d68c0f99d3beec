// What the SDK does with a GPU (client/cuda/device.h), on a real one.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "client/c/layout.h"
#include "client/cuda/device.h"
#include "tests/hardware/forms.h"
#include "tests/hardware/kernel_cases.h"
#include "tests/hardware/reference.h"

namespace reigen::hardware {
namespace {

using sdk::Result;
using sdk::cuda::Command;
using sdk::cuda::CommandItem;
using sdk::cuda::CommandKind;
using sdk::cuda::Device;
using sdk::cuda::DevicePack;
using sdk::cuda::DeviceRange;
using Handle = std::array<uint8_t, sdk::cuda::kCuIpcHandleBytes>;

void Ok(const Result& result) {
  if (!result.ok()) Die(result.text);
}

bool Show(const std::string& what, const std::string& wrong, const std::string& good) {
  Row(wrong.empty() ? "pass" : "FAIL", what, wrong.empty() ? good : wrong);
  return wrong.empty();
}

class DeviceCheck {
 public:
  DeviceCheck(const Gpu& gpu, std::span<const std::byte> image) : gpu_(gpu) {
    sdk::cuda::DeviceOptions options;
    options.api = &gpu.api();
    options.image = image;
    Ok(Device::Open(options, 0, &device_));
    if (!device_->has_kernels()) Die("the device takes no kernels of libreigen");
  }

  bool CheckCommands(size_t count) {
    std::string wrong;
    int commands = 0;
    for (int number = 0; number < kDataTypeCount; ++number) {
      const auto dtype = static_cast<DataType>(number);
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
                                ReduceOp::kProduct}) {
        if (dtype == DataType::kBool && op == ReduceOp::kAverage) continue;
        for (const Form& form : FormsOf(dtype)) {
          if (form.skip > 0) continue;  // the items' begins are out of alignment anyhow
          const std::string here = RunCommand(dtype, op, form, count);
          ++commands;
          if (here.empty() || !wrong.empty()) continue;
          wrong = std::string(Name(dtype)) + " " + std::string(Name(op)) + " " + Describe(form) +
                  ": " + here;
        }
      }
    }
    return Show("commands", wrong, std::to_string(commands) + " of 20 items, to 3 outputs");
  }

  // Small ones, a large one and a transposed one, there and back.
  bool CheckPacks() {
    constexpr size_t kRows = 700;
    constexpr size_t kColumns = 300;
    const Layout transposed = LayoutOf({kRows, kColumns}, {4, 4 * kRows});
    std::vector<size_t> sizes(400, 1000);
    for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = 4 * (1 + i * 37 % 900);
    sizes.push_back(size_t{3} << 20);
    sizes.push_back(4 * kRows * kColumns);
    std::vector<Bytes> stored;
    std::vector<std::unique_ptr<Memory>> owned;
    std::vector<DevicePack> packs;
    Bytes expected;
    for (size_t i = 0; i < sizes.size(); ++i) {
      stored.push_back(RandomElements(DataType::kInt32, sizes[i] / 4, i));
      owned.push_back(std::make_unique<Memory>(gpu_, stored[i]));
      const bool last = i + 1 == sizes.size();
      packs.push_back({.tensor = owned[i]->address(), .packed = expected.size(), .bytes = sizes[i],
                       .layout = last ? &transposed : nullptr});
      Bytes packed = stored[i];
      if (last) transposed.Gather(stored[i].data(), packed.data());
      packed.resize((packed.size() + 63) / 64 * 64);
      expected.insert(expected.end(), packed.begin(), packed.end());
    }
    const std::unique_ptr<DeviceRange> range = Allocate(expected.size());
    gpu_.Write(range->address(), Bytes(expected.size()));
    for (DevicePack& pack : packs) pack.packed += range->address();
    std::unique_ptr<Device::Event> event;
    std::unique_ptr<Device::Event> end;
    Ok(device_->Mark(gpu_.stream(), &event));
    Ok(event->Wait());
    Ok(device_->StartPack(packs, &end));
    Ok(end->Wait());
    if (gpu_.Download(range->address(), expected.size()) != expected) {
      return Show("packing on the GPU", "packed wrong", "");
    }
    for (size_t i = 0; i < sizes.size(); ++i) gpu_.Write(packs[i].tensor, Bytes(sizes[i]));
    Ok(device_->StartUnpack(packs, &end));
    Ok(device_->Follow(gpu_.stream(), *end));
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (gpu_.Download(packs[i].tensor, sizes[i]) == stored[i]) continue;
      return Show("packing on the GPU", "unpacked wrong: " + std::to_string(i), "");
    }
    return Show("packing on the GPU", "", std::to_string(sizes.size()) + " tensors");
  }

  // Scratch of the worker's, where there is no GPUDirect: over PCIe.
  bool CheckHostMemory() {
    constexpr size_t kCount = 1 << 18;
    const std::unique_ptr<DeviceRange> range = Allocate(4 * kCount);
    const Bytes x = RandomElements(DataType::kInt32, kCount, 5);
    gpu_.Write(range->address(), x);
    std::vector<int32_t> host(2 * kCount, 3);
    CuAddress address = 0;
    const Result mapped = device_->MapHost(host.data(), host.size() * 4, &address);
    if (!mapped.ok()) return Show("commands on host memory", mapped.text, "");
    Command command{.dtype = DataType::kInt32, .received = DataType::kInt32,
                    .out = DataType::kInt32, .inputs = 1, .has_received = true, .items = {}};
    command.items.push_back({.count = kCount, .received = address, .inputs = {range->address()},
                             .outputs = {address + 4 * kCount}});
    std::unique_ptr<Device::Event> end;
    Ok(device_->StartCommand(command, &end));
    Ok(end->Wait());
    std::string wrong;
    for (size_t i = 0; i < kCount && wrong.empty(); ++i) {
      int32_t element = 0;
      std::memcpy(&element, &x[4 * i], 4);
      if (host[kCount + i] != element + 3) wrong = "element " + std::to_string(i);
    }
    device_->UnmapHost(host.data());
    return Show("commands on host memory", wrong, "1 MiB read and written");
  }

  bool CheckIpc(const std::string& image_path) {
    const std::unique_ptr<DeviceRange> range = Allocate(1);
    const std::vector<float> values = {1, 2};
    gpu_.Write(range->address(), std::as_bytes(std::span(values)));
    Handle handle{};
    const Result exported = device_->ExportIpc(*range, &handle);
    if (!exported.ok()) return Show("memory of another process", exported.text, "");
    std::string line = std::filesystem::read_symlink("/proc/self/exe").string() + " --ipc-peer ";
    for (const uint8_t byte : handle) {
      char hex[3];
      std::snprintf(hex, sizeof hex, "%02x", byte);
      line += hex;
    }
    if (!image_path.empty()) line += " --image " + image_path;
    FILE* const pipe = popen((line + " 2>&1").c_str(), "r");
    char said[256] = "";
    if (pipe == nullptr) Die("popen");
    if (std::fgets(said, sizeof said, pipe) != nullptr) said[std::strcspn(said, "\n")] = '\0';
    if (pclose(pipe) != 0) return Show("memory of another process", said, "");
    const Bytes got = gpu_.Download(range->address(), 8);
    const std::vector<float> doubled = {2, 4};
    const bool right = std::memcmp(got.data(), doubled.data(), 8) == 0;
    return Show("memory of another process", right ? "" : "wrong", "opened, read and written");
  }

  void ProbeDmabuf() {
    const std::unique_ptr<DeviceRange> range = Allocate(size_t{4} << 20);
    UniqueFd fd;
    const Result exported = device_->ExportDmabuf(*range, &fd);
    Row("note", "dma-buf export", exported.ok() ? "works (4 MiB)" : exported.text);
  }

  // What a step of a ring costs beside its bytes.
  void MeasureCommand() {
    constexpr int kRounds = 200;
    const std::unique_ptr<DeviceRange> range = Allocate(size_t{1} << 20);
    Command command{.inputs = 2, .items = {}};
    const CuAddress x = range->address();
    command.items.push_back({.count = 16384, .inputs = {x, x + (1 << 16)}, .outputs = {x}});
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kRounds; ++i) {
      std::unique_ptr<Device::Event> end;
      Ok(device_->StartCommand(command, &end));
      Ok(end->Wait());
    }
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - begin;
    char text[80];
    std::snprintf(text, sizeof text, "%.1f us from start to seen end", took.count() / kRounds);
    Row("note", "a command of 64 KiB", text);
  }

  Result Double(const Handle& handle) {
    CuAddress address = 0;
    REIGEN_SDK_RETURN_IF_ERROR(device_->OpenIpc(handle, &address));
    Command command{.inputs = 2, .items = {}};
    command.items.push_back({.count = 2, .inputs = {address, address}, .outputs = {address}});
    std::unique_ptr<Device::Event> end;
    REIGEN_SDK_RETURN_IF_ERROR(device_->StartCommand(command, &end));
    REIGEN_SDK_RETURN_IF_ERROR(end->Wait());
    device_->CloseIpc(address);
    return sdk::Ok();
  }

 private:
  using Layout = sdk::Layout;

  static Layout LayoutOf(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
    Layout layout;
    Ok(Layout::Make(shape, strides, 4, static_cast<uint64_t>(shape[0] * shape[1]), "x", &layout));
    return layout;
  }
  std::unique_ptr<DeviceRange> Allocate(size_t bytes) {
    std::unique_ptr<DeviceRange> range;
    Ok(device_->Allocate(bytes, &range));
    return range;
  }

  // "" or what is wrong. The last input, if it is as wide, is also an output.
  std::string RunCommand(DataType dtype, ReduceOp op, const Form& form, size_t count) {
    constexpr size_t kItems = 20;
    const Case reduction = CaseOf(dtype, op, form, count);
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<CuAddress> places;
    const auto upload = [&](const Bytes& bytes) {
      memory.push_back(std::make_unique<Memory>(gpu_, bytes));
      return memory.back()->address();
    };
    for (const Bytes& input : reduction.inputs) places.push_back(upload(input));
    const CuAddress left = form.received ? upload(reduction.received) : 0;
    const size_t in_bytes = ElementBytes(dtype);
    const size_t left_bytes = ElementBytesOf(dtype, form.received_wide);
    const size_t out_bytes = ElementBytesOf(dtype, form.out_wide);
    const Bytes nothing(count * out_bytes);
    const bool in_place = !places.empty() && !form.out_wide;
    const CuAddress outs[3] = {upload(nothing), upload(nothing),
                               in_place ? places.back() : upload(nothing)};
    Command command{.dtype = dtype,
                    .received = form.received_wide ? DataType::kFloat32 : dtype,
                    .out = form.out_wide ? DataType::kFloat32 : dtype, .op = op,
                    .prescale = reduction.prescale, .postscale = reduction.postscale,
                    .divisor = reduction.divisor, .inputs = static_cast<uint32_t>(form.inputs),
                    .outputs = 3, .has_received = form.received, .items = {}};
    for (size_t i = 0; i < kItems; ++i) {
      const size_t begin = count * i / kItems;
      CommandItem& item = command.items.emplace_back();
      item.count = count * (i + 1) / kItems - begin;
      for (size_t k = 0; k < places.size(); ++k) item.inputs[k] = places[k] + begin * in_bytes;
      if (form.received) item.received = left + begin * left_bytes;
      for (size_t k = 0; k < 3; ++k) item.outputs[k] = outs[k] + begin * out_bytes;
    }
    std::unique_ptr<Device::Event> end;
    Ok(device_->StartCommand(command, &end));
    Ok(end->Wait());
    const Bytes got = gpu_.Download(outs[0], count * out_bytes);
    for (const CuAddress other : {outs[1], outs[2]}) {
      if (gpu_.Download(other, got.size()) != got) return "the outputs are not equal";
    }
    return Compare(reduction, got, count);
  }

  const Gpu& gpu_;
  std::shared_ptr<Device> device_;
};

}  // namespace

bool CheckDevice(const Gpu& gpu, std::span<const std::byte> image, const std::string& image_path,
                 bool quick) {
  DeviceCheck check(gpu, image);
  bool right = check.CheckCommands(quick ? 2003 : 30011);
  right = check.CheckPacks() && right;
  right = check.CheckHostMemory() && right;
  right = check.CheckIpc(image_path) && right;
  check.ProbeDmabuf();
  check.MeasureCommand();
  return right;
}

int RunIpcPeer(const Gpu& gpu, std::span<const std::byte> image, const std::string& hex) {
  Handle handle{};
  if (hex.size() != 2 * handle.size()) Die("no handle: " + hex);
  for (size_t i = 0; i < handle.size(); ++i) {
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, handle[i], 16);
  }
  Ok(DeviceCheck(gpu, image).Double(handle));
  return 0;
}

}  // namespace reigen::hardware
