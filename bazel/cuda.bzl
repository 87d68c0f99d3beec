"""CUDA code compiled by nvcc, where CUDA is on, and put into a library."""

load("@local_config_cuda//:defs.bzl", "CUDA_VERSION", "NVCC")

# Machine code for A100 and H100/H200, and PTX for what comes later.
GENCODE = [
    "arch=compute_80,code=sm_80",
    "arch=compute_90,code=sm_90",
    "arch=compute_90,code=compute_90",
]
_IN_WORDS = "sm_80, sm_90 and PTX, by nvcc " + CUDA_VERSION

# The image between two symbols that no other library sees, as cuModuleLoadData takes it.
_ASSEMBLY = """
    .section .rodata
    .balign 64
    .hidden {name}_begin
    .hidden {name}_end
    .global {name}_begin
    .global {name}_end
{name}_begin:
    .incbin "{path}"
{name}_end:
    .section .note.GNU-stack,"",%progbits
"""

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

    # With the image's hash in it: Bazel forgets inputs that the compiler's list of headers
    # lacks, and would not see that the image has changed.
    assembly = ctx.actions.declare_file(ctx.label.name + ".S")
    ctx.actions.run_shell(
        command = "(echo '%s'; echo \"// $(sha256sum < %s)\") > %s" % (
            _ASSEMBLY.format(name = ctx.attr.symbol, path = out.path),
            out.path,
            assembly.path,
        ),
        inputs = [out],
        outputs = [assembly],
        mnemonic = "CudaImage",
    )
    return [
        DefaultInfo(files = depset([out])),
        OutputGroupInfo(assembly = depset([assembly])),
    ]

_cuda_fatbin = rule(
    implementation = _cuda_fatbin_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "src": attr.label(allow_single_file = [".cu"], mandatory = True),
        "symbol": attr.string(mandatory = True),
    },
)

def cuda_select(on, off):
    """`on` with --config=cuda, and with cuda=auto where there's a toolkit."""
    return select({
        "//bazel:cuda_on": on,
        "@local_config_cuda//:auto_and_found": on,
        "//conditions:default": off,
    })

def cuda_image(name, src, symbol, srcs, hdrs, kernel_deps = [], **kwargs):
    """A cc_library with the compiled .cu file in it, or without it where CUDA is off.

    Args:
      name: the cc_library. NAME_fatbin is a filegroup of the file itself, or empty.
      src: the .cu file.
      symbol: SYMBOL_begin and SYMBOL_end lie around the image.
      srcs: they are compiled with REIGEN_CUDA_KERNELS, if there is an image: a text
        that says for which devices.
      hdrs: the library's.
      kernel_deps: cc_library targets whose headers the .cu file includes.
      **kwargs: deps, visibility, ...
    """
    _cuda_fatbin(
        name = name + "_compiled",
        src = src,
        symbol = symbol,
        deps = kernel_deps,
        # Built only where the targets below select it.
        tags = ["manual"],
    )
    native.filegroup(
        name = name + "_assembly",
        srcs = [":" + name + "_compiled"],
        output_group = "assembly",
        tags = ["manual"],
    )
    native.filegroup(
        name = name + "_fatbin",
        srcs = cuda_select([":" + name + "_compiled"], []),
    )
    native.cc_library(
        name = name,
        srcs = srcs + cuda_select([":" + name + "_assembly"], []),
        hdrs = hdrs,
        local_defines = cuda_select(["'REIGEN_CUDA_KERNELS=\"%s\"'" % _IN_WORDS], []),
        textual_hdrs = [":" + name + "_fatbin"],
        **kwargs
    )
