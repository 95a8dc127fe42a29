// A range of rows split evenly among the threads of an OpenMP team.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>
#ifdef PRENORM_STD_THREADS
#include <thread>
#include <vector>
#endif

namespace prenorm {

// Elements that one thread must have for a team (1 to 3 us for fork and join) to pay.
inline constexpr size_t kMinElementsPerThread = 32768;

// Calls body(first_row, count) for parts of [0, rows), at most one per thread.
template <class Body>
void OverRows(size_t rows, size_t cols, size_t threads, const Body& body) {
  if (threads == 0) threads = static_cast<size_t>(omp_get_max_threads());
  const size_t useful = cols == 0 ? 1 : rows / std::max<size_t>(1, kMinElementsPerThread / cols);
  const size_t parts = std::min({threads, rows, std::max<size_t>(1, useful)});
  if (parts <= 1) {
    body(0, rows);
    return;
  }
  const auto run = [&](size_t part) {
    const size_t begin = rows * part / parts;
    body(begin, rows * (part + 1) / parts - begin);
  };
#ifdef PRENORM_STD_THREADS  // ThreadSanitizer does not see that the OpenMP runtime starts and joins threads.
  std::vector<std::jthread> others;
  for (size_t part = 1; part < parts; ++part) others.emplace_back(run, part);
  run(0);
#else
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (size_t part = 0; part < parts; ++part) run(part);
#endif
}

}  // namespace prenorm
