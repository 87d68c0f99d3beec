"""Fuzz targets as tests; with --config=fuzz as libFuzzer programs."""

def reigen_fuzz_test(name, srcs, deps, iterations = 30000, tags = []):
    """A test that runs LLVMFuzzerTestOneInput on seeds and mutations.

    Args:
      name: of the test.
      srcs: define LLVMFuzzerTestOneInput and reigen::FuzzSeeds (tests/fuzz/fuzz.h).
      deps: what they need.
      iterations: mutations to run without libFuzzer.
      tags: as of any test.
    """
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        args = select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": [str(iterations)],
        }),
        # libFuzzer brings main() along, and mutations that see what code they reach.
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = tags,
        deps = deps + ["//tests/fuzz"] + select({
            "//tests/fuzz:libfuzzer": [],
            "//conditions:default": ["//tests/fuzz:driver"],
        }),
    )
