"""cc_binary for programs that we ship, and for those that tests start."""

_COPT = "//command_line_option:copt"
_LINKOPT = "//command_line_option:linkopt"
_MALLOC = "//command_line_option:custom_malloc"

def _plain(options):
    return [option for option in options if "sanitize" not in option]

def _drop_sanitizers(settings, _attr):
    sanitized = _plain(settings[_COPT]) != settings[_COPT]
    return {
        _COPT: _plain(settings[_COPT]),
        _LINKOPT: _plain(settings[_LINKOPT]),
        _MALLOC: None if sanitized else settings[_MALLOC],
    }

_without_sanitizers = transition(
    implementation = _drop_sanitizers,
    inputs = [_COPT, _LINKOPT, _MALLOC],
    outputs = [_COPT, _LINKOPT, _MALLOC],
)

def _plain_program_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    built = ctx.file.program
    ctx.actions.run_shell(
        inputs = [built],
        outputs = [program],
        command = "cp -f %s %s" % (built.path, program.path),
    )
    return [DefaultInfo(executable = program)]

_plain_program = rule(
    implementation = _plain_program_impl,
    doc = "A program without sanitizers in builds that have them, too.",
    executable = True,
    attrs = {
        "program": attr.label(allow_single_file = True, cfg = _without_sanitizers),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)

def program(name, linkopts = [], starts_often = False, visibility = None, deps = [], **kwargs):
    """A cc_binary that links no shared library at all.

    Sixty of them take three quarters of the time of a start. Only builds with a
    sanitizer link shared ones, which these need.

    Args:
      name: of the program.
      linkopts: as in cc_binary.
      starts_often: whether tests start it by the thousand. It then has no
        sanitizer, whose start takes ten times as long as the work: tests of its
        parts have them.
      visibility: as in cc_binary.
      deps: as in cc_binary.
      **kwargs: as in cc_binary.
    """
    native.cc_binary(
        name = name + "_binary" if starts_often else name,
        linkopts = linkopts + select({
            "//deploy/bazel:sanitized": ["-static" if starts_often else "-Wl,--as-needed"],
            "//conditions:default": ["-static"],
        }),
        deps = deps + select({
            "//deploy/bazel:sanitized": [],
            "//conditions:default": ["@system//:archives"],
        }),
        linkstatic = True,
        visibility = None if starts_often else visibility,
        **kwargs
    )
    if starts_often:
        _plain_program(
            name = name,
            program = name + "_binary",
            visibility = visibility,
        )
