// Surfaces: read, written, at their edges, and as what a texture reads next.
#include "check.h"

const int W = 20, H = 12, D = 3;

__global__ void fill(cudaSurfaceObject_t s) {
  int x = threadIdx.x, y = blockIdx.x;
  surf2Dwrite(make_uchar4(x, y, x + y, 255), s, x * sizeof(uchar4), y);
}

__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  int x = threadIdx.x, y = blockIdx.x;
  uchar4 pixel = surf2Dread<uchar4>(from, (W - 1 - x) * sizeof(uchar4), H - 1 - y);
  surf2Dwrite(pixel, to, x * sizeof(uchar4), y);
}

__global__ void edges(cudaSurfaceObject_t s, unsigned *out) {
  int x = int(threadIdx.x) - 2;
  auto word = [](uchar4 p) { return p.x | p.y << 8 | p.z << 16 | unsigned(p.w) << 24; };
  out[threadIdx.x] = word(surf2Dread<uchar4>(s, x * 4, 3, cudaBoundaryModeClamp));
  out[32 + threadIdx.x] = word(surf2Dread<uchar4>(s, x * 4, 3, cudaBoundaryModeZero));
  out[64 + threadIdx.x] = word(surf2Dread<uchar4>(s, 8, x, cudaBoundaryModeClamp));
}

__global__ void boxes(cudaSurfaceObject_t volume, cudaSurfaceObject_t layers, cudaSurfaceObject_t line) {
  int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  float value = x + 100 * y + 10000 * z;
  surf3Dwrite(value, volume, x * 4, y, z);
  // Outside of it nothing is written.
  surf3Dwrite(-1.0f, volume, (x + W) * 4, y, z, cudaBoundaryModeZero);
  surf2DLayeredwrite(surf3Dread<float>(volume, x * 4, y, z) + 0.5f, layers, x * 4, y, z);
  if (y == 0 && z == 0) surf1Dwrite(make_short2(x, -x), line, x * sizeof(short2));
}

__global__ void sample(cudaTextureObject_t t, float4 *out) {
  int x = threadIdx.x, y = blockIdx.x;
  out[y * W + x] = tex2D<float4>(t, (x + 0.5f) / W, (y + 0.5f) / H);
}

static cudaArray_t make(cudaChannelFormatDesc format, int nx, int ny, int nz, unsigned flags) {
  cudaArray_t array;
  OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(nx, ny, nz), cudaArraySurfaceLoadStore | flags));
  return array;
}

static cudaSurfaceObject_t surface(cudaArray_t array) {
  cudaResourceDesc resource = {}, again;
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t s;
  OK(cudaCreateSurfaceObject(&s, &resource));
  OK(cudaGetSurfaceObjectResourceDesc(&again, s));
  EXPECT(again.resType == cudaResourceTypeArray && again.res.array.array == array);
  return s;
}

static std::vector<float> floats(cudaArray_t array) {
  std::vector<float> all(W * H * D);
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.dstPtr = make_cudaPitchedPtr(all.data(), W * 4, W, H);
  copy.extent = make_cudaExtent(W, H, D);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
  return all;
}

int main() {
  cudaChannelFormatDesc pixel = cudaCreateChannelDesc<uchar4>();
  cudaArray_t a = make(pixel, W, H, 0, 0), b = make(pixel, W, H, 0, 0), c;
  cudaSurfaceObject_t s = surface(a), t = surface(b);
  fill<<<H, W>>>(s);
  turn<<<H, W>>>(s, t);
  uchar4 host[H][W];
  OK(cudaMemcpy2DFromArray(host, sizeof host[0], b, 0, 0, sizeof host[0], H, cudaMemcpyDeviceToHost));
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      int i = W - 1 - x, j = H - 1 - y;
      EXPECT(host[y][x].x == i && host[y][x].y == j && host[y][x].z == i + j && host[y][x].w == 255);
    }
  unsigned *out;
  OK(cudaMallocManaged(&out, 96 * 4));
  edges<<<1, 24>>>(s, out);
  OK(cudaDeviceSynchronize());
  for (int i = 0; i < 24; i++) {
    auto at = [](int x, int y) { return unsigned(x | y << 8 | (x + y) << 16) | 255u << 24; };
    auto near = [](int x, int n) { return x < 0 ? 0 : x >= n ? n - 1 : x; };
    int x = i - 2;
    EXPECT(out[i] == at(near(x, W), 3));
    EXPECT(out[32 + i] == (x < 0 || x >= W ? 0 : at(x, 3)));
    EXPECT(out[64 + i] == at(2, near(x, H)));
  }

  // What a kernel has written the next one filters.
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = a;
  cudaTextureDesc desc = {};
  desc.normalizedCoords = 1;
  desc.filterMode = cudaFilterModeLinear;
  desc.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t read;
  OK(cudaCreateTextureObject(&read, &resource, &desc, nullptr));
  float4 *colors;
  OK(cudaMallocManaged(&colors, W * H * sizeof(float4)));
  sample<<<H, W>>>(read, colors);
  OK(cudaDeviceSynchronize());
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float4 got = colors[y * W + x];
      EXPECT(got.x == float(x / 255.0) && got.y == float(y / 255.0) && got.w == 1);
    }

  cudaArray_t volume = make(cudaCreateChannelDesc<float>(), W, H, D, 0);
  cudaArray_t layers = make(cudaCreateChannelDesc<float>(), W, H, D, cudaArrayLayered);
  cudaArray_t line = make(cudaCreateChannelDesc<short2>(), W, 0, 0, 0);
  cudaSurfaceObject_t v = surface(volume), l = surface(layers), one = surface(line);
  boxes<<<dim3(H, D), W>>>(v, l, one);
  std::vector<float> first = floats(volume), second = floats(layers);
  short2 pairs[W];
  OK(cudaMemcpyFromArray(pairs, line, 0, 0, sizeof pairs, cudaMemcpyDeviceToHost));
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        float want = x + 100 * y + 10000 * z;
        EXPECT(first[(z * H + y) * W + x] == want && second[(z * H + y) * W + x] == want + 0.5f);
      }
  for (int x = 0; x < W; x++) EXPECT(pairs[x].x == x && pairs[x].y == -x);

  OK(cudaMallocArray(&c, &pixel, W, H));
  OK(cudaMemcpy2DArrayToArray(c, 8, 1, b, 4, 2, 16, 3, cudaMemcpyDeviceToDevice));
  uchar4 part[3][4];
  OK(cudaMemcpy2DFromArrayAsync(part, sizeof part[0], c, 8, 1, 16, 3, cudaMemcpyDefault, 0));
  OK(cudaDeviceSynchronize());
  for (int y = 0; y < 3; y++) EXPECT(memcmp(part[y], &host[y + 2][1], 16) == 0);
  // It was not made for surfaces.
  resource.res.array.array = c;
  IS(cudaCreateSurfaceObject(&s, &resource), cudaErrorInvalidValue);
  IS(cudaMemcpy2DToArray(c, 0, 0, host, sizeof host[0], sizeof host[0], H + 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  IS(cudaMemcpy2DToArray(c, 0, 0, host, 8, 16, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);

  OK(cudaDestroyTextureObject(read));
  for (auto object : {t, v, l, one}) OK(cudaDestroySurfaceObject(object));
  for (auto array : {a, b, c, volume, layers, line}) OK(cudaFreeArray(array));
  OK(cudaFree(out));
  OK(cudaFree(colors));
  puts("right");
}
