// Layers, cubes, gathers and levels.
#include "check.h"
#include <cmath>

const int N = 8, LAYERS = 3;

__global__ void layers(cudaTextureObject_t lines, cudaTextureObject_t planes, float *out) {
  int i = threadIdx.x, layer = blockIdx.x;
  out[(layer * 2) * N + i] = tex1DLayered<float>(lines, i + 0.5f, layer);
  out[(layer * 2 + 1) * N + i] = tex2DLayered<float>(planes, i + 0.5f, 2.5f, layer);
}

__global__ void cube(cudaTextureObject_t one, cudaTextureObject_t many, float *out) {
  const float3 to[6] = {{1, .3f, -.2f}, {-1, .3f, -.2f}, {.3f, 1, -.2f}, {.3f, -1, -.2f}, {.3f, -.2f, 1}, {.3f, -.2f, -1}};
  float3 at = to[threadIdx.x];
  out[threadIdx.x] = texCubemap<float>(one, at.x, at.y, at.z);
  out[6 + threadIdx.x] = texCubemapLayered<float>(many, 5 * at.x, 5 * at.y, 5 * at.z, 1);
}

__global__ void gather(cudaTextureObject_t t, float4 *out) {
  out[0] = tex2Dgather<float4>(t, 3.1f, 2.2f, 0);
  out[1] = tex2Dgather<float4>(t, 3.1f, 2.2f, 1);
}

__global__ void levels(cudaTextureObject_t t, float *out) {
  float lod = threadIdx.x * 0.5f;
  out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, lod);
  float step = exp2f(lod) / N;
  out[8 + threadIdx.x] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(step, 0), make_float2(0, step));
}

static cudaArray_t make(int nx, int ny, int nz, unsigned flags, cudaChannelFormatDesc format, const void *data) {
  cudaArray_t array;
  OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(nx, ny, nz), flags));
  cudaMemcpy3DParms copy = {};
  int rows = ny ? ny : 1;
  size_t element = (format.x + format.y + format.z + format.w) / 8;
  copy.srcPtr = make_cudaPitchedPtr(const_cast<void *>(data), nx * element, nx, rows);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(nx, rows, nz ? nz : 1);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  return array;
}

static cudaTextureObject_t object(cudaArray_t array, bool normalized) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc desc = {};
  for (auto &mode : desc.addressMode) mode = cudaAddressModeClamp;
  desc.normalizedCoords = normalized;
  cudaTextureObject_t t;
  OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
  return t;
}

int main() {
  std::vector<float> data(N * N * 12);
  for (size_t i = 0; i < data.size(); i++) data[i] = i;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  float *out;
  OK(cudaMallocManaged(&out, 1024));

  cudaArray_t lines = make(N, 0, LAYERS, cudaArrayLayered, format, data.data());
  cudaArray_t planes = make(N, N, LAYERS, cudaArrayLayered, format, data.data());
  cudaExtent extent;
  unsigned flags;
  OK(cudaArrayGetInfo(nullptr, &extent, &flags, lines));
  EXPECT(extent.width == N && extent.height == 0 && extent.depth == LAYERS && flags == cudaArrayLayered);
  cudaTextureObject_t l = object(lines, false), p = object(planes, false);
  // One layer more than there are: it is the last.
  layers<<<LAYERS + 1, N>>>(l, p, out);
  OK(cudaDeviceSynchronize());
  for (int layer = 0; layer <= LAYERS; layer++)
    for (int i = 0; i < N; i++) {
      int known = layer < LAYERS ? layer : LAYERS - 1;
      EXPECT(out[layer * 2 * N + i] == known * N + i);
      EXPECT(out[(layer * 2 + 1) * N + i] == (known * N + 2) * N + i);
    }

  cudaArray_t one = make(N, N, 6, cudaArrayCubemap, format, data.data());
  cudaArray_t many = make(N, N, 12, cudaArrayCubemap | cudaArrayLayered, format, data.data());
  cudaTextureObject_t c = object(one, true), m = object(many, true);
  cube<<<1, 6>>>(c, m, out);
  OK(cudaDeviceSynchronize());
  // Where each direction meets its face.
  const double st[6][2] = {{.2, -.3}, {-.2, -.3}, {.3, -.2}, {.3, .2}, {.3, .2}, {-.3, .2}};
  for (int face = 0; face < 6; face++) {
    int s = int((st[face][0] + 1) / 2 * N), t = int((st[face][1] + 1) / 2 * N);
    EXPECT(out[face] == (face * N + t) * N + s);
    EXPECT(out[6 + face] == ((6 + face) * N + t) * N + s);
  }

  cudaArray_t pairs = make(N, 4, 0, cudaArrayTextureGather, cudaCreateChannelDesc<float2>(), data.data());
  cudaTextureObject_t g = object(pairs, false);
  float4 *four = reinterpret_cast<float4 *>(out);
  gather<<<1, 1>>>(g, four);
  OK(cudaDeviceSynchronize());
  auto pair = [&](int x, int y, int channel) { return data[2 * (y * N + x) + channel]; };
  for (int channel = 0; channel < 2; channel++) {
    EXPECT(four[channel].x == pair(2, 2, channel) && four[channel].y == pair(3, 2, channel));
    EXPECT(four[channel].z == pair(3, 1, channel) && four[channel].w == pair(2, 1, channel));
  }

  cudaMipmappedArray_t all;
  OK(cudaMallocMipmappedArray(&all, &format, make_cudaExtent(N, N, 0), 4));
  for (int level = 0; level < 4; level++) {
    cudaArray_t array;
    OK(cudaGetMipmappedArrayLevel(&array, all, level));
    std::vector<float> same(N * N, 10.0f * level);
    int n = N >> level;
    OK(cudaMemcpy2DToArray(array, 0, 0, same.data(), n * 4, n * 4, n, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = all;
  cudaTextureDesc desc = {};
  desc.normalizedCoords = 1;
  desc.filterMode = desc.mipmapFilterMode = cudaFilterModeLinear;
  desc.maxMipmapLevelClamp = 2.5f;
  cudaTextureObject_t t;
  OK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
  levels<<<1, 8>>>(t, out);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 8; i++) {
    double want = 10 * std::fmin(i * 0.5, 2.5);
    EXPECT(std::fabs(out[i] - want) < 1e-4 && std::fabs(out[8 + i] - want) < 0.1);
  }
  OK(cudaDestroyTextureObject(t));
  OK(cudaFreeMipmappedArray(all));
  for (auto object : {l, p, c, m, g}) OK(cudaDestroyTextureObject(object));
  for (auto array : {lines, planes, one, many, pairs}) OK(cudaFreeArray(array));
  OK(cudaFree(out));
  puts("right");
}
