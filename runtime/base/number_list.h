// Ranks and hosts in messages for people.
#ifndef REIGEN_RUNTIME_BASE_NUMBER_LIST_H_
#define REIGEN_RUNTIME_BASE_NUMBER_LIST_H_

#include <string>
#include <vector>

namespace reigen {

// Sorted, "0,1,4-7": three or more in a row are joined.
std::string NumberList(std::vector<int> numbers);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_NUMBER_LIST_H_
