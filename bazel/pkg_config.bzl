"""A repository rule that turns pkg-config modules into cc_library targets."""

# Parts of glibc: these stay as they are when the rest comes from archives.
_LIBC = ["-lpthread", "-ldl", "-lrt", "-lm", "-lc"]

_LIBDIRS = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
]

def _unique(items):
    return {item: None for item in items}.keys()

def _pkg_config(rctx, args):
    """Returns (flags, "") or (None, error)."""
    program = rctx.which("pkg-config")
    if not program:
        return None, "pkg-config is not installed"
    result = rctx.execute([program] + args)
    if result.return_code != 0:
        return None, result.stderr.strip()
    return [flag for flag in result.stdout.strip().replace("\n", " ").split(" ") if flag], ""

def _libraries(flags):
    """The link flags, each once: absl's modules repeat theirs up to forty times."""
    flags = [flag for flag in flags if not flag.startswith(("-D", "-I"))]

    flags = [flag for flag in flags if not flag.startswith(("-Wl,--push-state", "-Wl,--pop-state", "-Wl,--as-needed"))]

    # gRPC's module names some sixty libraries: keep those that are used. It has
    # to come before them; flags of .bazelrc come after.
    return (["-Wl,--as-needed"] if flags else []) + _unique(flags)

def _from_archives(rctx, flags):
    """The same libraries from their archives, as far as those are installed."""
    libdirs = [flag[2:] for flag in flags if flag.startswith("-L")] + _LIBDIRS
    archives, others = [], []
    for flag in flags:
        found = None
        if flag.startswith("-l") and flag not in _LIBC:
            for libdir in libdirs:
                path = "%s/lib%s.a" % (libdir, flag[2:])
                if rctx.path(path).exists:
                    found = path
                    break
        if found:
            archives.append(found)
        else:
            others.append(flag)
    if archives:
        # They refer to each other in circles.
        archives = ["-Wl,--start-group"] + archives + ["-Wl,--end-group"]
    return archives + others

_PACKAGE = "package(default_visibility = [\"//visibility:public\"])\n"

_LIBRARY = """
cc_library(
    name = {name},
    hdrs = {hdrs},
    defines = {defines},
    includes = {includes},
    linkopts = {linkopts},
)
"""

_SELECT = """select({{
        "@{main}//bazel:static_deps": {static},
        "//conditions:default": {shared},
    }})"""

# Fails the targets that need the library, when they're built, and no others.
_MISSING = """
genrule(
    name = "{name}_is_missing",
    outs = ["{name}_is_missing.h"],
    cmd = "echo '{message}' >&2; exit 1",
)

cc_library(
    name = "{name}",
    hdrs = ["{name}_is_missing.h"],
)
"""

def _select(rctx, shared, static):
    return _SELECT.format(
        main = rctx.attr.main_workspace,
        shared = repr(shared),
        static = repr(static),
    )

def _library(rctx, package, name, needs):
    """The BUILD text of one library, having put its files into package."""
    modules = [need for need in needs if not need.startswith("-l")]
    extra_libs = [need for need in needs if need.startswith("-l")]
    shared, error = _pkg_config(rctx, ["--cflags", "--libs"] + modules)
    if shared == None:
        message = "%s: %s. apt-get install %s" % (rctx.name, error.replace("\n", " "), rctx.attr.apt)
        return _MISSING.format(name = name, message = message.replace("'", ""))
    static, error = _pkg_config(rctx, ["--static", "--libs"] + modules)
    if static == None or rctx.attr.shared_only:
        static = shared

    # An input of all dependent compilations: an upgrade of the package makes
    # another stamp, and so rebuilds them.
    prefix = package + "/" if package else ""
    versions, _ = _pkg_config(rctx, ["--modversion"] + modules)
    rctx.file(prefix + name + ".version.h", "// %s %s\n" % (modules, versions))
    hdrs = repr([name + ".version.h"])

    includes = []
    for path in _unique([flag[2:] for flag in shared if flag.startswith("-I")]):
        link = "include" + path.replace("/", "_")
        if not rctx.path(prefix + link).exists:
            rctx.symlink(path, prefix + link)
        includes.append(link)
        hdrs += " + glob([%r], allow_empty = True)" % (link + "/**")

    shared_defines = _unique([flag[2:] for flag in shared if flag.startswith("-D")])
    shared_libs = _libraries(extra_libs + shared)
    static_libs = _libraries(extra_libs + static)
    if not rctx.attr.shared_only:
        static_libs = _from_archives(rctx, static_libs)
    if rctx.attr.compiled_by_us:
        static_libs = ["-lpthread"]
    static_libs = [rctx.attr.static_replace.get(flag, flag) for flag in static_libs]
    return _LIBRARY.format(
        name = repr(name),
        defines = repr(shared_defines),
        hdrs = hdrs,
        includes = repr(includes),
        linkopts = _select(rctx, shared_libs, static_libs),
    )

def _program(rctx, name):
    path = rctx.which(name)
    if path:
        rctx.symlink(path, name)
    else:
        rctx.file(
            name,
            "#!/bin/sh\necho '%s is missing. apt-get install %s' >&2\nexit 1\n" % (name, rctx.attr.apt),
            executable = True,
        )
    return "\nexports_files([%r])\n" % name

def _pkg_config_repository_impl(rctx):
    packages = {"": _PACKAGE}
    for target, needs in rctx.attr.targets.items():
        package, _, name = target.rpartition(":")
        text = packages.get(package, _PACKAGE)
        packages[package] = text + _library(rctx, package, name, needs)
    for name in rctx.attr.programs:
        packages[""] += _program(rctx, name)
    for link, path in rctx.attr.symlinks.items():
        rctx.symlink(path, link)
    packages[""] += rctx.attr.build_append
    for package, text in packages.items():
        rctx.file((package + "/" if package else "") + "BUILD.bazel", text)

pkg_config_repository = repository_rule(
    implementation = _pkg_config_repository_impl,
    attrs = {
        "apt": attr.string(doc = "The Debian packages to name when something is missing."),
        "build_append": attr.string(doc = "Appended to the root package's BUILD file."),
        "compiled_by_us": attr.bool(doc = "With --config=static: link nothing, a target of ours has its code."),
        "main_workspace": attr.string(default = "reigen"),
        "programs": attr.string_list(doc = "Programs on PATH, as targets."),
        "shared_only": attr.bool(doc = "Shared libraries with --config=static too."),
        "static_replace": attr.string_dict(doc = "With --config=static: flags to replace."),
        "symlinks": attr.string_dict(doc = "Path in the repository to a path on the machine."),
        "targets": attr.string_list_dict(doc = "'package:target' to its pkg-config modules and '-l' flags."),
    },
    configure = True,
    environ = ["PATH", "PKG_CONFIG_PATH"],
    local = True,
)
