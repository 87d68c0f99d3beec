"""cuda_fatbin: a .cu file compiled by nvcc, where CUDA is on."""

load("@local_config_cuda//:defs.bzl", "CUDA_VERSION", "NVCC")

# Machine code for A100 and H100/H200, and PTX for what comes later.
GENCODE = [
    "arch=compute_80,code=sm_80",
    "arch=compute_90,code=sm_90",
    "arch=compute_90,code=compute_90",
]

def _cuda_fatbin_impl(ctx):
    if not NVCC:
        fail("--config=cuda needs nvcc, and none was found: set CUDA_HOME, or build without it")
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps])
    out = ctx.actions.declare_file(ctx.label.name + ".fatbin")
    args = ctx.actions.args()
    args.add_all(["-fatbin", "-std=c++20", "-O3", "-I", "."])
    args.add_all(["-Werror", "all-warnings", "-Xcompiler=-Wall,-Wextra"])

    # a*b+c is rounded twice, as on the CPU (R2); constexpr functions run on the GPU too.
    args.add_all(["-fmad=false", "--expt-relaxed-constexpr"])
    args.add_all(GENCODE, before_each = "-gencode")
    args.add("-o", out)
    args.add(ctx.file.src)
    ctx.actions.run(
        executable = NVCC,
        arguments = [args],
        inputs = depset([ctx.file.src], transitive = [headers]),
        outputs = [out],
        env = {"PATH": "/usr/bin:/bin"},
        mnemonic = "CudaCompile",
        progress_message = "Compiling %s with nvcc %s" % (ctx.file.src.short_path, CUDA_VERSION),
    )
    return [DefaultInfo(files = depset([out]))]

_cuda_fatbin = rule(
    implementation = _cuda_fatbin_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
    },
)

def cuda_select(on, off):
    """`on` with --config=cuda, and with cuda=auto where there's a toolkit."""
    return select({
        "//bazel:cuda_on": on,
        "@local_config_cuda//:auto_and_found": on,
        "//conditions:default": off,
    })

def cuda_fatbin(name, src, deps = [], **kwargs):
    """A filegroup of the compiled file, or of nothing where CUDA is off.

    Args:
      name: the filegroup.
      src: the .cu file.
      deps: cc_library targets whose headers it includes.
      **kwargs: visibility, ...
    """
    _cuda_fatbin(
        name = name + "_compiled",
        src = src,
        deps = deps,
        # Built only where the filegroup below selects it.
        tags = ["manual"],
    )
    native.filegroup(
        name = name,
        srcs = cuda_select([":" + name + "_compiled"], []),
        **kwargs
    )
