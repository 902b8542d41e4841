// An image of which the last row was not copied is read to its end.
#include "fault.h"
__global__ void sum(cudaTextureObject_t t, float *out) {
  float total = 0;
  for (int y = 0; y < 4; y++) total += tex2D<float>(t, threadIdx.x + 0.5f, y + 0.5f);  // finds: uninit_global
  out[threadIdx.x] = total;
}
int main(int argc, char **argv) {
  float *out = filled<float>(16), host[4][16] = {};
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, 16, 4);
  cudaMemcpy2DToArray(array, 0, 0, host, 64, 64, is_clean(argc, argv) ? 4 : 3, cudaMemcpyHostToDevice);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc reading = {};
  cudaTextureObject_t t;
  cudaCreateTextureObject(&t, &resource, &reading, nullptr);
  sum<<<1, 16>>>(t, out);
  cudaDeviceSynchronize();
  cudaDestroyTextureObject(t);
  cudaFreeArray(array);
  cudaFree(out);
}
