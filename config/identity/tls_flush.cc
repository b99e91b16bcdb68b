// Replaces a function of gRPC (core/tsi/transport_security.h). gRPC 1.51
// encrypts a frame of TLS at a time. If a write fills its frames to the last
// byte, gRPC's flush returns without setting *size: that many bytes of freed
// memory go out unencrypted, and the connection breaks. This hits one size of a
// report in 4,000, and a cluster's reports often have the same size.
#include <dlfcn.h>

#include <algorithm>

struct tsi_frame_protector;

#define CLUSTERD_FLUSH                    \
  "_Z33tsi_frame_protector_protect_flush" \
  "P19tsi_frame_protectorPhPmS2_"
using Flush = int(tsi_frame_protector*, unsigned char*, size_t*, size_t*);

// gRPC's own if its archive is linked, with --wrap.
Flush RealFlush __asm__("__real_" CLUSTERD_FLUSH) __attribute__((weak));
Flush WrappedFlush __asm__("__wrap_" CLUSTERD_FLUSH);
// Found before that of a shared gRPC; an archive has a stronger one.
Flush SharedFlush __asm__(CLUSTERD_FLUSH)
    __attribute__((weak, alias("__wrap_" CLUSTERD_FLUSH)));

int WrappedFlush(tsi_frame_protector* self, unsigned char* frames, size_t* size,
                 size_t* pending) {
  static const auto real =
      RealFlush != nullptr
          ? &RealFlush
          : reinterpret_cast<Flush*>(dlsym(RTLD_NEXT, CLUSTERD_FLUSH));
  // A flush that has something to do overwrites these.
  const size_t asked = *size;
  unsigned char* const end = frames + std::min<size_t>(asked, 16);
  std::fill(frames, end, 0);
  const int result = real(self, frames, size, pending);
  const bool is_untouched = *size == asked && *pending == 0 &&
                            std::all_of(frames, end, [](auto b) { return !b; });
  if (is_untouched) *size = 0;
  return result;
}
