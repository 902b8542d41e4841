// Fills of bytes, half-words and words, at the edges of a block and past them; how much memory there is.
#include "driver.h"

int main(void) {
  begin();
  unsigned char got[64];
  CUdeviceptr x = zeros(64), y;
  OK(cuMemsetD8_v2(x + 1, 0x11, 5));
  OK(cuMemsetD16_v2(x + 8, 0x2233, 3));
  OK(cuMemsetD32_v2(x + 16, 0x44556677, 2));
  OK(cuMemsetD8Async(x + 32, 0x88, 1, NULL));
  OK(cuMemsetD16Async(x + 34, 0x99aa, 1, NULL));
  OK(cuMemsetD32Async(x + 60, 0xbbccddee, 1, NULL));
  OK(cuMemsetD8_v2(x, 0xff, 0));
  OK(cuMemcpyDtoH_v2(got, x, 64));
  unsigned char want[64] = {0};
  memset(want + 1, 0x11, 5);
  for (int i = 0; i < 3; i++) want[8 + 2 * i] = 0x33, want[9 + 2 * i] = 0x22;
  for (int i = 0; i < 2; i++) memcpy(want + 16 + 4 * i, "\x77\x66\x55\x44", 4);
  memcpy(want + 32, "\x88\x00\xaa\x99", 4);
  memcpy(want + 60, "\xee\xdd\xcc\xbb", 4);
  for (int i = 0; i < 64; i++) WANT(got[i], want[i]);
  IS(cuMemsetD16_v2(x + 1, 1, 1), 1);
  IS(cuMemsetD32_v2(x + 2, 1, 1), 1);

  size_t room, before, after, whole;
  OK(cuMemGetInfo_v2(&before, &room));
  OK(cuDeviceTotalMem_v2(&whole, 0));
  EXPECT(before <= room && room <= whole);
  OK(cuMemAlloc_v2(&y, 32 << 20));
  OK(cuMemGetInfo_v2(&after, &room));
  EXPECT(before - after >= 32 << 20);
  IS(cuMemAlloc_v2(&y + 0, whole + 1), 2);
  OK(cuMemFree_v2(y));
  OK(cuMemGetInfo_v2(&after, &room));
  WANT(after, before);
  IS(cuMemAlloc_v2(&y, 0), 1);
  OK(cuMemFree_v2(0)); // nothing to free
  OK(cuMemFree_v2(x));
  puts("right");
}
