"""Inputs of fuzz tests, made of the recorded runs of the vendor's tool."""

def _capture_seeds_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run(
        executable = ctx.executable.writer,
        arguments = [ctx.file.captures.path, folder.path],
        inputs = [ctx.file.captures],
        outputs = [folder],
        mnemonic = "CaptureSeeds",
    )
    return [DefaultInfo(
        files = depset([folder]),
        runfiles = ctx.runfiles([folder]),
    )]

# A folder with a file for each different text; how many there are follows the
# records, so no list of them is kept.
capture_seeds = rule(
    implementation = _capture_seeds_impl,
    attrs = {
        "captures": attr.label(
            allow_single_file = [".jsonl"],
            mandatory = True,
        ),
        # Built like the tests, which spares building it twice.
        "writer": attr.label(
            cfg = "target",
            executable = True,
            mandatory = True,
        ),
    },
)
