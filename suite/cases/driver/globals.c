// Variables of a module: with values, constant, of pointers; each load of the text has its own.
#include "driver.h"

static const char *const text = HEAD("sm_70")
    ".visible .const .align 4 .f32 table[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};\n"
    ".visible .global .align 4 .u32 count = 40;\n.visible .global .align 8 .u64 where = count;\n"
    ".visible .global .align 4 .b8 room[4000];\n"
    ".visible .entry use(.param .u64 px) {\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.reg .b64 %d<6>;\nld.param.u64 %d1, [px];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nmov.u64 %d3, table;\nadd.s64 %d3, %d3, %d2;\n"
    "ld.const.f32 %f1, [%d3];\nadd.s64 %d4, %d1, %d2;\nst.global.f32 [%d4], %f1;\nld.global.u64 %d5, [where];\n"
    "atom.add.u32 %r2, [%d5], 1;\nret;\n}\n";

int main(void) {
  begin();
  CUmodule module = load(text), other = load(text);
  CUdeviceptr table, count, room, of_other, start, x = zeros(16);
  size_t bytes;
  OK(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
  WANT(bytes, 16);
  OK(cuModuleGetGlobal_v2(&count, &bytes, module, "count"));
  WANT(bytes, 4);
  OK(cuModuleGetGlobal_v2(&room, &bytes, module, "room"));
  WANT(bytes, 4000);
  OK(cuModuleGetGlobal_v2(NULL, &bytes, module, "room"));
  IS(cuModuleGetGlobal_v2(&start, &bytes, module, "rooms"), 500);
  OK(cuModuleGetGlobal_v2(&of_other, NULL, other, "count"));
  EXPECT(of_other != count);
  WANT(word(room + 3996), 0);

  CUfunction use = function_of(module, "use");
  OK(launch(use, 4, x, NULL));
  float got[4];
  OK(cuMemcpyDtoH_v2(got, x, 16));
  for (int i = 0; i < 4; i++) WANT(got[i], i + 1);
  WANT(word(count), 44);
  WANT(word(of_other), 40);

  // Constants are what the host last wrote.
  const float values[] = {-1, -2, -3, -4};
  OK(cuMemcpyHtoD_v2(table, values, 16));
  OK(launch(use, 4, x, NULL));
  OK(cuMemcpyDtoH_v2(got, x, 16));
  for (int i = 0; i < 4; i++) WANT(got[i], -i - 1);
  WANT(word(count), 48);

  OK(cuMemFree_v2(x));
  OK(cuModuleUnload(module));
  WANT(word(of_other), 40);
  OK(cuModuleUnload(other));
  puts("right");
}
