// Copies and fills of rows and boxes.
#include "check.h"

__global__ void twice(float *x, size_t pitch, int width, int height) {
  int i = threadIdx.x, j = blockIdx.x;
  if (i < width && j < height) {
    float *row = reinterpret_cast<float *>(reinterpret_cast<char *>(x) + j * pitch);
    row[i] *= 2;
  }
}

int main() {
  const int width = 37, height = 11;
  float host[height][40], back[height][width];
  for (int j = 0; j < height; j++)
    for (int i = 0; i < 40; i++) host[j][i] = j * 100 + i;
  float *x;
  size_t pitch;
  OK(cudaMallocPitch(&x, &pitch, width * 4, height));
  EXPECT(pitch >= width * 4 && pitch % 256 == 0);
  OK(cudaMemcpy2D(x, pitch, host, sizeof host[0], width * 4, height, cudaMemcpyHostToDevice));
  twice<<<height, 64>>>(x, pitch, width, height);
  OK(cudaMemcpy2DAsync(back, sizeof back[0], x, pitch, width * 4, height, cudaMemcpyDeviceToHost, 0));
  OK(cudaDeviceSynchronize());
  for (int j = 0; j < height; j++)
    for (int i = 0; i < width; i++) EXPECT(back[j][i] == 2 * (j * 100 + i));
  OK(cudaMemset2D(x, pitch, 0, 5 * 4, 3));
  OK(cudaMemcpy2D(back, sizeof back[0], x, pitch, width * 4, height, cudaMemcpyDefault));
  EXPECT(back[2][4] == 0 && back[2][5] == 410 && back[3][4] == 608);
  IS(cudaMemcpy2D(back, 8, x, pitch, width * 4, height, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
  IS(cudaMemcpy(back, x, 4, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);

  // A box of 6 by 4 by 3 bytes.
  cudaExtent extent = make_cudaExtent(6, 4, 3);
  cudaPitchedPtr box;
  OK(cudaMalloc3D(&box, extent));
  unsigned char cube[3][4][6], got[2][2][3];
  for (int i = 0; i < 72; i++) cube[0][0][i] = i;
  cudaMemcpy3DParms parms = {};
  parms.srcPtr = make_cudaPitchedPtr(cube, 6, 6, 4);
  parms.dstPtr = box;
  parms.extent = extent;
  parms.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&parms));
  OK(cudaMemset3D(box, 255, make_cudaExtent(2, 1, 2)));
  parms = {};
  parms.srcPtr = box;
  parms.srcPos = make_cudaPos(1, 0, 1);
  parms.dstPtr = make_cudaPitchedPtr(got, 3, 3, 2);
  parms.extent = make_cudaExtent(3, 2, 2);
  parms.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&parms));
  for (int z = 0; z < 2; z++)
    for (int y = 0; y < 2; y++)
      for (int i = 0; i < 3; i++) EXPECT(got[z][y][i] == (z == 0 && y == 0 && i == 0 ? 255 : cube[z + 1][y][i + 1]));
  OK(cudaFree(box.ptr));
  OK(cudaFree(x));
  puts("right");
}
