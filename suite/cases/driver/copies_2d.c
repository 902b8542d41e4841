// Rows with a pitch: copied between host and card, within the card, a part of them; filled.
#include "driver.h"

int main(void) {
  enum { WIDTH = 50, HEIGHT = 20 };
  begin();
  CUdeviceptr x, y;
  size_t pitch, other;
  OK(cuMemAllocPitch_v2(&x, &pitch, WIDTH, HEIGHT, 4));
  OK(cuMemAllocPitch_v2(&y, &other, WIDTH, HEIGHT, 16));
  EXPECT(pitch >= WIDTH && pitch % 256 == 0 && other == pitch);
  OK(cuMemsetD2D8_v2(x, pitch, 1, WIDTH, HEIGHT));
  OK(cuMemsetD2D8_v2(y, pitch, 2, WIDTH, HEIGHT));

  unsigned char from[HEIGHT][64], to[HEIGHT][WIDTH];
  for (int i = 0; i < HEIGHT; i++)
    for (int j = 0; j < 64; j++) from[i][j] = 3 * i + j;
  // Rows 4 to 13 and columns 8 to 37 of the host's, to the same place.
  CUcopy2D copy = {.src_x = 8, .src_y = 4, .src_type = HOST, .src_host = from, .src_pitch = 64, .dst_x = 8, .dst_y = 4,
                   .dst_type = DEVICE, .dst_device = x, .dst_pitch = pitch, .width = 30, .height = 10};
  OK(cuMemcpy2D_v2(&copy));
  copy = (CUcopy2D){.src_type = DEVICE, .src_device = x, .src_pitch = pitch, .dst_type = DEVICE, .dst_device = y,
                    .dst_pitch = other, .width = 40, .height = HEIGHT};
  OK(cuMemcpy2DUnaligned_v2(&copy));
  copy = (CUcopy2D){.src_type = UNIFIED, .src_device = y, .src_pitch = other, .dst_type = HOST, .dst_host = to,
                    .dst_pitch = WIDTH, .width = WIDTH, .height = HEIGHT};
  OK(cuMemcpy2DAsync_v2(&copy, NULL));
  OK(cuCtxSynchronize());
  for (int i = 0; i < HEIGHT; i++)
    for (int j = 0; j < WIDTH; j++) {
      int inside = i >= 4 && i < 14 && j >= 8 && j < 38;
      WANT(to[i][j], inside ? 3 * i + j : j < 40 ? 1 : 2);
    }

  OK(cuMemsetD2D16_v2(x, pitch, 0xabcd, WIDTH / 2, 2));
  OK(cuMemsetD2D32_v2(x + 2 * pitch, pitch, 0x01020304, WIDTH / 4, 2));
  WANT(word(x + pitch + 44), 0xabcdabcd);
  WANT(word(x + 3 * pitch + 44), 0x01020304);
  WANT(word(x + 2 * pitch), 0x01020304);
  copy.width = 300; // more than a row of the source has
  IS(cuMemcpy2D_v2(&copy), 1);
  OK(cuMemFree_v2(x));
  OK(cuMemFree_v2(y));
  puts("right");
}
