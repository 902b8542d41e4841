// The first coordinate of a surface is in bytes, and here it is taken twice as far.
#include "fault.h"
__global__ void fill(cudaSurfaceObject_t s, int width, int each) {
  int x = threadIdx.x;
  if (x < width) surf2Dwrite(float(x), s, x * each, blockIdx.x);  // finds: fault
}
int main(int argc, char **argv) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  cudaMallocArray(&array, &format, 32, 4, cudaArraySurfaceLoadStore);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  cudaCreateSurfaceObject(&s, &resource);
  fill<<<4, 32>>>(s, 32, is_clean(argc, argv) ? 4 : 8);
  cudaDeviceSynchronize();
  cudaDestroySurfaceObject(s);
  cudaFreeArray(array);
}
