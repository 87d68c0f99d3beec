// The forms of a reduction beside its dtype and operator: which operands there are, of which
// width, scaled or not, aligned or not.
#ifndef REIGEN_TESTS_HARDWARE_FORMS_H_
#define REIGEN_TESTS_HARDWARE_FORMS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "tests/hardware/reference.h"

namespace reigen::hardware {

struct Form {
  size_t inputs = 1;
  bool received = false;
  bool received_wide = false;
  bool out_wide = false;  // a partial: neither divided nor scaled at the end
  bool scaled = false;
  size_t skip = 0;  // elements that everything lies behind an aligned address
};

// "of 4 and wide received, scaled".
std::string Describe(const Form& form);

// All that a dtype has. Without inputs there is something received.
std::vector<Form> FormsOf(DataType dtype);

// With random operands.
Case CaseOf(DataType dtype, ReduceOp op, const Form& form, size_t count);

// Of an element, which of a half may be as float32.
size_t ElementBytesOf(DataType dtype, bool wide);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_FORMS_H_
