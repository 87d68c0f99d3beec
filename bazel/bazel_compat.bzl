"""Stand-ins for what Bazel 4's built-in WORKSPACE suffix would download.

Debian's bazel-bootstrap is a 4.2.3 that reports no version. Its own
@bazel_tools loads rules_cc, rules_java and rules_proto, which only pass on to
the native rules, and remote_coverage_tools; it declares all of them as
archives on the network. The first declaration of a repository wins, so
declaring them here keeps the build offline. (Debian's bazel-rules-cc 0.0.4
needs a newer Bazel than Debian's.) Official releases report their version and
keep their own, matching, repositories.
"""

_NATIVE_RULES = {
    "cc": [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_proto_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "objc_library",
    ],
    "java": [
        "java_binary",
        "java_import",
        "java_library",
        "java_proto_library",
        "java_runtime",
        "java_test",
        "java_toolchain",
    ],
    "proto": [
        "proto_lang_toolchain",
        "proto_library",
    ],
}

_WRAPPER = """
def {rule}(**kwargs):
    native.{rule}(**kwargs)
"""

def _native_rules_repository_impl(rctx):
    language = rctx.attr.language
    text = "".join([_WRAPPER.format(rule = rule) for rule in _NATIVE_RULES[language]])
    rctx.file("BUILD.bazel", "")
    rctx.file(language + "/BUILD.bazel", "")
    rctx.file(language + "/defs.bzl", text)

_native_rules_repository = repository_rule(
    implementation = _native_rules_repository_impl,
    attrs = {"language": attr.string(values = _NATIVE_RULES.keys())},
)

def bazel_compat_repositories():
    """Declares the offline repositories when running Debian's Bazel."""
    version = native.bazel_version
    if version and not version.startswith("4."):
        return
    for language in _NATIVE_RULES:
        _native_rules_repository(name = "rules_" + language, language = language)

    # Needed by the analysis of every test, run or not.
    native.local_repository(name = "remote_coverage_tools", path = "bazel/coverage")
