// Takes the place of libibverbs' functions in a test program: soft-RoCE takes no dma-bufs,
// so a memfd is registered as one, under addresses that the program does not touch.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <map>

namespace {

struct Mapping {
  void* at = nullptr;
  size_t bytes = 0;
};
std::map<ibv_mr*, Mapping>& Mappings() {
  static auto* const mappings = new std::map<ibv_mr*, Mapping>();
  return *mappings;
}

}  // namespace

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                          int access) {
  void* const at =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (at == MAP_FAILED) return nullptr;
  ibv_mr* const mr = ibv_reg_mr_iova2(pd, at, length, iova, static_cast<unsigned>(access));
  if (mr == nullptr) {
    munmap(at, length);
  } else {
    Mappings()[mr] = {at, length};
  }
  return mr;
}

int ibv_dereg_mr(ibv_mr* mr) {
  static const auto next = reinterpret_cast<int (*)(ibv_mr*)>(dlsym(RTLD_NEXT, "ibv_dereg_mr"));
  const auto mapping = Mappings().extract(mr);
  const int error = next(mr);
  if (!mapping.empty()) munmap(mapping.mapped().at, mapping.mapped().bytes);
  return error;
}
