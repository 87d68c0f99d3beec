#include "tests/hardware/forms.h"

#include <initializer_list>

#include "client/cuda/reduce_kernel.h"

namespace reigen::hardware {

std::string Describe(const Form& form) {
  std::string text = "of " + std::to_string(form.inputs);
  if (form.received) text += form.received_wide ? " and wide received" : " and received";
  if (form.out_wide) text += ", to wide";
  if (form.scaled) text += ", scaled";
  if (form.skip > 0) text += ", out of alignment";
  return text;
}

std::vector<Form> FormsOf(DataType dtype) {
  const bool is_float = IsFloat(dtype);
  const bool scales = dtype != DataType::kBool;
  std::vector<Form> forms;
  const auto add = [&](Form form, std::initializer_list<size_t> inputs) {
    for (const size_t k : inputs) {
      for (const bool received : {false, true}) {
        form.inputs = k;
        form.received = received;
        if (!received && (k == 0 || form.received_wide)) continue;
        forms.push_back(form);
      }
    }
  };
  add({.scaled = is_float}, {1, 2, 4, sdk::cuda::kMaxReduceInputs});
  for (const size_t skip : {0, 1}) {
    add({.scaled = scales, .skip = skip}, {0, 1, 4});
    if (!IsHalf(dtype)) continue;
    add({.received_wide = true, .scaled = true, .skip = skip}, {0, 1, 4});
    add({.out_wide = true, .scaled = true, .skip = skip}, {1, 4});
    add({.received_wide = true, .out_wide = true, .scaled = true, .skip = skip}, {1, 4});
  }
  return forms;
}

Case CaseOf(DataType dtype, ReduceOp op, const Form& form, size_t count) {
  Case reduction = {.dtype = dtype, .op = op, .inputs = {}, .received = {}, .hosts = 1,
                    .received_wide = form.received_wide, .out_wide = form.out_wide};
  if (form.scaled) reduction.prescale = 0.75;
  if (form.scaled && !form.out_wide) reduction.postscale = 1.25;
  if (op == ReduceOp::kAverage && !form.out_wide) reduction.divisor = form.inputs + 1;
  for (size_t k = 0; k < form.inputs; ++k) {
    reduction.inputs.push_back(RandomElements(dtype, count, k + 1));
  }
  const DataType received = form.received_wide ? DataType::kFloat32 : dtype;
  if (form.received) reduction.received = RandomElements(received, count, 99);
  return reduction;
}

size_t ElementBytesOf(DataType dtype, bool wide) {
  return ElementBytes(wide ? DataType::kFloat32 : dtype);
}

}  // namespace reigen::hardware
