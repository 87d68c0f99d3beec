// Small texts of messages for people.
#ifndef REIGEN_COORDINATOR_CORE_TEXT_H_
#define REIGEN_COORDINATOR_CORE_TEXT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/clock.h"

namespace reigen::coordinator {

// "rank 3", "ranks 0,1".
std::string RankText(const std::vector<int>& ranks);
// The shortest decimals that give this number again.
std::string NumberText(double value);
// "12.3 s".
std::string SecondsText(Duration duration);
// At most `bytes`, an ellipsis in the place of the rest.
std::string Shortened(std::string text, size_t bytes);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_TEXT_H_
