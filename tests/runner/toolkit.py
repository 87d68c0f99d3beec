"""Is there a CUDA toolkit? Asked here without Bazel, whose own finding of it is tested, too."""
import os
import shutil

# Reasons of skips that are right only where there is none.
ONLY_WITHOUT_NVCC = ("built without nvcc", "no nvcc", "no cuda.h here")


def find_nvcc(environment):
    """Its path, or None."""
    if environment.get("REIGEN_HIDE_CUDA") == "1":
        return None
    for home in (environment.get("CUDA_HOME"), environment.get("CUDA_PATH"), "/usr/local/cuda"):
        if home and os.access(os.path.join(home, "bin/nvcc"), os.X_OK):
            return os.path.join(home, "bin/nvcc")
    return shutil.which("nvcc", path=environment.get("PATH", ""))
