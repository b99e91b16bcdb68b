"""cc_binary for programs that we ship."""

def program(name, linkopts = [], **kwargs):
    """A cc_binary that links no shared library at all with `-c opt`."""
    native.cc_binary(
        name = name,
        linkopts = linkopts + select({
            "//deploy/bazel:static": ["-static"],
            "//conditions:default": [],
        }),
        linkstatic = True,
        **kwargs
    )
