// Trains a classifier of handwritten digits, one softmax layer, on all ranks.
//
//   reigenrun ... digits FILE     each line: 64 pixels from 0 to 16, then the digit
//
// Exit status 0 if every rank ends with the same bits, the parameters are those of
// one process on the same global batches (within rounding), and most digits it has
// not seen are told apart.
#include <reigen/reigen.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr size_t kPixels = 64;
constexpr size_t kDigits = 10;
constexpr size_t kBatch = 64;
constexpr int kEpochs = 3;
constexpr float kRate = 0.5f;
constexpr double kLeastAccuracy = 0.85;
constexpr float kMostDifference = 1e-3f;

struct Sample {
  float pixels[kPixels];
  int digit;
};

using Parameters = std::vector<float>;  // kDigits rows of kPixels weights and a bias

std::vector<Sample> Read(const char* path) {
  std::ifstream file(path);
  std::vector<Sample> samples;
  Sample sample;
  while (true) {
    for (float& pixel : sample.pixels) {
      file >> pixel;
      pixel /= 16;
    }
    if (!(file >> sample.digit)) return samples;
    samples.push_back(sample);
  }
}

void Probabilities(const Parameters& parameters, const Sample& sample, float* out) {
  float most = -1e30f;
  for (size_t d = 0; d < kDigits; ++d) {
    const float* row = &parameters[d * (kPixels + 1)];
    out[d] = row[kPixels];
    for (size_t p = 0; p < kPixels; ++p) out[d] += row[p] * sample.pixels[p];
    most = std::max(most, out[d]);
  }
  float sum = 0;
  for (size_t d = 0; d < kDigits; ++d) sum += out[d] = std::exp(out[d] - most);
  for (size_t d = 0; d < kDigits; ++d) out[d] /= sum;
}

// Adds the gradient of samples begin + rank, + size, ... of the batch.
void AddGradient(const Parameters& parameters, const std::vector<Sample>& samples, size_t begin,
                 size_t rank, size_t size, Parameters& gradient) {
  for (size_t i = begin + rank; i < begin + kBatch; i += size) {
    float error[kDigits];
    Probabilities(parameters, samples[i], error);
    error[samples[i].digit] -= 1;
    for (size_t d = 0; d < kDigits; ++d) {
      float* row = &gradient[d * (kPixels + 1)];
      for (size_t p = 0; p < kPixels; ++p) row[p] += error[d] * samples[i].pixels[p];
      row[kPixels] += error[d];
    }
  }
}

double Accuracy(const Parameters& parameters, const std::vector<Sample>& samples, size_t begin) {
  size_t right = 0;
  for (size_t i = begin; i < samples.size(); ++i) {
    float p[kDigits];
    Probabilities(parameters, samples[i], p);
    right += std::max_element(p, p + kDigits) - p == samples[i].digit ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(samples.size() - begin);
}

// `reduce` makes the sum over ranks of a gradient.
template <typename Reduce>
Parameters Train(const std::vector<Sample>& samples, size_t end, size_t rank, size_t size,
                 Reduce reduce) {
  Parameters parameters(kDigits * (kPixels + 1));
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (size_t begin = 0; begin + kBatch <= end; begin += kBatch) {
      Parameters gradient(parameters.size());
      AddGradient(parameters, samples, begin, rank, size, gradient);
      reduce(gradient);
      for (size_t i = 0; i < parameters.size(); ++i) {
        parameters[i] -= kRate / kBatch * gradient[i];
      }
    }
  }
  return parameters;
}

// What a data loader does (C48): works with what it has inherited, allocates, and ends.
// A collective there is refused.
int Child(Parameters& inherited) {
  for (float& each : inherited) each += 1;
  const std::vector<float> own(100000, 1.0f);
  const std::vector<std::string> small(1000, std::string(100, 'x'));  // beside the buffers
  try {
    reigen::AllreduceAsync(reigen::InPlace(inherited), {.name = "child", .op = REIGEN_SUM}).Wait();
    return 1;
  } catch (const reigen::Error& error) {
    if (std::strstr(error.what(), "forked process") == nullptr) return 2;
  }
  return own[4242] == 1.0f && small[42][42] == 'x' ? 0 : 3;
}

constexpr int kChildren = 8;
constexpr int kStepsBetweenForks = 12;

// `data` is on its way while they run.
bool ForksWork(Parameters& data) {
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (int i = 0; i < kChildren; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const int result = Child(data);
    if (i % 2 == 0) _exit(result);
    std::exit(result);  // runs what the library and the program registered for the end
  }
  bool good = true;
  for (const pid_t child : children) {
    int status = -1;
    good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && good;
  }
  return good;
}

// Of all ranks: whether each has what rank 0 has.
bool SameEverywhere(const Parameters& parameters) {
  Parameters first = parameters;
  reigen::Broadcast(reigen::InPlace(first), 0, "check");
  const bool same =
      std::memcmp(first.data(), parameters.data(), first.size() * sizeof(float)) == 0;
  std::vector<int32_t> differ = {same ? 0 : 1};
  reigen::Allreduce(reigen::InPlace(differ), {.name = "differ", .op = REIGEN_SUM});
  return differ[0] == 0;
}

int Run(const char* path) {
  const std::vector<Sample> samples = Read(path);
  const size_t end = samples.size() / 2;
  const reigen::Context job;
  bool forks = true;
  int steps = 0;
  const Parameters trained =
      Train(samples, end, static_cast<size_t>(job.rank()), static_cast<size_t>(job.size()),
            [&](Parameters& gradient) {
              reigen::Handle handle = reigen::AllreduceAsync(
                  reigen::InPlace(gradient), {.name = "gradient", .op = REIGEN_SUM});
              if (++steps % kStepsBetweenForks == 0) forks = ForksWork(gradient) && forks;
              handle.Wait();
            });
  const bool same = SameEverywhere(trained);
  const Parameters alone = Train(samples, end, 0, 1, [](Parameters&) {});
  float difference = 0;
  for (size_t i = 0; i < alone.size(); ++i) {
    difference = std::max(difference, std::fabs(alone[i] - trained[i]));
  }
  const double accuracy = Accuracy(trained, samples, end);
  if (job.rank() == 0) {
    std::printf("digits: %d ranks, accuracy %.3f, same bits %s, differs from one process by %g\n",
                job.size(), accuracy, same ? "yes" : "no", static_cast<double>(difference));
    std::printf("digits: forked children did %s\n", forks ? "no harm" : "harm");
  }
  return same && forks && accuracy >= kLeastAccuracy && difference <= kMostDifference ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: digits FILE\n");
    return 2;
  }
  try {
    return Run(argv[1]);
  } catch (const reigen::Error& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}
