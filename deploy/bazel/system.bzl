"""System libraries as Bazel targets: asks pkg-config what a link needs.

A build with `-c opt` links static archives, every other build the shared ones
except in programs: `archives` is what these need besides, to do without.
PKG_CONFIG_LIBDIR selects another architecture when cross-building.
PKG_CONFIG_PATH puts libraries elsewhere before the system's, e.g. a newer gRPC:
their headers, archives, protoc and gRPC plugin are those of the .pc files there.
"""

# Target name -> pkg-config modules.
_LIBRARIES = {
    "absl": [
        "absl_base",
        "absl_flags",
        "absl_flags_parse",
        "absl_flat_hash_map",
        "absl_flat_hash_set",
        "absl_hash",
        "absl_random_random",
        "absl_span",
        "absl_status",
        "absl_statusor",
        "absl_str_format",
        "absl_strings",
        "absl_synchronization",
        "absl_time",
    ],
    "benchmark": ["benchmark"],
    "cli11": ["CLI11"],
    "ctemplate": ["libctemplate"],
    "event": [
        "libevent",
        "libevent_extra",
        "libevent_openssl",
        "libevent_pthreads",
    ],
    "grpc": ["grpc++", "protobuf"],
    "gtest": ["gmock", "gtest"],
    "openssl": ["openssl"],
    "protobuf": ["protobuf"],
    "pugixml": ["pugixml"],
    "re2": ["re2"],
    "sqlite3": ["sqlite3"],
    "tcmalloc": ["libtcmalloc_minimal"],
    "utf8proc": ["libutf8proc"],
    "yaml_cpp": ["yaml-cpp"],
    "zlib": ["zlib"],
}

# The last is one program's own.
_ONLY_IN_TESTS = ["benchmark", "gtest", "tcmalloc"]

def _flags(repository_ctx, modules, static):
    command = ["pkg-config", "--libs"] + (["--static"] if static else []) + modules
    result = repository_ctx.execute(command)
    if result.return_code != 0:
        fail("`%s`: %s" % (" ".join(command), result.stderr))
    flags = [flag for flag in result.stdout.strip().split(" ") if flag]

    # Keeps the last of equal libraries, which follows all that need it.
    unique = [
        flag
        for at, flag in enumerate(flags)
        if not flag.startswith("-l") or flag not in flags[at + 1:]
    ]
    if not static:
        return unique
    return ["-Wl,--start-group"] + unique + ["-Wl,--end-group"]

def _asked(repository_ctx, arguments):
    command = ["pkg-config"] + arguments
    result = repository_ctx.execute(command)
    if result.return_code != 0:
        fail("`%s`: %s" % (" ".join(command), result.stderr))
    return result.stdout.strip()

def _headers(repository_ctx, name, modules):
    """Folders of headers outside of /usr/include, as links in this repository."""
    folders = []
    for flag in _asked(repository_ctx, ["--cflags-only-I"] + modules).split(" "):
        if not flag.startswith("-I") or flag in folders:
            continue
        folders.append(flag)
        repository_ctx.symlink(flag[len("-I"):], "%s_headers_%d" % (name, len(folders)))
    return ["%s_headers_%d" % (name, at + 1) for at in range(len(folders))]

def _system_libraries_impl(repository_ctx):
    # The libraries' own generators: the code of others does not fit.
    for module, program in [("protobuf", "protoc"), ("grpc++", "grpc_cpp_plugin")]:
        prefix = _asked(repository_ctx, ["--variable=prefix", module])
        repository_ctx.symlink(prefix + "/bin/" + program, program)
    targets = ["exports_files([\"protoc\", \"grpc_cpp_plugin\"])"]
    for name, modules in _LIBRARIES.items():
        headers = _headers(repository_ctx, name, modules)
        targets.append("""cc_library(
    name = "{name}",
    hdrs = glob({patterns}),
    includes = {headers},
    linkopts = select({{
        "@clusterd//deploy/bazel:static": {static},
        "//conditions:default": {shared},
    }}),
)
""".format(
            name = name,
            headers = repr(headers),
            patterns = repr([folder + "/**" for folder in headers]),
            static = repr(_flags(repository_ctx, modules, True)),
            shared = repr(_flags(repository_ctx, modules, False)),
        ))
    shipped = [
        module
        for name, modules in _LIBRARIES.items()
        if name not in _ONLY_IN_TESTS
        for module in modules
    ]
    targets.append("""cc_library(
    name = "archives",
    linkopts = {flags},
)
""".format(flags = repr(_flags(repository_ctx, shipped, True))))
    targets.append("""cc_library(
    name = "gtest_main",
    linkopts = ["-lgtest_main"],
    deps = [":gtest"],
)
""")
    repository_ctx.file(
        "BUILD.bazel",
        "package(default_visibility = [\"//visibility:public\"])\n\n" + "\n".join(targets),
    )

system_libraries = repository_rule(
    implementation = _system_libraries_impl,
    environ = ["PKG_CONFIG_LIBDIR", "PKG_CONFIG_PATH"],
    local = True,
)
