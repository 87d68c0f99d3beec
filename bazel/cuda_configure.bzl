"""Finds the CUDA toolkit, if there is one, and makes @local_config_cuda."""

_BUILD = """
package(default_visibility = ["//visibility:public"])

# --define=cuda=auto takes CUDA where the toolkit was found.
config_setting(
    name = "auto_and_found",
    define_values = {{"cuda": "{auto_value}"}},
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**"], allow_empty = True),
    includes = {includes},
)

# The static run-time library opens libcuda.so.1 when it is first used: the
# programs start, and see no device, on a machine without a driver.
cc_library(
    name = "cudart_static",
    linkopts = {linkopts},
    deps = [":headers"],
)
"""

def _find_nvcc(rctx):
    for var in ["CUDA_HOME", "CUDA_PATH"]:
        root = rctx.os.environ.get(var)
        if root and rctx.path(root + "/bin/nvcc").exists:
            return rctx.path(root + "/bin/nvcc")
    if rctx.path("/usr/local/cuda/bin/nvcc").exists:
        return rctx.path("/usr/local/cuda/bin/nvcc")
    return rctx.which("nvcc")

def _cuda_configure_impl(rctx):
    nvcc = _find_nvcc(rctx)
    if rctx.os.environ.get("REIGEN_HIDE_CUDA") == "1":
        nvcc = None
    includes, linkopts, version = [], [], ""
    if nvcc:
        root = str(nvcc.dirname.dirname)
        result = rctx.execute([nvcc, "--version"])
        version = result.stdout.split("release ")[-1].split(",")[0]
        rctx.symlink(root + "/include", "include")
        includes = ["include"]
        for libdir in ["lib64", "lib", "lib/x86_64-linux-gnu"]:
            archive = "%s/%s/libcudart_static.a" % (root, libdir)
            if rctx.path(archive).exists:
                linkopts = [archive, "-lpthread", "-ldl", "-lrt"]
                break
    rctx.file("defs.bzl", "NVCC = %r\nCUDA_VERSION = %r\n" % (str(nvcc) if nvcc else "", version))
    rctx.file("BUILD.bazel", _BUILD.format(
        auto_value = "auto" if nvcc else "auto_but_no_toolkit_here",
        includes = repr(includes),
        linkopts = repr(linkopts),
    ))

cuda_configure = repository_rule(
    implementation = _cuda_configure_impl,
    configure = True,
    environ = ["CUDA_HOME", "CUDA_PATH", "PATH", "REIGEN_HIDE_CUDA"],
    local = True,
)
