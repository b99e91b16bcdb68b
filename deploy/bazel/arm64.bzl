"""A toolchain that builds for arm64 on another machine (`--config=arm64`).

Debian's cross compiler, and its arm64 archives of the libraries that we link: they
are fetched with apt's own keys and unpacked into a folder of Bazel's, so the machine
gets no packages of another architecture, which would drive out its own. Nothing is
fetched unless a build asks for it.
"""

_PACKAGES = [
    "libabsl-dev",
    "libc-ares-dev",
    "libctemplate-dev",
    "libevent-dev",
    "libgoogle-perftools-dev",
    "libgrpc++-dev",
    "libgrpc-dev",
    "libprotobuf-dev",
    "libpugixml-dev",
    "libre2-dev",
    "libutf8proc-dev",
    "libsqlite3-dev",
    "libssl-dev",
    "libyaml-cpp-dev",
    "zlib1g-dev",
]

# $1 and further: packages, which are unpacked here.
_FETCH = """
set -eu
mkdir -p apt/state/lists/partial apt/cache/archives/partial
touch apt/status
apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
    -o "Dir::State=$PWD/apt/state" -o "Dir::State::status=$PWD/apt/status" \
    -o "Dir::Cache=$PWD/apt/cache" "$@"
}
apt update
apt download "$@"
for package in *.deb; do dpkg-deb -x "$package" .; done
rm -rf apt ./*.deb usr/share usr/lib/aarch64-linux-gnu/*.so*
"""

_BUILD = """
load("@bazel_tools//tools/cpp:unix_cc_toolchain_config.bzl", "cc_toolchain_config")

package(default_visibility = ["//visibility:public"])

filegroup(name = "files", srcs = glob(["usr/**"]))

cc_toolchain_suite(name = "toolchain", toolchains = {"aarch64": ":gcc"})

cc_toolchain(
    name = "gcc",
    all_files = ":files",
    ar_files = ":files",
    as_files = ":files",
    compiler_files = ":files",
    dwp_files = ":files",
    linker_files = ":files",
    objcopy_files = ":files",
    strip_files = ":files",
    toolchain_config = ":config",
)

cc_toolchain_config(
    name = "config",
    abi_libc_version = "local",
    abi_version = "local",
    compile_flags = [
        "-isystem", "external/arm64/usr/include/aarch64-linux-gnu",
        "-isystem", "external/arm64/usr/include",
        "-fstack-protector", "-fno-omit-frame-pointer",
    ],
    compiler = "compiler",
    cpu = "aarch64",
    cxx_builtin_include_directories = [
        "/usr/aarch64-linux-gnu/include",
        "/usr/lib/gcc-cross/aarch64-linux-gnu",
        "/usr/include",
    ],
    host_system_name = "local",
    link_flags = ["-Lexternal/arm64/usr/lib/aarch64-linux-gnu", "-Wl,-z,relro,-z,now"],
    link_libs = ["-lstdc++", "-lm"],
    opt_compile_flags = [
        "-g0", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=1", "-DNDEBUG",
        "-ffunction-sections", "-fdata-sections",
    ],
    opt_link_flags = ["-Wl,--gc-sections"],
    target_libc = "local",
    target_system_name = "aarch64-linux-gnu",
    tool_paths = {
        tool: "/usr/bin/aarch64-linux-gnu-" + tool
        for tool in ["ar", "cpp", "dwp", "gcc", "gcov", "ld", "llvm-cov", "nm", "objcopy", "objdump", "strip"]
    },
    toolchain_identifier = "arm64",
    unfiltered_compile_flags = [
        "-fno-canonical-system-headers", "-Wno-builtin-macro-redefined",
        "-D__DATE__=\\"redacted\\"", "-D__TIMESTAMP__=\\"redacted\\"", "-D__TIME__=\\"redacted\\"",
    ],
)
"""

def _arm64_toolchain_impl(repository_ctx):
    result = repository_ctx.execute(["sh", "-c", _FETCH, "fetch"] + _PACKAGES)
    if result.return_code != 0:
        fail("the libraries of arm64 could not be fetched:\n%s" % result.stderr)
    repository_ctx.file("BUILD.bazel", _BUILD)

arm64_toolchain = repository_rule(
    implementation = _arm64_toolchain_impl,
)
