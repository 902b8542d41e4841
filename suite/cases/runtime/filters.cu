// Textures over memory that is no array: lists, pitched images, and a filter of one.
#include "check.h"
#include <cmath>

const int W = 67, H = 41, R = 2;

__global__ void list(cudaTextureObject_t t, const int *order, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float4>(t, order[i]);
}

// Weights of a row or a column, from the distance.
__constant__ float weights[2 * R + 1];

__global__ void blur(cudaTextureObject_t image, float *out, bool along) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= W) return;
  float sum = 0;
  for (int d = -R; d <= R; d++) {
    float at_x = x + 0.5f + (along ? d : 0), at_y = y + 0.5f + (along ? 0 : d);
    sum += weights[d + R] * tex2D<float>(image, at_x, at_y);
  }
  out[y * W + x] = sum;
}

__global__ void half_size(cudaTextureObject_t image, float *out) {
  int x = threadIdx.x, y = blockIdx.x;
  // In the middle of four.
  out[y * (W / 2) + x] = tex2D<float>(image, 2 * x + 1, 2 * y + 1);
}

static cudaTextureObject_t pitched(void *data, size_t pitch, cudaChannelFormatDesc format, bool fractions) {
  cudaResourceDesc resource = {}, again;
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = data;
  resource.res.pitch2D.desc = format;
  resource.res.pitch2D.width = W;
  resource.res.pitch2D.height = H;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureDesc desc = {};
  desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeClamp;
  desc.filterMode = cudaFilterModeLinear;
  desc.readMode = fractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  cudaTextureObject_t t;
  OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
  OK(cudaGetTextureObjectResourceDesc(&again, t));
  EXPECT(again.res.pitch2D.pitchInBytes == pitch && again.res.pitch2D.desc.x == format.x);
  return t;
}

int main() {
  // A list, read in another order and behind its end.
  const int n = 100;
  float4 *data, *out;
  int *order;
  OK(cudaMalloc(&data, n * sizeof(float4)));
  OK(cudaMallocManaged(&out, 2 * n * sizeof(float4)));
  OK(cudaMallocManaged(&order, 2 * n * sizeof(int)));
  std::vector<float4> host(n);
  for (int i = 0; i < n; i++) host[i] = make_float4(i, -i, i * 0.5f, 1);
  OK(cudaMemcpy(data, host.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
  for (int i = 0; i < 2 * n; i++) order[i] = i * 7 % (2 * n) - n / 2;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<float4>();
  resource.res.linear.sizeInBytes = n * sizeof(float4);
  cudaTextureDesc desc = {};
  cudaTextureObject_t t;
  OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
  list<<<7, 32>>>(t, order, out, 2 * n);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 2 * n; i++) {
    bool inside = order[i] >= 0 && order[i] < n;
    float4 want = inside ? host[order[i]] : make_float4(0, 0, 0, 0);
    EXPECT(memcmp(&out[i], &want, sizeof want) == 0);
  }
  OK(cudaDestroyTextureObject(t));
  resource.res.linear.devPtr = reinterpret_cast<char *>(data) + 16;
  resource.res.linear.sizeInBytes = 160;
  IS(cudaCreateTextureObject(&t, &resource, &desc, nullptr), cudaErrorInvalidValue);

  // An image of bytes is smoothed along rows, then along columns.
  std::vector<unsigned char> image(W * H);
  for (int i = 0; i < W * H; i++) image[i] = (i * 37 + i / W * 11) % 256;
  unsigned char *bytes;
  float *rows, *columns, *small;
  size_t pitch, row_pitch;
  OK(cudaMallocPitch(&bytes, &pitch, W, H));
  OK(cudaMallocPitch(&rows, &row_pitch, W * 4, H));
  OK(cudaMallocManaged(&columns, W * H * 4));
  OK(cudaMallocManaged(&small, W * H));
  OK(cudaMemcpy2D(bytes, pitch, image.data(), W, W, H, cudaMemcpyHostToDevice));
  const float host_weights[5] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
  OK(cudaMemcpyToSymbol(weights, host_weights, sizeof host_weights));
  cudaTextureObject_t first = pitched(bytes, pitch, cudaCreateChannelDesc<unsigned char>(), true);
  dim3 grid((W + 31) / 32, H);
  blur<<<grid, 32>>>(first, columns, true);
  OK(cudaMemcpy2D(rows, row_pitch, columns, W * 4, W * 4, H, cudaMemcpyDeviceToDevice));
  cudaTextureObject_t second = pitched(rows, row_pitch, cudaCreateChannelDesc<float>(), false);
  blur<<<grid, 32>>>(second, columns, false);
  half_size<<<H / 2, W / 2>>>(first, small);
  OK(cudaDeviceSynchronize());
  auto at = [&](int x, int y) {
    x = x < 0 ? 0 : x >= W ? W - 1 : x;
    y = y < 0 ? 0 : y >= H ? H - 1 : y;
    return image[y * W + x] / 255.0;
  };
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      double want = 0;
      for (int j = -R; j <= R; j++)
        for (int i = -R; i <= R; i++) want += double(host_weights[i + R]) * host_weights[j + R] * at(x + i, y + j);
      EXPECT(std::fabs(columns[y * W + x] - want) < 1e-5);
    }
  for (int y = 0; y < H / 2; y++)
    for (int x = 0; x < W / 2; x++) {
      double want = (at(2 * x, 2 * y) + at(2 * x + 1, 2 * y) + at(2 * x, 2 * y + 1) + at(2 * x + 1, 2 * y + 1)) / 4;
      EXPECT(std::fabs(small[y * (W / 2) + x] - want) < 1e-6);
    }
  OK(cudaDestroyTextureObject(first));
  OK(cudaDestroyTextureObject(second));
  for (void *memory : {static_cast<void *>(data), static_cast<void *>(out), static_cast<void *>(order), static_cast<void *>(bytes),
                       static_cast<void *>(rows), static_cast<void *>(columns), static_cast<void *>(small)})
    OK(cudaFree(memory));
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.maxTexture2D[1] == 65536 && properties.textureAlignment == 512 && properties.maxSurface3D[2] == 16384);
  EXPECT(properties.surfaceAlignment == 512 && properties.maxSurfaceCubemapLayered[1] == 2046);
  puts("right");
}
