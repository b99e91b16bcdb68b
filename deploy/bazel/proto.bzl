"""C++ code from .proto files with the system's protoc."""

def proto_messages(name, services = [], messages = [], imports = [], deps = [], visibility = None):
    """One cc_library for all .proto files of a package.

    Args:
      name: the library.
      services: .proto files that also define gRPC services.
      messages: .proto files with messages only.
      imports: .proto files that these import and another library compiles.
      deps: the libraries that compile the imports.
      visibility: who may use it.
    """
    sources = []
    headers = []
    for proto in messages + services:
        stem = proto[:-len(".proto")]
        outs = [stem + ".pb.h", stem + ".pb.cc"]
        options = "--cpp_out=$(GENDIR)"
        if proto in services:
            outs += [stem + ".grpc.pb.h", stem + ".grpc.pb.cc"]
            options += " --grpc_out=$(GENDIR)" + \
                       " --plugin=protoc-gen-grpc=$(execpath @system//:grpc_cpp_plugin)"
        native.genrule(
            name = stem + "_generated",
            srcs = messages + services + imports,
            outs = outs,
            tools = [
                "@system//:grpc_cpp_plugin",
                "@system//:protoc",
            ],
            cmd = "$(execpath @system//:protoc) -I. %s $(location %s)" % (options, proto),
        )
        headers += [out for out in outs if out.endswith(".h")]
        sources += [out for out in outs if out.endswith(".cc")]
    native.cc_library(
        name = name,
        srcs = sources,
        hdrs = headers,
        copts = ["-w"],
        visibility = visibility,
        deps = deps + ["@system//:grpc" if services else "@system//:protobuf"],
    )
