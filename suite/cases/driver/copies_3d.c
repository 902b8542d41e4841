// Boxes: from the host into an array of three dimensions, from there to the card and back, parts of them.
#include "driver.h"

enum { W = 6, H = 5, D = 4 };

int main(void) {
  begin();
  unsigned from[D][H][W], to[D][H][W];
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) from[z][y][x] = 100 * z + 10 * y + x;
  CUarrayShape3D shape = {W, H, D, 3, 1, 0}, asked; // 32-bit unsigned
  CUarray array;
  OK(cuArray3DCreate_v2(&array, &shape));
  OK(cuArray3DGetDescriptor_v2(&asked, array));
  EXPECT(asked.width == W && asked.height == H && asked.depth == D && asked.format == 3 && asked.channels == 1);

  CUcopy3D copy = {.src_type = HOST, .src_host = from, .src_pitch = 4 * W, .src_height = H, .dst_type = ARRAY,
                   .dst_array = array, .width = 4 * W, .height = H, .depth = D};
  OK(cuMemcpy3D_v2(&copy));
  CUdeviceptr linear = zeros(sizeof from);
  // A box of 3 x 2 x 2 from (1, 2, 1), to (2, 0, 2) of memory that has the same shape.
  copy = (CUcopy3D){.src_x = 4, .src_y = 2, .src_z = 1, .src_type = ARRAY, .src_array = array, .dst_x = 8, .dst_z = 2,
                    .dst_type = DEVICE, .dst_device = linear, .dst_pitch = 4 * W, .dst_height = H, .width = 12,
                    .height = 2, .depth = 2};
  OK(cuMemcpy3DAsync_v2(&copy, NULL));
  OK(cuCtxSynchronize());
  OK(cuMemcpyDtoH_v2(to, linear, sizeof to));
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        int inside = x >= 2 && x < 5 && y < 2 && z >= 2;
        WANT(to[z][y][x], inside ? from[z - 1][y + 2][x - 1] : 0);
      }

  memset(to, 0, sizeof to);
  copy = (CUcopy3D){.src_type = ARRAY, .src_array = array, .dst_type = HOST, .dst_host = to, .dst_pitch = 4 * W,
                    .dst_height = H, .width = 4 * W, .height = H, .depth = D};
  OK(cuMemcpy3D_v2(&copy));
  EXPECT(memcmp(to, from, sizeof to) == 0);
  copy.depth = D + 1;
  IS(cuMemcpy3D_v2(&copy), 1);
  OK(cuMemFree_v2(linear));
  OK(cuArrayDestroy(array));

  // A row.
  CUarrayShape row = {W, 0, 3, 1}, row_asked;
  row.format = 3;
  OK(cuArrayCreate_v2(&array, &row));
  OK(cuArrayGetDescriptor_v2(&row_asked, array));
  WANT(row_asked.height, 0);
  OK(cuMemcpyHtoA_v2(array, 8, from[1][1], 16));
  unsigned back[4];
  OK(cuMemcpyAtoH_v2(back, array, 12, 12));
  for (int i = 0; i < 3; i++) WANT(back[i], 111 + i);
  OK(cuArrayDestroy(array));
  puts("right");
}
