"""One library and one test binary for a folder."""

# A larger number keeps one core busy with the last source.
_FILES_IN_A_SOURCE = 8

# Dependencies of every test: GoogleTest, and the common limit for waits.
_WAIT = "//tests/support/wait"
_TEST_DEPS = [
    _WAIT,
    "@system//:gtest_main",
]

# What the code of all parts is written in.
_COMMON_DEPS = [
    "//config/values",
    "//config/words",
    "//proto:messages",
    "@system//:absl",
    "@system//:protobuf",
]

# The parts: who may use their rooms, and what their tests have.
_PARTS = {
    "client": struct(users = "//:client_users", test_deps = []),
    "config": struct(users = "//:code", test_deps = []),
    "daemon/agent": struct(users = "//:agent_users", test_deps = []),
    "daemon/controller": struct(users = "//:controller_users", test_deps = ["//tests/support/process"]),
    "daemon/host": struct(users = "//:host_users", test_deps = ["//tests/support/host"]),
    "tests": struct(users = "//:code", test_deps = []),
}

def _part():
    for folder, part in _PARTS.items():
        if (native.package_name() + "/").startswith(folder + "/"):
            return part
    return struct(users = "//visibility:private", test_deps = [])

def _joined(name, files, testonly, namespace):
    """Joins files of a room to a few sources.

    Most of the time that a file takes to compile goes into the headers, which
    the files of a folder share. Each file's unnamed namespace gets the file's
    name, so that equal names in two files stay two things. A test has all of
    its code in that namespace; what a library has outside sees into it.

    Args:
      name: of the sources, to which a number is added.
      files: what is joined.
      testonly: whether it is for tests alone.
      namespace: what the unnamed namespaces become, "namespace" or "inline
        namespace".

    Returns:
      The labels of the joined sources.
    """
    count = (len(files) + _FILES_IN_A_SOURCE - 1) // _FILES_IN_A_SOURCE
    sources = []
    for at in range(count):
        source = "%s_%d.cc" % (name, at)
        native.genrule(
            name = source[:-len(".cc")],
            testonly = testonly,
            srcs = files[at::count],
            outs = [source],
            cmd = """
                for file in $(SRCS); do
                  echo "#line 1 \\"$$file\\""
                  sed "s/^namespace {$$/%s $$(basename $$file .cc) {/" $$file
                done > $@
            """ % namespace,
        )
        sources.append(source)
    return sources

def room(
        name = None,
        deps = [],
        visibility = None,
        testonly = False,
        bare = False,
        exclude = [],
        folders = [],
        data = [],
        test_deps = [],
        test_data = [],
        test_linkopts = [],
        test_size = "small",
        test_shards = None,
        tests_run_by = [],
        more_tests = [],
        tests_apart = {}):
    """Declares the folder's library, named like the folder, and its tests.

    The library has every .h and .cc beside the BUILD file, the test
    `<folder>_test` every *_test.cc. Whoever adds a file edits no list. Tests
    are always compiled joined, the library where everything is built anyway
    (`--config=joined`): file by file a change costs less, and from nothing a
    build costs three times as much.

    Args:
      name: of the library where it is not the folder's.
      deps: of the library, beside the values, words and messages that all code
        has, and for tests GoogleTest.
      visibility: who may use it, if not the users of its part (_PARTS).
      testonly: whether it is for tests alone.
      bare: whether it is below the values, words and messages, or goes without
        them, and without what the tests of its part have.
      exclude: files with a target of their own: programs, and what not
        everybody who sees the folder may include.
      folders: below it, without a BUILD file of their own: what would make
        this one too full to be found through.
      data: files that users of the library need when they run.
      test_deps: what the tests need beside the library, its deps, and what the
        tests of its part have.
      test_data: files that the tests read.
      test_linkopts: as in cc_test.
      test_size: of the test binary, as in cc_test.
      test_shards: in how many processes the cases run.
      tests_run_by: packages whose room runs these tests, which are too few for
        a program of their own.
      more_tests: tests of other rooms that have this one in `tests_run_by`.
      tests_apart: name of a test binary -> its attributes, with `srcs`: tests
        that cannot share a process or a sandbox with the others.
    """
    name = name or native.package_name().split("/")[-1]
    apart = [src for test in tests_apart.values() for src in test["srcs"]]
    places = [""] + [folder + "/" for folder in folders]
    tests = native.glob([at + "*_test.cc" for at in places], exclude = exclude + apart)
    srcs = native.glob([at + "*.cc" for at in places], exclude = exclude + [at + "*_test.cc" for at in places])
    hdrs = native.glob([at + "*.h" for at in places], exclude = exclude)
    deps = deps + (["@system//:absl"] if bare else _COMMON_DEPS)
    if testonly:
        deps = deps + ["@system//:gtest"]
    if testonly and native.package_name() != "tests/support/wait":
        library_deps = deps + [_WAIT]
    else:
        library_deps = deps
    test_deps = test_deps + ([] if bare else _part().test_deps)
    library = []
    if srcs or hdrs:
        library = [":" + name]
        native.cc_library(
            name = name,
            testonly = testonly,
            srcs = select({
                "//deploy/bazel:joined": _joined(name + "_sources", srcs, testonly, "inline namespace"),
                "//conditions:default": srcs,
            }),
            hdrs = hdrs,
            data = data,
            visibility = visibility or [_part().users],
            deps = library_deps,
        )
    if tests_run_by:
        native.filegroup(
            name = "tests",
            srcs = tests,
            visibility = [package + ":__pkg__" for package in tests_run_by],
        )
    elif tests:
        native.cc_test(
            name = name + "_test",
            size = test_size,
            srcs = _joined(name + "_tests", tests + more_tests, True, "namespace"),
            data = test_data,
            linkopts = test_linkopts,
            shard_count = test_shards,
            deps = library + deps + test_deps + _TEST_DEPS,
        )
    for test, attributes in tests_apart.items():
        native.cc_test(
            name = test,
            size = attributes.get("size", "small"),
            srcs = attributes["srcs"],
            data = attributes.get("data", []),
            shard_count = attributes.get("shard_count"),
            tags = attributes.get("tags", []),
            deps = library + deps + test_deps + attributes.get("deps", []) + _TEST_DEPS,
        )
