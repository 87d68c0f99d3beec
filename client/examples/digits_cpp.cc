// Trains a classifier of handwritten digits, in C++ alone.
//
// g++ -std=c++20 -I$PREFIX/include digits_cpp.cc -o digits_cpp -L$PREFIX/lib -lreigen -Wl,-rpath,$PREFIX/lib
// reigenrun -np 4 ./digits_cpp digits.csv
//
// digits.csv: lines of 64 pixels (0 to 16) and a label, as scikit-learn ships them in
// datasets/data/digits.csv.gz. A network of one hidden layer; each rank computes the
// gradients of its share of every batch, and all of them are averaged as one group.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include <reigen/reigen.hpp>

namespace {

constexpr size_t kPixels = 64;
constexpr size_t kHidden = 48;
constexpr size_t kClasses = 10;
constexpr size_t kTestSamples = 837;
constexpr size_t kGlobalBatch = 64;
constexpr int kTrainingEpochs = 30;
constexpr float kRate = 0.2f;

struct Sample {
  std::array<float, kPixels> pixels;
  size_t label;
};

// Up to the first line that is none of digits.csv.
std::vector<Sample> ReadDigits(const char* path) {
  std::vector<Sample> samples;
  std::ifstream file(path);
  std::string line, word;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    Sample sample{};
    bool good = true;
    const auto next = [&](float most) {
      std::getline(words, word, ',');
      float value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      good = good && error == std::errc() && value >= 0 && value <= most;
      return value;
    };
    for (float& pixel : sample.pixels) pixel = next(16) / 16.0f;
    const float label = next(kClasses - 1);
    if (!good) {
      std::fprintf(stderr, "%s: not a line of digits.csv: %s\n", path, line.c_str());
      break;
    }
    sample.label = static_cast<size_t>(label);
    samples.push_back(sample);
  }
  // The same order on every rank.
  std::shuffle(samples.begin(), samples.end(), std::mt19937(1));
  return samples;
}

// Parameters or gradients, in memory that is reduced where it lies.
struct Weights {
  reigen::SharedArray<float> hidden{kPixels * kHidden}, hidden_bias{kHidden};
  reigen::SharedArray<float> output{kHidden * kClasses}, output_bias{kClasses};

  std::array<reigen::SharedArray<float>*, 4> All() {
    return {&hidden, &hidden_bias, &output, &output_bias};
  }
  std::vector<reigen::Tensor> Tensors() {
    std::vector<reigen::Tensor> tensors;
    for (auto* array : All()) tensors.push_back(reigen::InPlace(*array));
    return tensors;
  }
};

void Initialise(Weights* weights) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-0.15f, 0.15f);
  for (float& weight : weights->hidden) weight = uniform(random);
  for (float& weight : weights->output) weight = uniform(random);
}

struct Activations {
  std::array<float, kHidden> hidden;
  std::array<float, kClasses> probabilities;
};

Activations Forward(const Weights& weights, const Sample& sample) {
  Activations a;
  for (size_t h = 0; h < kHidden; ++h) {
    float sum = weights.hidden_bias[h];
    for (size_t p = 0; p < kPixels; ++p) sum += weights.hidden[h * kPixels + p] * sample.pixels[p];
    a.hidden[h] = std::max(sum, 0.0f);
  }
  for (size_t c = 0; c < kClasses; ++c) {
    float sum = weights.output_bias[c];
    for (size_t h = 0; h < kHidden; ++h) sum += weights.output[c * kHidden + h] * a.hidden[h];
    a.probabilities[c] = sum;
  }
  const float largest = *std::max_element(a.probabilities.begin(), a.probabilities.end());
  for (float& value : a.probabilities) value = std::exp(value - largest);
  const float total = std::accumulate(a.probabilities.begin(), a.probabilities.end(), 0.0f);
  for (float& value : a.probabilities) value /= total;
  return a;
}

// Adds the sample's gradient, times `share`; returns its loss.
float Backward(const Weights& weights, const Sample& sample, float share, Weights* gradient) {
  const Activations a = Forward(weights, sample);
  std::array<float, kHidden> hidden_error{};
  for (size_t c = 0; c < kClasses; ++c) {
    const float error = (a.probabilities[c] - (c == sample.label ? 1.0f : 0.0f)) * share;
    gradient->output_bias[c] += error;
    for (size_t h = 0; h < kHidden; ++h) {
      gradient->output[c * kHidden + h] += error * a.hidden[h];
      hidden_error[h] += error * weights.output[c * kHidden + h];
    }
  }
  for (size_t h = 0; h < kHidden; ++h) {
    if (a.hidden[h] <= 0) continue;
    gradient->hidden_bias[h] += hidden_error[h];
    for (size_t p = 0; p < kPixels; ++p) {
      gradient->hidden[h * kPixels + p] += hidden_error[h] * sample.pixels[p];
    }
  }
  return -std::log(std::max(a.probabilities[sample.label], 1e-30f));
}

double TestAccuracy(const Weights& weights, const std::vector<Sample>& samples, size_t first) {
  size_t right = 0;
  for (size_t i = first; i < samples.size(); ++i) {
    const auto p = Forward(weights, samples[i]).probabilities;
    right += static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin()) ==
             samples[i].label;
  }
  return static_cast<double>(right) / static_cast<double>(samples.size() - first);
}

uint64_t Hash(Weights* weights) {
  uint64_t hash = 14695981039346656037ull;
  for (auto* array : weights->All()) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(array->data());
    for (size_t i = 0; i < array->size() * sizeof(float); ++i) {
      hash = (hash ^ bytes[i]) * 1099511628211ull;
    }
  }
  return hash;
}

int64_t Reduced(int64_t value, reigen_op op, const char* name) {
  reigen::Allreduce(reigen::InPlace(std::span(&value, 1)), {.name = name, .op = op});
  return value;
}

// One pass over the training samples; returns the mean loss over all ranks.
double TrainOneEpoch(const reigen::Context& job, const std::vector<Sample>& samples,
                     size_t training_samples, Weights* weights, Weights* gradient) {
  double loss[2] = {0, 0};  // sum, and of how many
  for (size_t begin = 0; begin + kGlobalBatch <= training_samples; begin += kGlobalBatch) {
    for (auto* array : gradient->All()) std::fill(array->begin(), array->end(), 0.0f);
    for (size_t i = static_cast<size_t>(job.rank()); i < kGlobalBatch;
         i += static_cast<size_t>(job.size())) {
      loss[0] += Backward(*weights, samples[begin + i], 1.0f / kGlobalBatch, gradient);
      loss[1] += 1;
    }
    reigen::Allreduce(gradient->Tensors(), {.name = "gradient", .op = REIGEN_SUM});
    const auto to = weights->All();
    const auto from = gradient->All();
    for (size_t a = 0; a < to.size(); ++a) {
      for (size_t i = 0; i < to[a]->size(); ++i) (*to[a])[i] -= kRate * (*from[a])[i];
    }
  }
  reigen::Allreduce(reigen::InPlace(std::span(loss)), {.name = "loss", .op = REIGEN_SUM});
  return loss[0] / loss[1];
}

int Train(const char* path) {
  const reigen::Context job;
  const std::vector<Sample> samples = ReadDigits(path);
  if (samples.size() <= kTestSamples + kGlobalBatch) {
    std::fprintf(stderr, "%s has only %zu digits\n", path, samples.size());
    return 1;
  }
  const size_t training_samples = samples.size() - kTestSamples;
  Weights weights, gradient;
  if (job.rank() == 0) Initialise(&weights);
  reigen::Broadcast(weights.Tensors(), 0, "weights");
  for (int epoch = 1; epoch <= kTrainingEpochs; ++epoch) {
    const double loss = TrainOneEpoch(job, samples, training_samples, &weights, &gradient);
    if (job.rank() == 0 && epoch % 5 == 0) {
      std::printf("epoch %2d: loss %.4f, accuracy %.2f %%\n", epoch, loss,
                  100 * TestAccuracy(weights, samples, training_samples));
      std::fflush(stdout);
    }
  }
  const auto hash = static_cast<int64_t>(Hash(&weights));
  const bool same = Reduced(hash, REIGEN_MIN, "least") == Reduced(hash, REIGEN_MAX, "largest");
  if (job.rank() == 0) {
    std::printf("parameters of all %d ranks are %s: %016llx\n", job.size(),
                same ? "identical" : "NOT identical", static_cast<unsigned long long>(hash));
    std::printf("accuracy on %zu test samples: %.2f %%\n", kTestSamples,
                100 * TestAccuracy(weights, samples, training_samples));
  }
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: digits_cpp digits.csv\n");
    return 2;
  }
  try {
    return Train(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits_cpp: %s\n", error.what());
    return 1;
  }
}
