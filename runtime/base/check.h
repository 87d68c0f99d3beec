// Our own bugs end the process with the place and the broken condition. What a
// peer, a user or the system did is never a CHECK: it is a Status.
#ifndef REIGEN_RUNTIME_BASE_CHECK_H_
#define REIGEN_RUNTIME_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define REIGEN_CHECK(condition, ...)                                             \
  do {                                                                           \
    if (__builtin_expect(!(condition), 0)) {                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s %s\n", __FILE__, __LINE__,   \
                   #condition, "" __VA_ARGS__);                                  \
      std::abort();                                                              \
    }                                                                            \
  } while (0)

#ifdef NDEBUG
#define REIGEN_DCHECK(condition) ((void)sizeof(condition))
#else
#define REIGEN_DCHECK(condition) REIGEN_CHECK(condition)
#endif

#endif  // REIGEN_RUNTIME_BASE_CHECK_H_
