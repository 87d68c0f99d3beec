"""The third-party libraries, under the labels their own Bazel builds use."""

load("//bazel:pkg_config.bzl", "pkg_config_repository")

_WELL_KNOWN_PROTOS = [
    "any",
    "duration",
    "empty",
    "field_mask",
    "struct",
    "timestamp",
    "wrappers",
]

def _well_known_proto_targets():
    return "".join(["""
proto_library(
    name = "{name}_proto",
    srcs = ["include/google/protobuf/{name}.proto"],
    strip_import_prefix = "include",
)
""".format(name = name) for name in _WELL_KNOWN_PROTOS])

def system_deps():
    """Declares one repository for each system library."""
    pkg_config_repository(
        name = "com_google_protobuf",
        apt = "libprotobuf-dev protobuf-compiler",
        build_append = _well_known_proto_targets() + """
proto_lang_toolchain(
    name = "cc_toolchain",
    command_line = "--cpp_out=$(OUT)",
    runtime = ":protobuf",
)
""",
        programs = ["protoc"],
        symlinks = {
            "include/google/protobuf/%s.proto" % name: "/usr/include/google/protobuf/%s.proto" % name
            for name in _WELL_KNOWN_PROTOS
        },
        targets = {":protobuf": ["protobuf"]},
    )
    pkg_config_repository(
        name = "com_github_grpc_grpc",
        apt = "libgrpc++-dev protobuf-compiler-grpc",
        programs = ["grpc_cpp_plugin"],
        targets = {
            ":grpc++": ["grpc++", "protobuf"],
            # Has a library, and no .pc file, in Debian.
            ":grpc++_reflection": ["-lgrpc++_reflection", "grpc++", "protobuf"],
        },
    )
    pkg_config_repository(
        name = "com_google_googletest",
        apt = "libgtest-dev libgmock-dev",
        targets = {
            ":gtest": ["gmock", "gtest"],
            ":gtest_main": ["gmock_main"],
        },
    )
    pkg_config_repository(
        name = "com_github_google_benchmark",
        apt = "libbenchmark-dev",
        targets = {":benchmark": ["benchmark"]},
    )
    pkg_config_repository(
        name = "com_google_absl",
        apt = "libabsl-dev",
        targets = {
            "absl/status:status": ["absl_status"],
            "absl/status:statusor": ["absl_statusor"],
            "absl/strings:strings": ["absl_strings"],
            "absl/synchronization:synchronization": ["absl_synchronization"],
        },
    )
    pkg_config_repository(
        name = "com_github_gabime_spdlog",
        apt = "libspdlog-dev",
        # Debian has neither libspdlog.a nor libfmt.a: runtime/base/log_library.cc.
        # The defines are the same either way, and so is everybody's object code.
        compiled_by_us = True,
        targets = {":spdlog": ["spdlog"]},
    )
    pkg_config_repository(
        name = "com_github_cliutils_cli11",
        apt = "libcli11-dev",
        targets = {":cli11": ["CLI11"]},
    )
    pkg_config_repository(
        name = "com_github_nlohmann_json",
        apt = "nlohmann-json3-dev",
        targets = {":json": ["nlohmann_json"]},
    )
    pkg_config_repository(
        name = "rdma_core",
        apt = "libibverbs-dev librdmacm-dev",
        # The drivers are plug-ins that must be of libibverbs' own version: take
        # all of them from the node where the program runs.
        shared_only = True,
        targets = {
            ":ibverbs": ["libibverbs"],
            ":rdmacm": ["librdmacm"],
        },
    )
    pkg_config_repository(
        name = "openssl",
        apt = "libssl-dev",
        targets = {":crypto": ["libcrypto"]},
    )
    pkg_config_repository(
        name = "com_google_highway",
        apt = "libhwy-dev",
        # Debian has no libhwy.a: installed beside the programs.
        shared_only = True,
        targets = {":hwy": ["libhwy"]},
    )
    pkg_config_repository(
        name = "hwloc",
        apt = "libhwloc-dev",
        # Every machine has it, and a .so to link with only libudev-dev brings.
        static_replace = {"-ludev": "-l:libudev.so.1"},
        targets = {":hwloc": ["hwloc"]},
    )
