// Textures of one, two and three dimensions: filters, address modes, formats, against formulas in double.
#include "check.h"
#include <cmath>
#include <cuda_fp16.h>

// The element of a row of n at i; -1 is the border.
static int inside(int i, int n, cudaTextureAddressMode mode) {
  switch (mode) {
    case cudaAddressModeClamp: return i < 0 ? 0 : i >= n ? n - 1 : i;
    case cudaAddressModeBorder: return i < 0 || i >= n ? -1 : i;
    case cudaAddressModeWrap: return ((i % n) + n) % n;
    default: {
      int j = ((i % (2 * n)) + 2 * n) % (2 * n);
      return j < n ? j : 2 * n - 1 - j;
    }
  }
}

struct Picture {
  int nx, ny, nz;
  std::vector<float> data;
  float at(int x, int y, int z) const { return x < 0 || y < 0 || z < 0 ? 0 : data[(z * ny + y) * nx + x]; }
};

// What stands at x, y, z in elements.
static double fetch(const Picture &p, const cudaTextureDesc &desc, double x, double y, double z) {
  const int n[3] = {p.nx, p.ny, p.nz};
  const double c[3] = {x, y, z};
  int low[3], high[3];
  double part[3];
  for (int d = 0; d < 3; d++) {
    cudaTextureAddressMode mode = desc.addressMode[d];
    if (!desc.normalizedCoords && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) mode = cudaAddressModeClamp;
    if (n[d] == 1) mode = cudaAddressModeClamp;
    if (desc.filterMode == cudaFilterModePoint) {
      low[d] = high[d] = inside(int(std::floor(c[d])), n[d], mode);
      part[d] = 0;
    } else {
      double from = c[d] - 0.5;
      part[d] = std::round((from - std::floor(from)) * 256) / 256;
      low[d] = inside(int(std::floor(from)), n[d], mode);
      high[d] = inside(int(std::floor(from)) + 1, n[d], mode);
    }
  }
  double sum = 0;
  for (int k = 0; k < 8; k++) {
    double w = (k & 1 ? part[0] : 1 - part[0]) * (k & 2 ? part[1] : 1 - part[1]) * (k & 4 ? part[2] : 1 - part[2]);
    sum += w * p.at(k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]);
  }
  return sum;
}

__global__ void read(cudaTextureObject_t t, int dims, const float3 *at, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 c = at[i];
  out[i] = dims == 1 ? tex1D<float>(t, c.x) : dims == 2 ? tex2D<float>(t, c.x, c.y) : tex3D<float>(t, c.x, c.y, c.z);
}

// A fraction that repeats.
static float next() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return (state >> 8) / float(1 << 24);
}

static void dimensions(int dims, int nx, int ny, int nz) {
  Picture p{nx, ny, nz, {}};
  for (int i = 0; i < nx * ny * nz; i++) p.data.push_back(8 * next() - 4);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  if (dims == 3) {
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(nx, ny, nz)));
  } else {
    OK(cudaMallocArray(&array, &format, nx, dims == 1 ? 0 : ny));
  }
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(p.data.data(), nx * sizeof(float), nx, ny);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(nx, ny, nz);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  const int n = 300;
  float3 *at;
  float *out;
  OK(cudaMallocManaged(&at, n * sizeof(float3)));
  OK(cudaMallocManaged(&out, n * sizeof(float)));
  for (int filter = 0; filter < 2; filter++)
    for (int normalized = 0; normalized < 2; normalized++)
      for (int mode = 0; mode < 4; mode++) {
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc desc = {};
        for (auto &one : desc.addressMode) one = cudaTextureAddressMode(mode);
        desc.filterMode = cudaTextureFilterMode(filter);
        desc.normalizedCoords = normalized;
        cudaTextureObject_t t;
        OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
        for (int i = 0; i < n; i++) {
          at[i] = make_float3(nx * (3 * next() - 1), ny * (3 * next() - 1), nz * (3 * next() - 1));
          if (normalized) at[i] = make_float3(at[i].x / nx, at[i].y / ny, at[i].z / nz);
        }
        read<<<(n + 63) / 64, 64>>>(t, dims, at, out, n);
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < n; i++) {
          double s = normalized ? nx : 1, u = normalized ? ny : 1, v = normalized ? nz : 1;
          double x = at[i].x * s, y = dims < 2 ? 0.5 : at[i].y * u, z = dims < 3 ? 0.5 : at[i].z * v;
          EXPECT(std::fabs(out[i] - fetch(p, desc, x, y, z)) < 1e-5);
        }
        cudaTextureDesc again;
        OK(cudaGetTextureObjectTextureDesc(&again, t));
        EXPECT(memcmp(&again, &desc, sizeof desc) == 0);
        OK(cudaDestroyTextureObject(t));
      }
  OK(cudaFree(at));
  OK(cudaFree(out));
  OK(cudaFreeArray(array));
}

template <typename T>
__global__ void pixels(cudaTextureObject_t t, T *out) {
  out[threadIdx.x] = tex2D<T>(t, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

// Elements come as they are, or as fractions.
template <typename T, typename F>
static void formats(const T (&host)[8], const F (&want)[8], cudaTextureReadMode mode) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<T>(), got;
  cudaArray_t array;
  OK(cudaMallocArray(&array, &format, 4, 2));
  OK(cudaGetChannelDesc(&got, array));
  EXPECT(memcmp(&got, &format, sizeof got) == 0);
  OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof(T) * 4, sizeof(T) * 4, 2, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc = {};
  desc.addressMode[0] = desc.addressMode[1] = cudaAddressModeClamp;
  desc.readMode = mode;
  cudaTextureObject_t t;
  OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
  F *out;
  OK(cudaMallocManaged(&out, sizeof want));
  pixels<<<1, 8>>>(t, out);
  OK(cudaDeviceSynchronize());
  EXPECT(memcmp(out, want, sizeof want) == 0);
  OK(cudaFree(out));
  OK(cudaDestroyTextureObject(t));
  OK(cudaFreeArray(array));
}

int main() {
  dimensions(1, 13, 1, 1);
  dimensions(2, 9, 7, 1);
  dimensions(3, 5, 4, 6);
  const unsigned char bytes[8] = {0, 1, 127, 128, 200, 254, 255, 51};
  float fractions[8];
  for (int i = 0; i < 8; i++) fractions[i] = float(bytes[i] / 255.0);
  formats(bytes, bytes, cudaReadModeElementType);
  formats(bytes, fractions, cudaReadModeNormalizedFloat);
  const short shorts[8] = {-32768, -32767, -1, 0, 1, 2, 300, 32767};
  for (int i = 0; i < 8; i++) fractions[i] = float(std::fmax(shorts[i] / 32767.0, -1.0));
  formats(shorts, shorts, cudaReadModeElementType);
  formats(shorts, fractions, cudaReadModeNormalizedFloat);
  const int4 ints[8] = {{1, -2, 3, -4}, {5, 6, 7, 8}, {0, 0, 0, 1}, {-1, -1, -1, -1}, {9, 8, 7, 6}, {1, 2, 3, 4}, {4, 3, 2, 1}, {0, 1, 0, 1}};
  formats(ints, ints, cudaReadModeElementType);
  const float2 floats[8] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {-1, -2}, {-3, -4}, {-5, -6}, {-7, -8}};
  formats(floats, floats, cudaReadModeElementType);

  // What can not be.
  cudaChannelFormatDesc wrong = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t array;
  IS(cudaMallocArray(&array, &wrong, 4, 4), cudaErrorInvalidChannelDescriptor);
  cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>();
  IS(cudaMallocArray(&array, &whole, 0, 4), cudaErrorInvalidValue);
  OK(cudaMallocArray(&array, &whole, 4, 4));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc = {};
  desc.filterMode = cudaFilterModeLinear;
  cudaTextureObject_t t;
  IS(cudaCreateTextureObject(&t, &resource, &desc, nullptr), cudaErrorInvalidValue);
  desc.filterMode = cudaFilterModePoint;
  desc.readMode = cudaReadModeNormalizedFloat;
  IS(cudaCreateTextureObject(&t, &resource, &desc, nullptr), cudaErrorInvalidValue);
  OK(cudaFreeArray(array));
  puts("right");
}
