// A trainer that does one thing, by the local protocol: `trainer_script MODE`.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/worker/gpu_script.h"
#include "worker/session/scripted_trainer.h"

namespace reigen::worker {
namespace {

struct Self {
  int rank = 0;
  int size = 0;
  std::string socket;
};

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::printf("line %d: not so: %s\n", __LINE__, #condition);                \
      std::exit(9);                                                              \
    }                                                                            \
  } while (0)

void Attach(ScriptedTrainer& trainer, const Self& self) {
  EXPECT(trainer.Connect(self.socket));
  if (!trainer.Init(self.rank)) {
    std::printf("init failed\n");
    std::exit(8);
  }
  EXPECT(trainer.packet<local::EpochBegun>().size == self.size);
}

void Leave(ScriptedTrainer& trainer) {
  trainer.Send(local::Shutdown{});
  EXPECT(trainer.Receive() == local::PacketKind::kShutdownDone);
}

// Sums `count` floats of all ranks and checks every one.
void SumFloats(ScriptedTrainer& trainer, const Self& self, uint32_t name, uint64_t count) {
  auto* data = reinterpret_cast<float*>(trainer.arena());
  for (uint64_t i = 0; i < count; ++i) data[i] = static_cast<float>(self.rank + 1 + i % 1000);
  const auto result = trainer.Wait(trainer.Allreduce(name, DataType::kFloat32, count, 0));
  EXPECT(result.has_value());
  if (result->code != local::ResultCode::kOk) std::printf("%s\n", result->text.c_str());
  EXPECT(result->code == local::ResultCode::kOk);
  const float ranks = static_cast<float>(self.size * (self.size + 1)) / 2;
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT(data[i] == ranks + static_cast<float>(self.size) * static_cast<float>(i % 1000));
  }
}

int Sum(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  trainer.DefineName(0, "small");
  trainer.DefineName(1, "large");
  for (int round = 0; round < 3; ++round) {
    SumFloats(trainer, self, 0, 100);
    SumFloats(trainer, self, 1, 3'000'000);
  }
  Leave(trainer);
  std::printf("summed\n");
  return 0;
}

int Latency(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  trainer.DefineName(0, "tiny");
  std::vector<double> micros;
  for (int i = 0; i < 3000; ++i) {
    const float one = 1.0f;
    const Time start = Now();
    const auto result = trainer.Wait(trainer.InlineAllreduce(
        0, DataType::kFloat32, std::as_bytes(std::span(&one, 1))));
    micros.push_back(ToSeconds(Now() - start) * 1e6);
    float sum = 0;
    EXPECT(result.has_value() && result->code == local::ResultCode::kOk);
    std::memcpy(&sum, result->inline_bytes.data(), sizeof sum);
    EXPECT(sum == static_cast<float>(self.size));
  }
  Leave(trainer);
  std::sort(micros.begin(), micros.end());
  std::printf("4 bytes: p50 %.0f us, p99 %.0f us\n", micros[micros.size() / 2],
              micros[micros.size() * 99 / 100]);
  return 0;
}

int Mismatch(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  trainer.DefineName(0, "x");
  const auto bad = trainer.Wait(
      trainer.Allreduce(0, DataType::kFloat32, self.rank == self.size - 1 ? 5 : 4, 0));
  EXPECT(bad.has_value());
  std::printf("%s\n", bad->text.c_str());
  EXPECT(bad->code == local::ResultCode::kFailedPrecondition);
  SumFloats(trainer, self, 0, 1000);
  Leave(trainer);
  return 0;
}

int BadRecord(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  if (self.rank == 1) {
    trainer.Submit(std::array{local::Slot{}});
    pause();
  }
  trainer.DefineName(0, "x");
  trainer.Wait(trainer.Allreduce(0, DataType::kFloat32, 4, 0));
  pause();
  return 0;
}

int Killed(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  if (self.rank == 1) raise(SIGKILL);
  trainer.DefineName(0, "x");
  const auto result = trainer.Wait(trainer.Allreduce(0, DataType::kFloat32, 4, 0));
  if (result.has_value()) std::printf("%s\n", result->text.c_str());
  std::fflush(stdout);
  pause();
  return 0;
}

int ExitsWithoutShutdown(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  if (self.rank == 1) return 0;
  pause();
  return 0;
}

int LeavesEarly(ScriptedTrainer& trainer, const Self& self) {
  Attach(trainer, self);
  trainer.DefineName(0, "x");
  SumFloats(trainer, self, 0, 10);
  if (self.rank != 1) {
    const auto result = trainer.Wait(trainer.Allreduce(0, DataType::kFloat32, 4, 0));
    EXPECT(result.has_value());
    std::printf("%s\n", result->text.c_str());
  }
  Leave(trainer);
  return 0;
}

int InitsTwice(ScriptedTrainer& trainer, const Self& self) {
  Sum(trainer, self);
  ScriptedTrainer second;
  return Sum(second, self);
}

int NeverInits(ScriptedTrainer&, const Self&) { return 0; }

int Waits(ScriptedTrainer& trainer, const Self& self) {
  signal(SIGTERM, SIG_IGN);
  Attach(trainer, self);
  std::printf("attached\n");
  std::fflush(stdout);
  pause();
  return 0;
}

// -1: it is not there, or is no number.
int NumberOf(const char* variable) {
  const char* text = std::getenv(variable);
  int number = -1;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

int RunMode(const std::string& name) {
  const std::map<std::string, int (*)(ScriptedTrainer&, const Self&)> modes = {
      {"sum", Sum},
      {"latency", Latency},
      {"mismatch", Mismatch},
      {"bad_record", BadRecord},
      {"killed", Killed},
      {"exits", ExitsWithoutShutdown},
      {"leaves", LeavesEarly},
      {"inits_twice", InitsTwice},
      {"never_inits", NeverInits},
      {"waits", Waits},
  };
  const auto mode = modes.find(name);
  const char* socket = std::getenv("REIGEN_SOCKET");
  if (socket == nullptr) return 2;
  const int code = RunGpuMode(name, NumberOf("REIGEN_RANK"), NumberOf("REIGEN_SIZE"), socket);
  if (code >= 0) return code;
  if (mode == modes.end()) return 2;
  ScriptedTrainer trainer(seconds(20));
  return mode->second(trainer, Self{NumberOf("REIGEN_RANK"), NumberOf("REIGEN_SIZE"), socket});
}

}  // namespace
}  // namespace reigen::worker

int main(int argc, char** argv) { return reigen::worker::RunMode(argc > 1 ? argv[1] : ""); }
