// ThreadSanitizer's hooks at a program's start: options, and suppressions.
// Debian's gRPC and its libraries are not built with the detector, so their
// internal synchronisation looks like a race. Our own code has no entry here.

extern "C" const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1:halt_on_error=1";
}

extern "C" const char* __tsan_default_suppressions() {
  return "race:libgrpc.so\n"
         "race:libgrpc++.so\n"
         "race:libgpr.so\n"
         "race:libabsl_\n"
         "race:libcrypto.so\n"
         "race:libssl.so\n"
         "race:libprotobuf.so\n"
         "race:grpc::\n"
         "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libcrypto.so\n"
         "called_from_lib:libssl.so\n";
}
