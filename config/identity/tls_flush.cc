// Stands in front of a function of gRPC (core/tsi/transport_security.h). gRPC
// 1.51 collects what it encrypts in a buffer of one TLS frame. Where a write
// fills such buffers to the last byte, its flush has nothing to do and returns
// without setting *size: as many bytes of freed memory then go out unencrypted,
// and the connection breaks. One size in 4,000 is such a write, so a check of
// some clusters would fail each time.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>

struct tsi_frame_protector;

#define CLUSTERD_FLUSH                    \
  "_Z33tsi_frame_protector_protect_flush" \
  "P19tsi_frame_protectorPhPmS2_"
using Flush = int(tsi_frame_protector*, unsigned char*, size_t*, size_t*);

// gRPC's own where its archive is linked, with --wrap.
Flush RealFlush __asm__("__real_" CLUSTERD_FLUSH) __attribute__((weak));
Flush WrappedFlush __asm__("__wrap_" CLUSTERD_FLUSH);
// Called in place of that of a shared gRPC; an archive has a stronger one.
Flush SharedFlush __asm__(CLUSTERD_FLUSH) __attribute__((weak));

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

int SharedFlush(tsi_frame_protector* self, unsigned char* frames, size_t* size,
                size_t* pending) {
  return WrappedFlush(self, frames, size, pending);
}
