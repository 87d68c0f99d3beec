#include "runtime/reduce/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "runtime/base/check.h"

namespace reigen::reduce {
namespace {

using Real = long double;

constexpr Real kInf = std::numeric_limits<Real>::infinity();

// The type halves are added in; otherwise the type itself.
DataType AccumulatorOf(DataType dtype) { return IsHalf(dtype) ? DataType::kFloat32 : dtype; }

// 1 to the next number; the greatest; the least above zero.
Real Epsilon(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return std::ldexp(1.0L, -10);
    case DataType::kBFloat16: return std::ldexp(1.0L, -7);
    case DataType::kFloat32: return std::ldexp(1.0L, -23);
    default: return std::ldexp(1.0L, -52);
  }
}
Real Greatest(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 65504;
    case DataType::kBFloat16: return std::ldexp(255.0L, 120);
    case DataType::kFloat32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}
Real LeastNormal(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return std::ldexp(1.0L, -14);
    case DataType::kBFloat16:
    case DataType::kFloat32: return std::ldexp(1.0L, -126);
    default: return std::ldexp(1.0L, -1022);
  }
}
Real Quantum(DataType dtype) { return LeastNormal(dtype) * Epsilon(dtype); }

// The type in which partials travel, where they are rounded more than once.
DataType Narrowest(const AllreduceCase& c) {
  return c.hosts > 1 ? c.wire : AccumulatorOf(c.dtype);
}
bool RoundsHalvesBetweenHosts(const AllreduceCase& c) { return IsHalf(Narrowest(c)); }

Real Scale(const AllreduceCase& c, double scale) {
  const bool wide = c.dtype == DataType::kFloat64 || c.dtype == DataType::kInt32 ||
                    c.dtype == DataType::kInt64;
  return RoundTo(wide ? DataType::kFloat64 : DataType::kFloat32, scale);
}

// a * b as the kernels compute it: rounded once, to `type`.
Real RoundedProduct(DataType type, Real a, Real b) {
  if (type == DataType::kFloat64) return static_cast<double>(a) * static_cast<double>(b);
  return RoundTo(type, a * b);  // exact before it is rounded
}

std::vector<Real> Operands(const AllreduceCase& c, size_t i) {
  std::vector<Real> x;
  for (const auto& input : c.inputs) {
    x.push_back(RoundedProduct(AccumulatorOf(c.dtype), Decode(c.dtype, input, i), Scale(c, c.prescale)));
  }
  return x;
}

Expected Nan() {
  Expected e;
  e.value = std::numeric_limits<Real>::quiet_NaN();
  return e;
}

// Where the true value, error included, meets the end of the type's range.
Expected NearTheEnd(const AllreduceCase& c, Expected e, bool may_overflow, bool one_sign) {
  const Real greatest = Greatest(c.dtype);
  if (may_overflow && !one_sign) {
    e.anything = true;
  } else if (std::fabs(e.value) - e.tolerance > greatest * (1 + Epsilon(c.dtype))) {
    e.value = std::copysign(kInf, e.value);
    e.tolerance = 0;
  } else {
    e.or_infinite = may_overflow || std::fabs(e.value) + e.tolerance > greatest;
  }
  return e;
}

Expected ExpectedSum(const AllreduceCase& c, const std::vector<Real>& x) {
  const Real ranks = static_cast<Real>(x.size());
  const Real factor = Scale(c, c.postscale) / static_cast<Real>(c.divisor);
  Real sum = 0;
  Real finite_magnitudes = 0;
  bool positive = false;
  bool negative = false;
  for (Real v : x) {
    sum += v;
    if (std::isfinite(v)) finite_magnitudes += std::fabs(v);
    (std::signbit(v) ? negative : positive) = true;
  }
  if (std::isnan(sum * factor)) return Nan();
  const DataType acc = AccumulatorOf(c.dtype);
  const DataType narrowest = Narrowest(c);
  const bool may_overflow =
      finite_magnitudes * (1 + (ranks + 2) * Epsilon(narrowest)) > Greatest(narrowest);
  Expected e;
  e.value = sum * factor;
  if (std::isinf(e.value)) {
    e.anything = may_overflow && positive && negative;
    return e;
  }
  const Real magnitudes = finite_magnitudes * std::fabs(factor);
  const Real gain = std::max<Real>(1, std::fabs(factor));
  e.tolerance = (ranks + 2) * (Epsilon(acc) * magnitudes + Quantum(acc) * gain);
  if (RoundsHalvesBetweenHosts(c)) {
    const Real hosts = static_cast<Real>(c.hosts);
    e.tolerance += (hosts + 1) * (Epsilon(c.dtype) * magnitudes + Quantum(c.dtype) * gain);
  } else if (IsHalf(c.dtype)) {
    e.tolerance += Epsilon(c.dtype) / 2 * (std::fabs(e.value) + e.tolerance) + Quantum(c.dtype) / 2;
  }
  return NearTheEnd(c, e, may_overflow, positive != negative);
}

Expected ExpectedProduct(const AllreduceCase& c, const std::vector<Real>& x) {
  const Real ranks = static_cast<Real>(x.size());
  const DataType acc = AccumulatorOf(c.dtype);
  const DataType narrowest = Narrowest(c);
  Real product = Scale(c, c.postscale);
  Real largest = 1;  // no partial product is larger, or smaller than `smallest`
  Real smallest = 1;
  bool nan = false;
  for (Real v : x) {
    product *= v;
    nan = nan || std::isnan(v);
    if (std::isfinite(v)) largest *= std::max<Real>(1, std::fabs(v));
    if (v != 0 && !std::isnan(v)) smallest *= std::min<Real>(1, std::fabs(v));
  }
  if (nan) return Nan();
  Expected e;
  if (largest > Greatest(narrowest) / 2 || smallest < LeastNormal(narrowest) * 2) {
    e.anything = true;
    return e;
  }
  if (std::isnan(product)) return Nan();
  e.value = product;
  if (!std::isfinite(product)) return e;
  Real relative = (2 * ranks + 3) * Epsilon(acc);
  Real absolute = Quantum(acc);
  if (IsHalf(c.dtype)) {
    const Real hosts = RoundsHalvesBetweenHosts(c) ? static_cast<Real>(c.hosts) : 0;
    relative += (hosts + 1) * Epsilon(c.dtype);
    absolute += Quantum(c.dtype);
  }
  e.tolerance = product == 0 ? 0 : relative * std::fabs(product) + absolute;
  return NearTheEnd(c, e, false, true);
}

Expected ExpectedExtreme(const AllreduceCase& c, const std::vector<Real>& x) {
  const bool is_min = c.op == ReduceOp::kMin;
  Real best = x[0];
  for (Real v : x) {
    if (std::isnan(v)) return Nan();
    const bool lower_zero = v == best && std::signbit(v) && !std::signbit(best);
    const bool upper_zero = v == best && !std::signbit(v) && std::signbit(best);
    if (is_min ? v < best || lower_zero : v > best || upper_zero) best = v;
  }
  Expected e;
  const Real scaled = RoundedProduct(AccumulatorOf(c.dtype), best, Scale(c, c.postscale));
  e.value = RoundTo(c.dtype, scaled);
  e.exact_zero = true;
  if (std::isfinite(scaled) && c.postscale != 1.0 && RoundsHalvesBetweenHosts(c)) {
    const Real gain = std::max<Real>(1, std::fabs(Scale(c, c.postscale)));
    e.value = scaled;
    e.tolerance = 2 * Epsilon(c.dtype) * std::fabs(scaled) + Quantum(c.dtype) * gain;
    return NearTheEnd(c, e, std::fabs(best) * 1.01L > Greatest(c.dtype), true);
  }
  return e;
}

// The value that the low bits of `bits` have in the type.
Real Wrapped(DataType dtype, unsigned __int128 bits) {
  std::byte element[8];
  const uint64_t low = static_cast<uint64_t>(bits);
  std::copy_n(reinterpret_cast<const std::byte*>(&low), sizeof low, element);
  return Decode(dtype, element, 0);
}

// v * scale, rounded where the kernels' documentation says.
Real ScaledInt(const AllreduceCase& c, Real v, double scale) {
  if (scale == 1.0) return v;
  const bool wide = ElementBytes(c.dtype) >= 4;
  const DataType type = wide ? DataType::kFloat64 : DataType::kFloat32;
  return RoundTo(c.dtype, RoundedProduct(type, RoundTo(type, v), Scale(c, scale)));
}

Expected ExpectedInt(const AllreduceCase& c, size_t i) {
  Real acc = ScaledInt(c, Decode(c.dtype, c.inputs[0], i), c.prescale);
  for (size_t r = 1; r < c.inputs.size(); ++r) {
    const Real v = ScaledInt(c, Decode(c.dtype, c.inputs[r], i), c.prescale);
    const auto a = static_cast<__int128>(acc);
    const auto b = static_cast<__int128>(v);
    switch (c.op) {
      case ReduceOp::kMin: acc = std::min(acc, v); break;
      case ReduceOp::kMax: acc = std::max(acc, v); break;
      case ReduceOp::kProduct: acc = Wrapped(c.dtype, static_cast<unsigned __int128>(a * b)); break;
      default: acc = Wrapped(c.dtype, static_cast<unsigned __int128>(a + b)); break;
    }
  }
  const auto quotient = static_cast<__int128>(acc) / static_cast<__int128>(c.divisor);
  Expected e;
  e.value = ScaledInt(c, static_cast<Real>(quotient), c.postscale);
  return e;
}

Expected ExpectedBool(const AllreduceCase& c, size_t i) {
  bool any = false;
  bool all = true;
  for (const auto& input : c.inputs) {
    const bool v = Decode(c.dtype, input, i) != 0;
    any = any || v;
    all = all && v;
  }
  Expected e;
  e.value = c.op == ReduceOp::kSum || c.op == ReduceOp::kMax ? any : all;
  return e;
}

bool Fits(const Expected& e, Real got) {
  if (e.anything) return true;
  if (std::isnan(e.value)) return std::isnan(got);
  if (e.or_infinite && std::isinf(got)) return std::signbit(got) == std::signbit(e.value);
  if (std::isinf(e.value)) return got == e.value;
  if (e.exact_zero && e.tolerance == 0 && got == 0 && std::signbit(got) != std::signbit(e.value)) {
    return false;
  }
  return std::isfinite(got) && std::fabs(got - e.value) <= e.tolerance;
}

bool CanonicalNan(DataType dtype, std::span<const std::byte> result, size_t i) {
  std::byte canonical[8];
  const size_t bytes = ElementBytes(dtype);
  Encode(dtype, std::numeric_limits<Real>::quiet_NaN(), canonical, 0);
  return std::equal(canonical, canonical + bytes, result.begin() + static_cast<long>(i * bytes));
}

}  // namespace

Expected ExpectedElement(const AllreduceCase& c, size_t i) {
  if (c.dtype == DataType::kBool) return ExpectedBool(c, i);
  if (!IsFloat(c.dtype)) return ExpectedInt(c, i);
  const std::vector<Real> x = Operands(c, i);
  switch (c.op) {
    case ReduceOp::kMin:
    case ReduceOp::kMax: return ExpectedExtreme(c, x);
    case ReduceOp::kProduct: return ExpectedProduct(c, x);
    default: return ExpectedSum(c, x);
  }
}

bool WithinR3(const AllreduceCase& c, std::span<const std::byte> result, std::string* message) {
  REIGEN_CHECK(!c.inputs.empty());
  for (const auto& input : c.inputs) REIGEN_CHECK(input.size() == result.size());
  for (size_t i = 0; i < result.size() / ElementBytes(c.dtype); ++i) {
    const Expected e = ExpectedElement(c, i);
    const Real got = Decode(c.dtype, result, i);
    const bool canonical = !std::isnan(got) || CanonicalNan(c.dtype, result, i);
    if (Fits(e, got) && canonical) continue;
    std::ostringstream text;
    text.precision(18);
    text << Name(c.dtype) << ' ' << Name(c.op) << " over " << c.inputs.size() << " ranks on " << c.hosts
         << " hosts: element " << i << " is " << got << (canonical ? "" : ", not the canonical NaN")
         << ", should be " << e.value << " +- " << e.tolerance
         << (e.or_infinite ? " or infinite" : "") << "; operands";
    for (const auto& input : c.inputs) text << ' ' << Decode(c.dtype, input, i);
    text << ", scales " << c.prescale << ' ' << c.postscale << ", divisor " << c.divisor;
    *message = text.str();
    return false;
  }
  return true;
}

}  // namespace reigen::reduce
