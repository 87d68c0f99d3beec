"""cuda_library: .cu files compiled by nvcc, or a stub without CUDA."""

load("@local_config_cuda//:defs.bzl", "CUDA_VERSION", "NVCC")

# Machine code for A100 and H100/H200, and PTX for what comes later.
DEFAULT_GENCODE = [
    "arch=compute_80,code=sm_80",
    "arch=compute_90,code=sm_90",
    "arch=compute_90,code=compute_90",
]

def _cuda_objects_impl(ctx):
    if not NVCC:
        fail("--config=cuda needs nvcc, and none was found: set CUDA_HOME, or build without it")
    cc_contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps]
    headers = depset(ctx.files.hdrs, transitive = [c.headers for c in cc_contexts])
    objects = []
    for source in ctx.files.srcs:
        # .pic.o: Bazel may link it into programs and shared libraries alike.
        out = ctx.actions.declare_file("_nvcc/%s/%s.pic.o" % (ctx.label.name, source.basename[:-3]))
        args = ctx.actions.args()
        args.add_all(["-c", "-x", "cu", "-std=" + ctx.attr.std, "-Xcompiler=-fPIC", "-Xcompiler=-Wall"])
        args.add_all(ctx.attr.gencode, before_each = "-gencode")
        if ctx.var["COMPILATION_MODE"] == "opt":
            args.add_all(["-O3", "-lineinfo", "-DNDEBUG"])
        elif ctx.var["COMPILATION_MODE"] == "dbg":
            args.add_all(["-O0", "-g", "-G"])
        for context in cc_contexts:
            args.add_all(context.defines, format_each = "-D%s")
            args.add_all(context.includes, before_each = "-I")
            args.add_all(context.quote_includes, before_each = "-I")
            args.add_all(context.system_includes, before_each = "-isystem")
        args.add_all(["-I", "."])
        args.add_all(ctx.attr.copts)
        args.add("-o", out)
        args.add(source)
        ctx.actions.run(
            executable = NVCC,
            arguments = [args],
            inputs = depset([source], transitive = [headers]),
            outputs = [out],
            env = {"PATH": "/usr/bin:/bin"},
            mnemonic = "CudaCompile",
            progress_message = "Compiling %s with nvcc %s" % (source.short_path, CUDA_VERSION),
        )
        objects.append(out)
    return [DefaultInfo(files = depset(objects))]

_cuda_objects = rule(
    implementation = _cuda_objects_impl,
    attrs = {
        "copts": attr.string_list(),
        "deps": attr.label_list(providers = [CcInfo]),
        "gencode": attr.string_list(default = DEFAULT_GENCODE),
        "hdrs": attr.label_list(allow_files = True),
        "srcs": attr.label_list(allow_files = [".cu"]),
        "std": attr.string(default = "c++20"),
    },
)

def cuda_select(on, off):
    """`on` with --config=cuda, and with cuda-auto where there's a toolkit."""
    return select({
        "//bazel:cuda_on": on,
        "@local_config_cuda//:auto_and_found": on,
        "//conditions:default": off,
    })

def cuda_library(name, srcs, stub_srcs, hdrs = [], deps = [], copts = [], gencode = DEFAULT_GENCODE, **kwargs):
    """A cc_library from .cu files, or from stub_srcs where CUDA is off.

    Args:
      name: the cc_library.
      srcs: .cu files.
      stub_srcs: C++ files that define the same functions without CUDA.
      hdrs: headers of both.
      deps: cc_library targets of both.
      copts: further flags for nvcc.
      gencode: nvcc's -gencode values.
      **kwargs: visibility, testonly, ...
    """
    _cuda_objects(
        name = name + "_objects",
        srcs = srcs,
        hdrs = hdrs,
        copts = copts,
        gencode = gencode,
        # Built only where the cc_library below selects it.
        tags = ["manual"],
        deps = deps,
    )
    native.cc_library(
        name = name,
        srcs = cuda_select([":" + name + "_objects"], stub_srcs),
        hdrs = hdrs,
        deps = deps + cuda_select(["@local_config_cuda//:cudart_static"], []),
        **kwargs
    )
