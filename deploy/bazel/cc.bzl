"""cc_binary for programs that we ship."""

def program(name, linkopts = [], starts_often = False, **kwargs):
    """A cc_binary that links no shared library at all with `-c opt`.

    Other builds link shared ones, of the system's libraries only those that
    are used: each costs a tenth of a millisecond at every start.

    Args:
      name: of the program.
      linkopts: as in cc_binary.
      starts_often: whether tests start it by the thousand. It then has no
        shared library in other builds either, where the sanitizers allow that:
        it starts in a tenth of the time.
      **kwargs: as in cc_binary.
    """
    native.cc_binary(
        name = name,
        linkopts = linkopts + select({
            "//deploy/bazel:static": ["-static"],
            "//deploy/bazel:asan": ["-Wl,--as-needed"],
            "//deploy/bazel:tsan": ["-Wl,--as-needed"],
            "//conditions:default": ["-static" if starts_often else "-Wl,--as-needed"],
        }),
        linkstatic = True,
        **kwargs
    )
