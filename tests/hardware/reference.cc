#include "tests/hardware/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace reigen::hardware {
namespace {

double HalfToDouble(uint16_t bits, int fraction_bits, int bias) {
  const int exponent_bits = 15 - fraction_bits;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return sign * (fraction == 0 ? INFINITY : NAN);
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

template <typename T>
T At(const Bytes& bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

double DoubleAt(DataType dtype, const Bytes& bytes, size_t i) {
  switch (dtype) {
    case DataType::kFloat16: return HalfToDouble(At<uint16_t>(bytes, i), 10, 15);
    case DataType::kBFloat16: return HalfToDouble(At<uint16_t>(bytes, i), 7, 127);
    case DataType::kFloat32: return At<float>(bytes, i);
    default: return At<double>(bytes, i);
  }
}

int64_t IntAt(DataType dtype, const Bytes& bytes, size_t i) {
  switch (dtype) {
    case DataType::kBool:
    case DataType::kUint8: return At<uint8_t>(bytes, i);
    case DataType::kInt8: return At<int8_t>(bytes, i);
    case DataType::kInt16: return At<int16_t>(bytes, i);
    case DataType::kInt32: return At<int32_t>(bytes, i);
    default: return At<int64_t>(bytes, i);
  }
}

int64_t Wrapped(DataType dtype, uint64_t value) {
  switch (dtype) {
    case DataType::kUint8: return static_cast<uint8_t>(value);
    case DataType::kInt8: return static_cast<int8_t>(value);
    case DataType::kInt16: return static_cast<int16_t>(value);
    case DataType::kInt32: return static_cast<int32_t>(value);
    default: return static_cast<int64_t>(value);
  }
}

// Toward zero; the type's least or greatest where it does not fit.
int64_t ScaledInt(DataType dtype, int64_t v, double scale) {
  if (scale == 1.0) return v;
  const auto bits = static_cast<int>(8 * ElementBytes(dtype));
  const bool is_unsigned = dtype == DataType::kUint8;
  const double limit = std::ldexp(1, is_unsigned ? bits : bits - 1);
  const double scaled = std::trunc(static_cast<double>(v) * scale);
  const double least = is_unsigned ? 0 : -limit;
  if (scaled < least) return static_cast<int64_t>(least);
  if (scaled >= limit) {
    return static_cast<int64_t>((uint64_t{1} << (is_unsigned ? bits : bits - 1)) - 1);
  }
  return static_cast<int64_t>(scaled);
}

int64_t CombinedInt(DataType dtype, ReduceOp op, int64_t a, int64_t b) {
  if (dtype == DataType::kBool && op == ReduceOp::kSum) return a | b;
  const auto left = static_cast<uint64_t>(a);
  const auto right = static_cast<uint64_t>(b);
  switch (op) {
    case ReduceOp::kMin: return std::min(a, b);
    case ReduceOp::kMax: return std::max(a, b);
    case ReduceOp::kProduct: return Wrapped(dtype, left * right);
    default: return Wrapped(dtype, left + right);
  }
}

std::string CompareInt(const Case& reduction, const Bytes& got, size_t i) {
  int64_t expected = 0;
  bool first = true;
  const auto take = [&](int64_t v) {
    expected = first ? v : CombinedInt(reduction.dtype, reduction.op, expected, v);
    first = false;
  };
  if (!reduction.received.empty()) take(IntAt(reduction.dtype, reduction.received, i));
  for (const Bytes& input : reduction.inputs) {
    take(ScaledInt(reduction.dtype, IntAt(reduction.dtype, input, i), reduction.prescale));
  }
  expected /= static_cast<int64_t>(reduction.divisor);
  expected = ScaledInt(reduction.dtype, expected, reduction.postscale);
  const int64_t value = IntAt(reduction.dtype, got, i);
  if (value == expected) return "";
  return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
         std::to_string(expected);
}

std::string CompareFloat(const Case& reduction, const Bytes& got, size_t i) {
  double expected = 0;
  double magnitude = 0;  // of what was rounded on the way
  bool first = true;
  const auto take = [&](double v) {
    switch (reduction.op) {
      case ReduceOp::kMin: expected = first ? v : std::min(expected, v); break;
      case ReduceOp::kMax: expected = first ? v : std::max(expected, v); break;
      case ReduceOp::kProduct: expected = first ? v : expected * v; break;
      default: expected = first ? v : expected + v;
    }
    magnitude = std::max(std::abs(expected), magnitude + std::abs(v));
    first = false;
  };
  const DataType received = reduction.received_wide ? DataType::kFloat32 : reduction.dtype;
  const DataType out = reduction.out_wide ? DataType::kFloat32 : reduction.dtype;
  if (!reduction.received.empty()) take(DoubleAt(received, reduction.received, i));
  for (const Bytes& input : reduction.inputs) {
    take(DoubleAt(reduction.dtype, input, i) * reduction.prescale);
  }
  const double scale = reduction.postscale / static_cast<double>(reduction.divisor);
  expected *= scale;
  magnitude *= std::abs(scale);
  const double operands = static_cast<double>(reduction.inputs.size()) + 4;
  const double roundings = reduction.hosts > 1 ? reduction.hosts + 1 : 0;
  double allowed = 0;
  switch (out) {
    case DataType::kFloat16:
      allowed = std::ldexp(std::abs(expected), -11) + std::ldexp(1, -25) +
                operands * std::ldexp(magnitude, -23) + roundings * std::ldexp(magnitude, -11);
      break;
    case DataType::kBFloat16:
      allowed = std::ldexp(std::abs(expected), -8) + operands * std::ldexp(magnitude, -23) +
                roundings * std::ldexp(magnitude, -8);
      break;
    case DataType::kFloat32: allowed = operands * std::ldexp(magnitude, -23); break;
    default: allowed = operands * std::ldexp(magnitude, -52);
  }
  const double value = DoubleAt(out, got, i);
  constexpr double kMaxFloat16 = 65504;
  if (out == DataType::kFloat16 && std::abs(expected) > kMaxFloat16 - allowed &&
      std::abs(value) >= kMaxFloat16) {
    return "";  // or infinite
  }
  if (std::abs(value - expected) <= allowed) return "";
  return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
         std::to_string(expected);
}

template <typename T>
void Put(Bytes* bytes, size_t i, T value) {
  std::memcpy(bytes->data() + i * sizeof value, &value, sizeof value);
}

}  // namespace

Bytes RandomElements(DataType dtype, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count * ElementBytes(dtype));
  std::uniform_real_distribution<double> values(-2.0, 2.0);
  for (size_t i = 0; i < count; ++i) {
    switch (dtype) {
      case DataType::kBool: Put(&bytes, i, static_cast<uint8_t>(random() % 2)); break;
      case DataType::kUint8:
      case DataType::kInt8: Put(&bytes, i, static_cast<uint8_t>(random())); break;
      case DataType::kInt16: Put(&bytes, i, static_cast<uint16_t>(random())); break;
      case DataType::kInt32: Put(&bytes, i, static_cast<uint32_t>(random())); break;
      case DataType::kInt64: Put(&bytes, i, random()); break;
      // A sign, an exponent around that of 1 and any fraction.
      case DataType::kFloat16:
        Put(&bytes, i, static_cast<uint16_t>((random() & 0x83ff) | ((13 + random() % 4) << 10)));
        break;
      case DataType::kBFloat16:
        Put(&bytes, i, static_cast<uint16_t>((random() & 0x807f) | ((125 + random() % 4) << 7)));
        break;
      case DataType::kFloat32: Put(&bytes, i, static_cast<float>(values(random))); break;
      case DataType::kFloat64: Put(&bytes, i, values(random)); break;
    }
  }
  return bytes;
}

std::string Compare(const Case& reduction, const Bytes& got, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    std::string wrong = IsFloat(reduction.dtype) ? CompareFloat(reduction, got, i)
                                                 : CompareInt(reduction, got, i);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace reigen::hardware
