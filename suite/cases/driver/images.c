// An array as a texture, filtered and by elements, and as a surface that is written to.
#include "driver.h"

// Thread i reads at (i / 2 + 1/4, 0.5) and writes i to (i, 1) of the surface.
static const char *const text = HEAD("sm_70")
    ".visible .entry use(.param .u64 pt, .param .u64 ps, .param .u64 px) {\n.reg .b32 %r<4>;\n.reg .f32 %f<8>;\n"
    ".reg .b64 %d<6>;\nld.param.u64 %d1, [pt];\nld.param.u64 %d2, [ps];\nld.param.u64 %d3, [px];\nmov.u32 %r1, %tid.x;\n"
    "cvt.rn.f32.u32 %f1, %r1;\nfma.rn.f32 %f2, %f1, 0f3F000000, 0f3E800000;\n"
    "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d1, {%f2, 0f3F000000}];\nmul.wide.u32 %d4, %r1, 4;\n"
    "add.s64 %d5, %d3, %d4;\nst.global.f32 [%d5], %f3;\nshl.b32 %r2, %r1, 2;\n"
    "sust.b.2d.b32.trap [%d2, {%r2, 1}], %f1;\nret;\n}\n";

int main(void) {
  enum { W = 8, H = 2, FLOAT = 32, CLAMP = 1, POINT = 0, LINEAR = 1, SURFACE = 2 };
  begin();
  CUmodule module = load(text);
  CUfunction use = function_of(module, "use");
  float from[H][W], to[H][W], got[W];
  for (int i = 0; i < H * W; i++) from[i / W][i % W] = 10 * i;
  CUarrayShape3D shape = {W, H, 0, FLOAT, 1, SURFACE};
  CUarray array;
  OK(cuArray3DCreate_v2(&array, &shape));
  CUcopy2D copy = {.src_type = HOST, .src_host = from, .src_pitch = 4 * W, .dst_type = ARRAY, .dst_array = array,
                   .width = 4 * W, .height = H};
  OK(cuMemcpy2D_v2(&copy));
  CUresource resource = {.of = {.array = array}};
  CUsurfObject surface;
  OK(cuSurfObjectCreate(&surface, &resource));
  CUdeviceptr x = zeros(sizeof got);
  for (int filter = POINT; filter <= LINEAR; filter++) {
    CUsampling sampling = {.address = {CLAMP, CLAMP, CLAMP}, .filter = filter};
    CUtexObject texture;
    OK(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
    void *params[] = {&texture, &surface, &x};
    OK(cuLaunchKernel(use, 1, 1, 1, W, 1, 1, 0, NULL, params, NULL));
    OK(cuMemcpyDtoH_v2(got, x, sizeof got));
    for (int i = 0; i < W; i++) {
      // Elements are at their middles: 10 (place - 1/2) between the first and the last.
      float place = i / 2.0f + 0.25f, between = place < 0.5f ? 0 : 10 * (place - 0.5f);
      EXPECT(got[i] == (filter == POINT ? 10 * (i / 2) : between));
    }
    OK(cuTexObjectDestroy(texture));
  }
  copy = (CUcopy2D){.src_type = ARRAY, .src_array = array, .dst_type = HOST, .dst_host = to, .dst_pitch = 4 * W,
                    .width = 4 * W, .height = H};
  OK(cuMemcpy2D_v2(&copy));
  for (int i = 0; i < W; i++) {
    WANT(to[0][i], 10 * i);
    WANT(to[1][i], i);
  }
  OK(cuSurfObjectDestroy(surface));
  OK(cuMemFree_v2(x));
  OK(cuArrayDestroy(array));
  OK(cuModuleUnload(module));
  puts("right");
}
