// What is known of an address: whose it is, of what kind, where its block begins.
#include "driver.h"

enum { CONTEXT = 1, KIND, ON_DEVICE, ON_HOST, SYNC = 6, ID, MANAGED, ORDINAL, START = 11, SIZE, MAPPED };

int main(void) {
  CUcontext context = begin(), of;
  CUdeviceptr x = zeros(1000), y = zeros(1000), start;
  size_t bytes;
  OK(cuMemGetAddressRange_v2(&start, &bytes, x + 999));
  EXPECT(start == x && bytes == 1000);
  IS(cuMemGetAddressRange_v2(&start, &bytes, 16), 500);

  unsigned kind;
  unsigned long long id, other;
  OK(cuPointerGetAttribute(&of, CONTEXT, x + 4));
  EXPECT(of == context);
  OK(cuPointerGetAttribute(&kind, KIND, x + 4));
  WANT(kind, DEVICE);
  OK(cuPointerGetAttribute(&start, ON_DEVICE, x + 4));
  EXPECT(start == x + 4);
  OK(cuPointerGetAttribute(&start, START, x + 4));
  EXPECT(start == x);
  OK(cuPointerGetAttribute(&bytes, SIZE, x + 4));
  WANT(bytes, 1000);
  OK(cuPointerGetAttribute(&id, ID, x));
  OK(cuPointerGetAttribute(&other, ID, y));
  EXPECT(id != other);
  int on = 1;
  OK(cuPointerSetAttribute(&on, SYNC, x));

  void *pinned, *host;
  OK(cuMemAllocHost_v2(&pinned, 256));
  int attributes[] = {KIND, ON_HOST, ORDINAL, MANAGED};
  int ordinal = -9;
  unsigned managed = 9;
  void *values[] = {&kind, &host, &ordinal, &managed};
  OK(cuPointerGetAttributes(4, attributes, values, (uintptr_t)pinned + 8));
  WANT(kind, HOST);
  EXPECT(host == (char *)pinned + 8);
  WANT(ordinal, 0);
  WANT(managed & 1, 0);

  // Of an address of the program's own one call says that it is none, the other 0 for each.
  int mine;
  IS(cuPointerGetAttribute(&kind, KIND, (uintptr_t)&mine), 1);
  kind = 7;
  OK(cuPointerGetAttributes(4, attributes, values, (uintptr_t)&mine));
  WANT(kind, 0);
  WANT(ordinal, -2);
  OK(cuMemFreeHost(pinned));
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  IS(cuPointerGetAttribute(&kind, KIND, x), 1);
  IS(cuMemFree_v2(x), 1);
  puts("right");
}
