// Times MPI_Allreduce. usage: mpirun -np N peers_mpi POINTS
#define OMPI_SKIP_MPICXX 1  // the old C++ bindings, which warn

#include <mpi.h>

#include <vector>

#include "tests/bench/timing.h"

namespace reigen::bench {
namespace {

void RunPoint(const Point& point, int rank, int size) {
  std::vector<float> data(point.bytes / sizeof(float), 1.0f);
  const auto allreduce = [&] {
    MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
  allreduce();
  const bool right = data.front() == static_cast<float>(size) && data.back() == data.front();
  std::fill(data.begin(), data.end(), 0.0f);
  for (int i = 0; i < WarmupIterations(point); ++i) allreduce();
  std::vector<double> seconds(point.iterations);
  for (double& one : seconds) one = SecondsOf(allreduce);
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE,
                MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) Print(point, seconds, right);
}

}  // namespace
}  // namespace reigen::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 2) {
    std::fprintf(stderr, "usage: peers_mpi POINTS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const auto& point : reigen::bench::ParsePoints(argv[1])) {
    reigen::bench::RunPoint(point, rank, size);
  }
  MPI_Finalize();
  return 0;
}
